// Lanes over time, with an overview above them: moving and zooming by pointer, wheel and keys.

const AXIS = 18, GAP = 12;  // pixels: above the lanes, above a group of them

function sized(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + 'px';
  const c = canvas.getContext('2d');
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.font = '11px system-ui, sans-serif';
  return c;
}

/// The index of the span that holds a cycle, of spans {from, until, ...} in order.
function spanAt(spans, cycle) {
  let low = 0, high = spans.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].until <= cycle) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Spans of a flat list [cycles, state, what, ...] that follow one another from `from` on.
function spansOf(list, from) {
  const spans = [];
  for (let i = 0; i < list.length; i += 3) {
    spans.push({from, until: from + list[i], state: list[i + 1], pc: list[i + 2]});
    from += list[i];
  }
  return spans;
}

/// Options: tab; first, end: its cycles; start: [from, until] that are in view first (all); keys: of
/// the address, for the part in view; label: pixels left of the lanes; title: of the canvas; help: nodes; draw(c, width, room): draws all and gives
/// the height; overview(c, width, height); hover(cycle, y), click(cycle, y), leave(); keymap.
class Timeline {
  constructor(options) {
    Object.assign(this, {label: 78, keys: ['from', 'until'], keymap: {}}, options);
    this.start ||= [this.first, this.end];
    [this.from, this.until] = this.start;
  }

  build(panel) {
    const button = (text, title, act) => make('button', {title, 'aria-label': title, onclick: act}, text);
    const chips = make('span', {class: 'chips'});
    const bar = make('div', {class: 'bar'},
      button('−', 'zoom out (-)', () => this.zoom(2)), button('+', 'zoom in (+)', () => this.zoom(0.5)),
      button('all', 'show all cycles (0)', () => this.set(this.first, this.end)), chips,
      make('p', {class: 'help'}, 'Drag or ', make('kbd', {}, '←'), make('kbd', {}, '→'),
        ' to move, wheel or ', make('kbd', {}, '+'), make('kbd', {}, '-'), ' to zoom', ...this.help));
    this.chips = chips;
    this.over = make('canvas', {class: 'overview', 'aria-hidden': true});
    this.canvas = make('canvas', {class: 'timeline', tabindex: 0, role: 'application',
      'aria-label': this.title, 'aria-describedby': this.tab + '-detail'});
    this.scroller = make('div', {class: 'scroller'}, this.canvas);
    this.detail = make('div', {class: 'detail', id: this.tab + '-detail', 'aria-live': 'polite'});
    this.legend = make('div', {class: 'legend', role: 'group', 'aria-label': 'colours'});
    panel.classList.add('timed');
    panel.append(make('div', {class: 'stage'}, bar, this.over, this.scroller),
      make('div', {class: 'side'}, this.detail, this.legend));
    this.listen();
    new ResizeObserver(() => { if (VIEW.tab === this.tab) this.show(); }).observe(this.scroller);
  }

  /// Takes the part in view from the address, and draws it.
  read() {
    const [from, until] = this.keys;
    this.from = Math.max(this.first, Math.min(this.end - 1, chosenNumber(from, this.start[0])));
    this.until = Math.max(this.from + 1, Math.min(this.end, chosenNumber(until, this.start[1])));
  }
  show() {
    const width = this.scroller.clientWidth;
    if (!width) return;
    this.pixels = width - this.label;
    this.perPixel = (this.until - this.from) / this.pixels;
    this.draw(width, this.scroller.clientHeight);
    const c = sized(this.over, width, 40);
    c.fillStyle = css('--soft');
    this.overview(c, this.pixels, 40);
    const x = t => this.label + (t - this.first) / (this.end - this.first) * this.pixels;
    c.strokeStyle = css('--ink');
    c.lineWidth = 1.5;
    c.strokeRect(x(this.from) + 0.5, 1, Math.max(3, x(this.until) - x(this.from) - 1), 35);
  }

  set(from, until) {
    const whole = this.end - this.first;
    const length = Math.max(Math.min(12, whole), Math.min(whole, Math.round(until - from)));
    from = Math.max(this.first, Math.min(this.end - length, Math.round(from)));
    const first = from === this.start[0] && from + length === this.start[1];
    choose({[this.keys[0]]: first ? undefined : from, [this.keys[1]]: first ? undefined : from + length});
  }
  zoom(factor, at = (this.from + this.until) / 2) {
    this.set(at - (at - this.from) * factor, at + (this.until - at) * factor);
  }
  pan(by) {
    const length = this.until - this.from;
    this.set(this.from + by * length, this.until + by * length);
  }
  /// Moves so that a cycle is in view; false where it is already.
  reveal(cycle) {
    if (cycle >= this.from && cycle < this.until) return false;
    const length = this.until - this.from;
    this.set(cycle - length / 2, cycle + length / 2);
    return true;
  }

  /// Where a cycle is drawn.
  x(cycle) { return this.label + (cycle - this.from) / this.perPixel; }

  canvasOf(width, height) {
    const c = sized(this.canvas, width, height);
    c.textBaseline = 'middle';
    let step = 1;
    while (step / this.perPixel < 90) step *= String(step)[0] === '2' ? 2.5 : 2;
    c.fillStyle = css('--soft');
    c.strokeStyle = css('--line');
    c.lineWidth = 1;
    c.fillText('cycle', 2, AXIS / 2);
    for (let t = Math.ceil(this.from / step) * step; t < this.until; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      c.beginPath();
      c.moveTo(x, AXIS - 4);
      c.lineTo(x, height);
      c.stroke();
      c.fillText(number(t), Math.min(x + 3, width - 50), AXIS / 2 - 1);
    }
    return c;
  }

  /// A lane of spans {from, until, state} in order. Where a pixel holds several cycles it shows the
  /// state that took most of them. `paints`: by state; `strong(span)`: whether it is to be seen
  /// well; `text(span)`: what is written on it, [text, ink, ground], where there is room.
  row(c, spans, top, height, paints, {strong = () => true, text = () => null} = {}) {
    const box = (x0, x1, state, isStrong) => {
      c.globalAlpha = isStrong ? 1 : 0.13;
      c.fillStyle = paints[state];
      c.fillRect(this.label + x0, top, x1 - x0, height);
    };
    if (!spans.length) return;
    const i = spanAt(spans, this.from);
    if (this.perPixel <= 1) this.sparse(c, spans, i, top, height, box, strong, text);
    else {
      this.dense(spans, i, paints.length, box, strong);
      for (let k = i; k < spans.length && spans[k].from < this.until; ++k)
        this.write(c, spans[k], top, height, text, strong);
    }
    c.globalAlpha = 1;
  }
  sparse(c, spans, i, top, height, box, strong, text) {
    const inset = this.perPixel < 0.25 ? 1 : 0;
    for (; i < spans.length && spans[i].from < this.until; ++i) {
      const s = spans[i];
      const x0 = Math.max(0, (s.from - this.from) / this.perPixel);
      const x1 = Math.min(this.pixels, (s.until - this.from) / this.perPixel);
      box(x0, Math.max(x0 + 0.5, x1 - inset), s.state, strong(s));
      this.write(c, s, top, height, text, strong);
    }
  }
  write(c, s, top, height, text, strong) {
    const x = Math.max(this.label, this.x(s.from)), width = Math.min(this.x(s.until), this.label + this.pixels) - x;
    if (width <= 34 || height <= 11) return;
    const found = text(s);
    if (!found) return;
    const [words, ink, ground] = found;
    c.save();
    c.beginPath();
    c.rect(x, top, width - 3, height);
    c.clip();
    c.globalAlpha = strong(s) ? 1 : 0.3;
    if (ground) {
      c.fillStyle = ground;
      c.fillRect(x + 2, top + 2, Math.min(width - 6, c.measureText(words).width + 6), height - 4);
    }
    c.fillStyle = ink;
    c.fillText(words, x + 4, top + height / 2 + 0.5);
    c.restore();
  }
  dense(spans, i, states, box, strong) {
    let run = 0, last = -1;
    const bins = new Float64Array(2 * states);  // [strong * states + state]
    for (let x = 0; x < this.pixels; ++x) {
      const from = this.from + x * this.perPixel, until = from + this.perPixel;
      bins.fill(0);
      for (; i < spans.length; ++i) {
        const s = spans[i];
        const length = Math.min(s.until, until) - Math.max(s.from, from);
        if (length > 0) bins[(strong(s) ? states : 0) + s.state] += length;
        if (s.until > until) break;
      }
      // Of what is chosen, the smallest trace shows.
      let best = -1;
      for (let b = states; b < 2 * states; ++b) if (bins[b] > (best < 0 ? 0 : bins[best])) best = b;
      if (best < 0) for (let b = 0; b < states; ++b) if (bins[b] > (best < 0 ? 0 : bins[best])) best = b;
      if (best === last) continue;
      if (last >= 0) box(run, x, last % states, last >= states);
      run = x;
      last = best;
    }
    if (last >= 0) box(run, this.pixels, last % states, last >= states);
  }

  /// In the overview: how much of each column's cycles each state took, over some lanes of spans.
  stacked(c, pixels, height, lanes, paints) {
    const columns = Math.max(1, Math.min(Math.floor(pixels), this.end - this.first));
    const perColumn = (this.end - this.first) / columns, size = pixels / columns, n = paints.length;
    const counts = new Float64Array(columns * n);
    for (const spans of lanes)
      for (const s of spans)
        for (let k = Math.max(0, Math.floor((s.from - this.first) / perColumn)); k < columns; ++k) {
          const from = this.first + k * perColumn;
          if (from >= s.until) break;
          counts[k * n + s.state] += Math.min(s.until, from + perColumn) - Math.max(s.from, from);
        }
    for (let k = 0; k < columns; ++k) {
      let y = height - 6;
      for (let state = 0; state < n; ++state) {
        const h = counts[k * n + state] / (perColumn * lanes.length) * (height - 8);
        if (h <= 0) continue;
        c.fillStyle = paints[state];
        c.fillRect(this.label + k * size, y - h, size + 0.5, h);
        y -= h;
      }
    }
  }

  /// A frame around what is chosen.
  frame(c, from, until, top, height) {
    const x0 = Math.max(this.label, this.x(from)), x1 = Math.min(this.label + this.pixels, this.x(until));
    if (x1 < x0) return;
    c.strokeStyle = css('--ink');
    c.lineWidth = 2;
    c.strokeRect(x0 - 1, top - 2, Math.max(3, x1 - x0 + 2), height + 2);
  }

  listen() {
    const c = this.canvas;
    const at = e => {
      const box = c.getBoundingClientRect();
      return [this.from + (e.clientX - box.left - this.label) * this.perPixel, e.clientY - box.top];
    };
    const inside = cycle => cycle >= this.from && cycle < this.until;
    let drag = null;
    c.addEventListener('pointerdown', e => {
      drag = {x: e.clientX, from: this.from, until: this.until, moved: false};
      c.setPointerCapture(e.pointerId);
    });
    c.addEventListener('pointermove', e => {
      const [cycle, y] = at(e);
      if (drag) {
        drag.moved = drag.moved || Math.abs(e.clientX - drag.x) > 3;
        const by = (drag.x - e.clientX) * this.perPixel;
        if (drag.moved) this.set(drag.from + by, drag.until + by);
      } else if (inside(cycle)) {
        this.hover(cycle, y);
      } else {
        this.leave();
      }
    });
    c.addEventListener('pointerup', e => {
      const [cycle, y] = at(e);
      if (drag && !drag.moved) this.click(inside(cycle) ? cycle : undefined, y);
      drag = null;
    });
    c.addEventListener('pointerleave', () => this.leave());
    c.addEventListener('wheel', e => {
      e.preventDefault();
      if (e.deltaX && Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        const by = e.deltaX * this.perPixel;
        this.set(this.from + by, this.until + by);
      } else {
        this.zoom(e.deltaY > 0 ? 1.25 : 0.8, Math.max(this.from, at(e)[0]));
      }
    }, {passive: false});
    const keys = {
      'ArrowLeft': () => this.pan(-0.2), 'ArrowRight': () => this.pan(0.2),
      '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2),
      '0': () => this.set(this.first, this.end), 'Home': () => this.set(this.first, this.end),
      ...this.keymap,
    };
    c.addEventListener('keydown', e => {
      const act = keys[e.key];
      if (act && !e.ctrlKey && !e.metaKey && !e.altKey) { act(); e.preventDefault(); }
    });
    const jump = e => {
      const box = this.over.getBoundingClientRect();
      const t = this.first + (e.clientX - box.left - this.label) / (box.width - this.label) * (this.end - this.first);
      const length = this.until - this.from;
      this.set(t - length / 2, t + length / 2);
    };
    this.over.addEventListener('pointerdown', e => { this.over.setPointerCapture(e.pointerId); jump(e); });
    this.over.addEventListener('pointermove', e => { if (e.buttons) jump(e); });
  }
}

/// What is pointed at, as a title, a meaning, and rows of [name, ...values].
function facts(title, meaning, list) {
  const all = list.flatMap(([name, ...value]) => [make('dt', {}, name), make('dd', {}, ...value)]);
  return [make('h2', {}, ...title), make('div', {}, meaning), make('dl', {}, ...all)];
}

/// An entry of a legend; chosen by a click where there is something to choose.
function legendEntry(name, share, meaning, chosen, act) {
  return make('button', {'aria-pressed': act ? String(chosen) : null, disabled: !act,
    title: act ? (chosen ? 'show all states' : 'show only this state') : null, onclick: act},
    swatch(name), make('b', {}, name), make('b', {}, share), make('span', {}, meaning));
}

const cyclesOf = s => s.until - s.from === 1 ? number(s.from)
  : `${number(s.from)} to ${number(s.until - 1)} (${number(s.until - s.from)})`;
const lineFact = name => ['line', name, make('code', {class: 'code'}, lineText(name).trim())];

/// The ink, and the ground if it needs one, of text on a state's colour.
function inkOf(state) {
  const [hue, hatch] = hueOf(state);
  if (hatch) return [css('--ink'), css('--card')];
  const [r, g, b] = [1, 3, 5].map(i => parseInt(hue.slice(i, i + 2), 16));
  return [0.3 * r + 0.59 * g + 0.11 * b > 150 ? '#111' : '#fff'];
}

/// Which line alone is shown, and the way back to all.
function showLineChip(time) {
  time.chips.replaceChildren();
  if (!VIEW.line) return;
  time.chips.append(make('span', {class: 'chip', title: lineText(VIEW.line).trim()}, 'only ' + VIEW.line + ' ',
    make('button', {'aria-label': 'show all lines', onclick: () => choose({line: undefined})}, '✕')));
}

/// The states that occur in lanes of spans, with their share of the cycles in view.
function stateLegend(time, lanes) {
  const sums = new Float64Array(STATES.length), occurs = new Set();
  let total = 0;
  for (const spans of lanes) {
    for (const s of spans) occurs.add(s.state);
    for (let i = spanAt(spans, time.from); i < spans.length && spans[i].from < time.until; ++i) {
      const s = spans[i];
      if (VIEW.line && lineOf(s.pc) !== VIEW.line) continue;
      const length = Math.min(s.until, time.until) - Math.max(s.from, time.from);
      sums[s.state] += length;
      total += length;
    }
  }
  return [...occurs].sort((a, b) => sums[b] - sums[a] || a - b).map(state => {
    const {name, meaning} = STATES[state], chosen = VIEW.state === name;
    return legendEntry(name, percent(total ? sums[state] / total : 0), meaning, chosen,
      () => choose({state: chosen ? undefined : name}));
  });
}
