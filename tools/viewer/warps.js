// The warps: a lane a slot, coloured by state; an overview above, what is pointed at beside it.

const LABEL = 78, AXIS = 18, GAP = 12;  // pixels: left of the lanes, above them, above a sub-core
const warps = {from: FIRST, until: END, slot: -1, span: -1, canvas: null, rowTops: [], rowHeight: 10};

function buildWarps(panel) {
  warps.chip = make('span', {class: 'chip', hidden: true});
  const zoom = (text, title, act) =>
    make('button', {title, 'aria-label': title, onclick: act}, text);
  const bar = make('div', {class: 'bar'},
    zoom('−', 'zoom out (-)', () => zoomWarps(2)), zoom('+', 'zoom in (+)', () => zoomWarps(0.5)),
    zoom('all', 'show all cycles (0)', () => setWindow(FIRST, END)), warps.chip,
    make('p', {class: 'help'}, 'Drag or ', make('kbd', {}, '←'), make('kbd', {}, '→'),
      ' to move, wheel or ', make('kbd', {}, '+'), make('kbd', {}, '-'), ' to zoom, click and ',
      make('kbd', {}, '['), make('kbd', {}, ']'), make('kbd', {}, '↑'), make('kbd', {}, '↓'),
      ' to step through states and warps.'));
  warps.overview = make('canvas', {id: 'overview', 'aria-hidden': true});
  warps.canvas = make('canvas', {id: 'timeline', tabindex: 0, role: 'application',
    'aria-label': 'What each warp did in each cycle', 'aria-describedby': 'detail'});
  warps.scroller = make('div', {id: 'scroller'}, warps.canvas);
  warps.detail = make('div', {id: 'detail', 'aria-live': 'polite'});
  warps.legend = make('div', {id: 'legend', role: 'group', 'aria-label': 'states'});
  panel.append(make('div', {id: 'stage'}, bar, warps.overview, warps.scroller),
    make('div', {id: 'side'}, warps.detail, warps.legend));
  listenToWarps();
  new ResizeObserver(() => { if (VIEW.tab === 'warps') drawWarps(); }).observe(warps.scroller);
}

function showWarps() {
  warps.from = Math.max(FIRST, Math.min(END - 1, chosenNumber('from', FIRST)));
  warps.until = Math.max(warps.from + 1, Math.min(END, chosenNumber('until', END)));
  warps.slot = Math.min(SLOTS.length - 1, Math.floor(chosenNumber('slot', -1)));
  warps.span = warps.slot < 0 ? -1 : spanAt(SLOTS[warps.slot], chosenNumber('cycle', warps.from));
  const line = VIEW.line;
  warps.chip.hidden = !line;
  warps.chip.replaceChildren();
  if (line) {
    warps.chip.append('only ' + line + ' ',
      make('button', {'aria-label': 'show all lines', onclick: () => choose({line: undefined})}, '✕'));
    warps.chip.title = lineText(line).trim();
  }
  drawWarps();
  describe(warps.slot, warps.span);
}

function setWindow(from, until) {
  const length = Math.max(12, Math.min(END - FIRST, Math.round(until - from)));
  from = Math.max(FIRST, Math.min(END - length, Math.round(from)));
  const all = length >= END - FIRST;
  choose({from: all ? undefined : from, until: all ? undefined : from + length});
}
function zoomWarps(factor, at = (warps.from + warps.until) / 2) {
  setWindow(at - (at - warps.from) * factor, at + (warps.until - at) * factor);
}

/// Whether a span is to be shown strongly: it is of the chosen line and state.
function matches(span) {
  if (VIEW.line && lineOf(span.pc) !== VIEW.line) return false;
  return VIEW.state === undefined || STATES[span.state].name === VIEW.state;
}

function sized(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + 'px';
  const c = canvas.getContext('2d');
  c.setTransform(scale, 0, 0, scale, 0, 0);
  return c;
}

function drawWarps() {
  const width = warps.scroller.clientWidth, room = warps.scroller.clientHeight;
  if (!width) return;
  const groups = new Set(SLOTS.map(s => s.subCore)).size;
  const height = (room - AXIS - groups * GAP - 4) / Math.max(1, SLOTS.length);
  warps.rowHeight = Math.max(5, Math.min(36, Math.floor(height)));
  const total = AXIS + groups * GAP + SLOTS.length * warps.rowHeight + 4;
  const c = sized(warps.canvas, width, total);
  c.font = '11px system-ui, sans-serif';
  c.textBaseline = 'middle';
  const paints = fills(c, 1);
  drawAxis(c, width, total);
  let top = AXIS, group = -1;
  warps.rowTops = [];
  SLOTS.forEach((slot, n) => {
    if (slot.subCore !== group) {
      group = slot.subCore;
      top += GAP;
      c.fillStyle = css('--soft');
      c.fillText('sub-core ' + group, 2, top - GAP / 2);
    }
    warps.rowTops.push(top);
    drawRow(c, slot, top, width, paints);
    if (warps.rowHeight >= 11) {
      const life = lifeAt(slot, warps.from) || slot.lives[0];
      c.fillStyle = css('--ink');
      if (life) c.fillText(`b${life.block} w${life.warp}`, 8, top + warps.rowHeight / 2, LABEL - 12);
    }
    top += warps.rowHeight;
  });
  drawChoice(c, width);
  drawOverview();
  drawLegend();
}

function drawAxis(c, width, height) {
  const perPixel = (warps.until - warps.from) / (width - LABEL);
  let step = 1;
  while (step / perPixel < 90) step *= String(step)[0] === '2' ? 2.5 : 2;
  c.fillStyle = css('--soft');
  c.strokeStyle = css('--line');
  c.lineWidth = 1;
  c.fillText('cycle', 2, AXIS / 2);
  for (let t = Math.ceil(warps.from / step) * step; t < warps.until; t += step) {
    const x = Math.round(LABEL + (t - warps.from) / perPixel) + 0.5;
    c.beginPath();
    c.moveTo(x, AXIS - 4);
    c.lineTo(x, height);
    c.stroke();
    c.fillText(number(t), Math.min(x + 3, width - 50), AXIS / 2 - 1);
  }
}

/// One warp slot. Where a pixel holds several cycles it shows the state that took most of them.
function drawRow(c, slot, top, width, paints) {
  const pixels = width - LABEL, perPixel = (warps.until - warps.from) / pixels;
  const height = warps.rowHeight - (warps.rowHeight > 7 ? 2 : 1);
  const box = (x0, x1, state, strong) => {
    c.globalAlpha = strong ? 1 : 0.13;
    c.fillStyle = paints[state];
    c.fillRect(LABEL + x0, top, x1 - x0, height);
  };
  let i = spanAt(slot, warps.from);
  if (perPixel <= 1) {
    const inset = perPixel < 0.25 ? 1 : 0;
    for (; i < slot.spans.length && slot.spans[i].from < warps.until; ++i) {
      const s = slot.spans[i];
      const x0 = Math.max(0, (s.from - warps.from) / perPixel);
      const x1 = Math.min(pixels, (s.until - warps.from) / perPixel);
      box(x0, Math.max(x0 + 0.5, x1 - inset), s.state, matches(s));
      if (x1 - x0 > 46 && height > 11 && s.pc >= 0) label(c, s, LABEL + x0, top, x1 - x0, height);
    }
  } else {
    drawDense(slot, i, pixels, perPixel, box);
  }
  c.globalAlpha = 1;
}

/// Which instruction a span is of, where there is room.
function label(c, span, x, y, width, height) {
  c.save();
  c.beginPath();
  c.rect(x, y, width - 3, height);
  c.clip();
  c.globalAlpha = matches(span) ? 1 : 0.3;
  const text = REC.code[span.pc].text.replace(/^@\S+ /, '').split(' ')[0];
  const state = STATES[span.state].name, pale = HUES[state][0] === '#f0e442' || HUES[state][1];
  c.fillStyle = pale || state === 'not_selected' ? '#111' : '#fff';
  if (HUES[state][1]) {
    c.fillStyle = css('--card');
    c.fillRect(x + 2, y + 2, Math.min(width - 6, c.measureText(text).width + 6), height - 4);
    c.fillStyle = css('--ink');
  }
  c.fillText(text, x + 4, y + height / 2 + 0.5);
  c.restore();
}

function drawDense(slot, i, pixels, perPixel, box) {
  const states = STATES.length;
  let run = 0, last = -1;
  const bins = new Float64Array(2 * states);  // [strong * states + state]
  for (let x = 0; x < pixels; ++x) {
    const from = warps.from + x * perPixel, until = from + perPixel;
    bins.fill(0);
    for (; i < slot.spans.length; ++i) {
      const s = slot.spans[i];
      const length = Math.min(s.until, until) - Math.max(s.from, from);
      if (length > 0) bins[(matches(s) ? states : 0) + s.state] += length;
      if (s.until > until) break;
    }
    // Of a chosen line or state, the smallest trace shows.
    let best = -1;
    for (let b = states; b < 2 * states; ++b) if (bins[b] > (best < 0 ? 0 : bins[best])) best = b;
    if (best < 0) for (let b = 0; b < states; ++b) if (bins[b] > (best < 0 ? 0 : bins[best])) best = b;
    if (best === last) continue;
    if (last >= 0) box(run, x, last % states, last >= states);
    run = x;
    last = best;
  }
  if (last >= 0) box(run, pixels, last % states, last >= states);
}

function drawChoice(c, width) {
  if (warps.slot < 0 || warps.span < 0) return;
  const s = SLOTS[warps.slot].spans[warps.span];
  const perPixel = (warps.until - warps.from) / (width - LABEL);
  const x0 = Math.max(0, (s.from - warps.from) / perPixel);
  const x1 = Math.min(width - LABEL, (s.until - warps.from) / perPixel);
  if (x1 < 0 || x0 > width - LABEL) return;
  c.strokeStyle = css('--ink');
  c.lineWidth = 2;
  c.strokeRect(LABEL + x0 - 1, warps.rowTops[warps.slot] - 2, Math.max(3, x1 - x0 + 2),
               warps.rowHeight + 2);
}

/// Of all warps together: how many were in which state, over the whole recording.
function drawOverview() {
  const width = warps.scroller.clientWidth, height = 40;
  const c = sized(warps.overview, width, height), pixels = width - LABEL;
  c.font = '11px system-ui, sans-serif';
  c.fillStyle = css('--soft');
  c.fillText('all warps', 2, 17);
  const paints = fills(c, 1), columns = Math.max(1, Math.min(pixels, END - FIRST));
  const perColumn = (END - FIRST) / columns, size = pixels / columns;
  const counts = new Float64Array(columns * STATES.length);
  for (const slot of SLOTS)
    for (const s of slot.spans)
      for (let k = Math.floor((s.from - FIRST) / perColumn); k < columns; ++k) {
        const from = FIRST + k * perColumn;
        if (from >= s.until) break;
        counts[k * STATES.length + s.state] += Math.min(s.until, from + perColumn) - Math.max(s.from, from);
      }
  for (let k = 0; k < columns; ++k) {
    let y = height - 6;
    for (let state = 0; state < STATES.length; ++state) {
      const h = counts[k * STATES.length + state] / (perColumn * SLOTS.length) * (height - 8);
      if (h <= 0) continue;
      c.fillStyle = paints[state];
      c.fillRect(LABEL + k * size, y - h, size + 0.5, h);
      y -= h;
    }
  }
  const x = t => LABEL + (t - FIRST) / (END - FIRST) * pixels;
  c.strokeStyle = css('--ink');
  c.lineWidth = 1.5;
  c.strokeRect(x(warps.from) + 0.5, 1, Math.max(3, x(warps.until) - x(warps.from) - 1), height - 5);
}

/// The states that occur, with their share of the visible warp cycles.
function drawLegend() {
  const sums = new Float64Array(STATES.length), occurs = new Set();
  let total = 0;
  for (const slot of SLOTS) {
    for (const s of slot.spans) occurs.add(s.state);
    for (let i = spanAt(slot, warps.from); i < slot.spans.length; ++i) {
      const s = slot.spans[i];
      if (s.from >= warps.until) break;
      if (VIEW.line && lineOf(s.pc) !== VIEW.line) continue;
      const length = Math.min(s.until, warps.until) - Math.max(s.from, warps.from);
      sums[s.state] += length;
      total += length;
    }
  }
  const order = [...occurs].sort((a, b) => sums[b] - sums[a] || a - b);
  warps.legend.replaceChildren(
    make('h2', {}, VIEW.line ? 'Warp cycles of the line' : 'Warp cycles in view'),
    ...order.map(state => {
      const {name, meaning} = STATES[state], chosen = VIEW.state === name;
      return make('button', {'aria-pressed': String(chosen),
        title: chosen ? 'show all states' : 'show only this state',
        onclick: () => choose({state: chosen ? undefined : name})},
        swatch(name), make('b', {}, name), make('b', {}, percent(total ? sums[state] / total : 0)),
        make('span', {}, meaning));
    }));
}

/// What a warp did in a span, in words.
function describe(slotNumber, spanNumber) {
  const slot = SLOTS[slotNumber], s = slot && slot.spans[spanNumber];
  if (!s) {
    warps.detail.replaceChildren(make('h2', {}, 'A warp'), make('p', {class: 'help'},
      'Each row is a warp slot of the SM, each colour what its warp did in that cycle: it issued an ' +
      'instruction, or it waited, and why. Point at a row to read which instruction waited for what.'));
    return;
  }
  const state = STATES[s.state], life = lifeAt(slot, s.from), rowsOf = [];
  const length = s.until - s.from;
  const row = (name, ...value) => rowsOf.push(make('dt', {}, name), make('dd', {}, ...value));
  row('cycles', length === 1 ? number(s.from) : `${number(s.from)} to ${number(s.until - 1)} (${number(length)})`);
  row('warp', life && state.name !== 'no_warp'
    ? `block ${life.block}, warp ${life.warp} (sub-core ${slot.subCore}, slot ${slot.slot})`
    : `none (sub-core ${slot.subCore}, slot ${slot.slot})`);
  if (s.pc >= 0) {
    row(state.name === 'issued' ? 'issued' : 'next is', make('code', {class: 'code'}, REC.code[s.pc].text));
    const name = lineOf(s.pc);
    row('line', name, make('code', {class: 'code'}, lineText(name).trim()));
  }
  warps.detail.replaceChildren(
    make('h2', {}, swatch(state.name), ' ', state.name), make('div', {}, state.meaning),
    make('dl', {}, ...rowsOf));
}

function listenToWarps() {
  const c = warps.canvas;
  const at = e => {
    const box = c.getBoundingClientRect();
    const perPixel = (warps.until - warps.from) / (box.width - LABEL);
    const cycle = warps.from + (e.clientX - box.left - LABEL) * perPixel;
    const y = e.clientY - box.top;
    const slot = warps.rowTops.findIndex(t => y >= t && y < t + warps.rowHeight);
    return {cycle, slot, perPixel};
  };
  let drag = null;
  c.addEventListener('pointerdown', e => {
    drag = {x: e.clientX, from: warps.from, until: warps.until, moved: false};
    c.setPointerCapture(e.pointerId);
  });
  c.addEventListener('pointermove', e => {
    const p = at(e);
    if (drag) {
      drag.moved = drag.moved || Math.abs(e.clientX - drag.x) > 3;
      const by = (drag.x - e.clientX) * p.perPixel;
      if (drag.moved) setWindow(drag.from + by, drag.until + by);
    } else if (p.slot >= 0 && p.cycle >= warps.from && p.cycle < warps.until) {
      describe(p.slot, spanAt(SLOTS[p.slot], p.cycle));
    } else {
      describe(warps.slot, warps.span);
    }
  });
  c.addEventListener('pointerup', e => {
    const p = at(e);
    if (drag && !drag.moved) {
      const on = p.slot >= 0 && p.cycle >= warps.from;
      choose({slot: on ? p.slot : undefined, cycle: on ? Math.floor(p.cycle) : undefined});
    }
    drag = null;
  });
  c.addEventListener('pointerleave', () => describe(warps.slot, warps.span));
  c.addEventListener('wheel', e => {
    e.preventDefault();
    if (e.deltaX && Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      const by = e.deltaX * at(e).perPixel;
      setWindow(warps.from + by, warps.until + by);
    } else {
      zoomWarps(e.deltaY > 0 ? 1.25 : 0.8, Math.max(warps.from, at(e).cycle));
    }
  }, {passive: false});
  c.addEventListener('keydown', e => {
    const act = WARP_KEYS[e.key];
    if (act && !e.ctrlKey && !e.metaKey && !e.altKey) { act(); e.preventDefault(); }
  });
  const jump = e => {
    const box = warps.overview.getBoundingClientRect();
    const t = FIRST + (e.clientX - box.left - LABEL) / (box.width - LABEL) * (END - FIRST);
    const length = warps.until - warps.from;
    setWindow(t - length / 2, t + length / 2);
  };
  warps.overview.addEventListener('pointerdown', e => {
    warps.overview.setPointerCapture(e.pointerId);
    jump(e);
  });
  warps.overview.addEventListener('pointermove', e => { if (e.buttons) jump(e); });
}

/// Chooses the span `by` further on in the chosen slot, or the slot `down` further down.
function step(by, down) {
  const slot = warps.slot < 0 ? 0 : Math.max(0, Math.min(SLOTS.length - 1, warps.slot + down));
  const here = warps.slot < 0 ? warps.from : SLOTS[warps.slot].spans[warps.span].from;
  let n = spanAt(SLOTS[slot], here);
  if (warps.slot >= 0) n = Math.max(0, Math.min(SLOTS[slot].spans.length - 1, n + by));
  const s = SLOTS[slot].spans[n], length = warps.until - warps.from;
  const cycle = down ? Math.max(here, s.from) : s.from;
  choose({slot, cycle}, false);
  if (cycle < warps.from || cycle >= warps.until) setWindow(cycle - length / 2, cycle + length / 2);
  else show();
}

const WARP_KEYS = {
  'ArrowLeft': () => pan(-0.2), 'ArrowRight': () => pan(0.2),
  'ArrowUp': () => step(0, -1), 'ArrowDown': () => step(0, 1),
  '[': () => step(-1, 0), ']': () => step(1, 0),
  '+': () => zoomWarps(0.5), '=': () => zoomWarps(0.5), '-': () => zoomWarps(2),
  '0': () => setWindow(FIRST, END), 'Home': () => setWindow(FIRST, END),
  'Escape': () => choose({slot: undefined, cycle: undefined, state: undefined, line: undefined}),
};
function pan(by) {
  const length = warps.until - warps.from;
  setWindow(warps.from + by * length, warps.until + by * length);
}
