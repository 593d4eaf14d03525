// A matrix unit: weights in its elements, rows on their way through it, and the sums that leave it,
// cycle by cycle.

const MXU = REC.matrix && !REC.matrix.missing ? REC.matrix : null;
const SKEW = 16;  // cycles of rows that are about to enter, and of results that have left, that are drawn
const MXU_SHOWS = {sums: 'sums', activations: 'activations', weights: 'weights', rows: 'rows'};
const mxu = {playing: null, speed: 1};

const mxuSums = (() => {
  if (!MXU) return null;
  const bytes = atob(MXU.sums), raw = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; ++i) raw[i] = bytes.charCodeAt(i);
  return new Int16Array(raw.buffer);
})();
const sumAt = (row, k, n) => mxuSums[(row * MXU.size + k) * MXU.size + n] * MXU.scale;
const weightAt = (k, n) => MXU.weights[k * MXU.size + n];
const activationAt = (row, k) => MXU.activations[row * MXU.size + k];
const largest = list => list.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-30);

function buildMatrix(panel) {
  if (!MXU) {
    panel.append(make('h2', {}, 'No picture of the matrix units'), make('p', {class: 'help'},
      `The kernel uses the matrix units, but there is nothing to play: ${REC.matrix.missing}.`));
    return;
  }
  const button = (text, title, act) => make('button', {title, 'aria-label': title, onclick: act}, text);
  mxu.play = button('▶', 'play or stop (space)', () => playMatrix(!mxu.playing));
  mxu.cycle = make('input', {type: 'range', min: 0, max: MXU.waves.length - 1, 'aria-label': 'cycle',
    oninput: e => goToCycle(+e.target.value)});
  mxu.text = make('b', {class: 'n'});
  mxu.shows = Object.entries(MXU_SHOWS).map(([key, text]) =>
    make('button', {'data-key': key, onclick: () => choose({show: key === 'sums' ? undefined : key})}, text));
  const bar = make('div', {class: 'bar'},
    button('|◀', 'to the first cycle (Home)', () => goToCycle(0)), button('◀', 'a cycle back (←)', () => stepMatrix(-1)),
    mxu.play, button('▶|', 'a cycle on (→)', () => stepMatrix(1)),
    make('select', {'aria-label': 'speed', onchange: e => { mxu.speed = +e.target.value; }},
      ...[[1, '1 x'], [4, '4 x'], [16, '16 x']].map(([value, text]) => make('option', {value}, text))),
    mxu.cycle, mxu.text, make('span', {class: 'tools'}, 'colour:', ...mxu.shows));
  mxu.canvas = make('canvas', {class: 'array', tabindex: 0, role: 'application', 'aria-label': 'The elements of the array'});
  mxu.strip = make('canvas', {class: 'strip', 'aria-hidden': true});
  mxu.lens = make('canvas', {class: 'lens', 'aria-hidden': true});
  mxu.detail = make('div', {class: 'detail', 'aria-live': 'polite'});
  panel.classList.add('timed');
  mxu.room = make('div', {class: 'scroller'}, mxu.canvas);
  panel.append(make('div', {class: 'stage'}, bar, make('p', {class: 'help'}, matrixStory()), mxu.room, mxu.strip),
    make('div', {class: 'side wide'}, mxu.detail, mxu.lens));
  listenToMatrix(panel);
  new ResizeObserver(() => { if (VIEW.tab === 'matrix') showMatrix(); }).observe(mxu.room);
}

function matrixStory() {
  const rows = MXU.entries.length, s = MXU.size;
  return `Matrix unit ${MXU.unit} of ${MXU.units}, ${s} x ${s} elements, at the first product of grid step ${MXU.step} ` +
    `(${MXU.rows} x ${MXU.depth} times ${MXU.depth} x ${MXU.columns}): its first weights, ${Math.min(s, MXU.depth)} x ` +
    `${Math.min(s, MXU.columns)} of these, and the first ${Math.min(rows, MXU.rows)} of ${MXU.rows} rows that go over them, ${MXU.lanes} a cycle. ` +
    'An element takes a number of the row from its left neighbour and a sum from the one above, adds number x weight, and ' +
    'passes both on.';
}

const cycleNumber = () => Math.max(0, Math.min(MXU.waves.length - 1, Math.round(chosenNumber('at', 0))));
function goToCycle(n) { choose({at: Math.max(0, Math.min(MXU.waves.length - 1, n))}); }
function stepMatrix(by) { playMatrix(false); goToCycle(cycleNumber() + by); }
function playMatrix(on) {
  clearInterval(mxu.playing);
  mxu.playing = on ? setInterval(() => {
    if (VIEW.tab !== 'matrix') return playMatrix(false);
    const next = cycleNumber() + mxu.speed;
    if (next >= MXU.waves.length) playMatrix(false);
    goToCycle(next);
  }, 80) : null;
  mxu.play.textContent = on ? '⏸' : '▶';
  if (on && cycleNumber() >= MXU.waves.length - 1) goToCycle(0);
}

function listenToMatrix(panel) {
  const keys = {'ArrowLeft': () => stepMatrix(-1), 'ArrowRight': () => stepMatrix(1), ' ': () => playMatrix(!mxu.playing),
    'Home': () => goToCycle(0), 'End': () => goToCycle(MXU.waves.length - 1)};
  panel.addEventListener('keydown', e => {
    if (['INPUT', 'SELECT', 'BUTTON'].includes(e.target.tagName) || !keys[e.key]) return;
    keys[e.key]();
    e.preventDefault();
  });
  const at = e => {
    const box = mxu.canvas.getBoundingClientRect();
    return [Math.floor((e.clientY - box.top - mxu.top) / mxu.cell), Math.floor((e.clientX - box.left - mxu.left) / mxu.cell)];
  };
  const inside = p => p.every(x => x >= 0 && x < MXU.size);
  mxu.canvas.addEventListener('pointermove', e => { const p = at(e); describeMatrix(inside(p) ? p : chosenElement()); });
  mxu.canvas.addEventListener('pointerleave', () => describeMatrix(chosenElement()));
  mxu.canvas.addEventListener('click', e => { const p = at(e); choose({pe: inside(p) ? p.join(',') : undefined}); });
  mxu.strip.addEventListener('pointerdown', e => {
    const box = mxu.strip.getBoundingClientRect();
    goToCycle(Math.round((e.clientX - box.left - 78) / (box.width - 78) * MXU.waves.length));
  });
}

/// Row and column of the element that is looked at; where none is chosen, one that a row passes.
function chosenElement() {
  const [k, n] = (VIEW.pe || '').split(',').map(Number), wave = MXU.waves[cycleNumber()];
  if (VIEW.pe && [k, n].every(x => x >= 0 && x < MXU.size)) return [k, n];
  const diagonal = wave.length ? wave[2 * Math.floor(wave.length / 4) + 1] : 0;
  return [Math.ceil(diagonal / 2), Math.floor(diagonal / 2)];
}

function showMatrix() {
  if (!MXU) return;
  const t = cycleNumber();
  mxu.show = MXU_SHOWS[VIEW.show] ? VIEW.show : 'sums';
  for (const b of mxu.shows) b.setAttribute('aria-pressed', String(b.dataset.key === mxu.show));
  mxu.cycle.value = t;
  mxu.text.textContent = 'cycle ' + number(MXU.first + t);
  drawArray(t);
  drawStrip(t);
  describeMatrix(chosenElement());
}

/// The rows on each diagonal in a cycle: one a lane at most.
function diagonals(t) {
  const found = [], wave = MXU.waves[t] || [];
  for (let i = 0; i < wave.length; i += 2) (found[wave[i + 1]] ||= []).push(wave[i]);
  return found;
}
/// Whether an element's weight is there.
function isLoaded(t, k, n) {
  return MXU.pushes.some(p => p.ready <= MXU.first + t && (p.columns ? n : k) >= p.from && (p.columns ? n : k) < p.until);
}

/// From blue over white to red; `share`: -1 to 1.
function heat(share) {
  const s = Math.max(-1, Math.min(1, share)), a = Math.sqrt(Math.abs(s));
  const ground = isDark ? [38, 44, 55] : [255, 255, 255], end = s < 0 ? [0, 90, 181] : [213, 60, 0];
  return ground.map((g, i) => Math.round(g + (end[i] - g) * a));
}
const LIMITS = MXU && {sums: largest(mxuSums) * MXU.scale, activations: largest(MXU.activations), weights: largest(MXU.weights)};

function elementColour(k, n, row, loaded) {
  if (mxu.show === 'weights') return loaded ? heat(weightAt(k, n) / LIMITS.weights) : null;
  if (row === undefined) {
    if (!loaded) return null;
    const g = isDark ? 70 + 50 * Math.abs(weightAt(k, n)) / LIMITS.weights : 226 - 40 * Math.abs(weightAt(k, n)) / LIMITS.weights;
    return [g, g, g];
  }
  if (mxu.show === 'rows') return rowColour(row);
  if (mxu.show === 'activations') return heat(activationAt(row, k) / LIMITS.activations);
  return heat(sumAt(row, k, n) / LIMITS.sums);
}
const rowColour = row => laneColour(row * 7 % 32).match(/\d+/g).map(Number);

function drawArray(t) {
  const size = MXU.size, width = mxu.room.clientWidth, room = mxu.room.clientHeight;
  if (!width) return;
  mxu.cell = Math.max(1, Math.min(40, (width - 200) / (size + SKEW + 4), (room - 26) / (size + SKEW + 2)));
  if (mxu.cell > 6) mxu.cell = Math.floor(mxu.cell);
  [mxu.left, mxu.top] = [84 + (SKEW + 1) * mxu.cell, 20];
  const c = sized(mxu.canvas, width, Math.max(room - 4, mxu.top + (size + SKEW + 2) * mxu.cell));
  const rowsOn = diagonals(t), cell = mxu.cell, gap = cell > 5 ? 1 : 0;
  const box = (x, y, colour) => {
    c.fillStyle = colour ? `rgb(${colour})` : css('--empty');
    const [x0, y0] = [Math.round(mxu.left + x * cell), Math.round(mxu.top + y * cell)];
    c.fillRect(x0, y0, Math.round(mxu.left + (x + 1) * cell) - x0 - gap, Math.round(mxu.top + (y + 1) * cell) - y0 - gap);
  };
  const loadedRows = [...Array(size).keys()].map(k => isLoaded(t, k, 0)), byColumn = MXU.pushes[0].columns;
  const loadedColumns = byColumn ? [...Array(size).keys()].map(n => isLoaded(t, 0, n)) : null;
  for (let k = 0; k < size; ++k)
    for (let n = 0; n < size; ++n)
      box(n, k, elementColour(k, n, (rowsOn[k + n] || [])[0], byColumn ? loadedColumns[n] : loadedRows[k]));
  // What enters in the next cycles, and what has left in the last ones.
  for (let j = 1; j <= SKEW; ++j) {
    diagonals(t + j).forEach((rows, d) => {
      if (d < size) box(-j - 1, d, mxu.show === 'rows' ? rowColour(rows[0]) : heat(activationAt(rows[0], d) / LIMITS.activations));
    });
    if (t - j >= 0) diagonals(t - j).forEach((rows, d) => {
      if (d >= size - 1) box(d - size + 1, size + j, mxu.show === 'rows' ? rowColour(rows[0]) : heat(sumAt(rows[0], size - 1, d - size + 1) / LIMITS.sums));
    });
  }
  c.strokeStyle = css('--soft');
  c.strokeRect(mxu.left - 0.5, mxu.top - 0.5, size * cell + 1, size * cell + 1);
  const [k, n] = chosenElement();
  c.strokeStyle = css('--ink');
  c.lineWidth = 2;
  const [k0, n0, many] = lensPlace([k, n]);
  c.strokeRect(mxu.left + n0 * cell - 1, mxu.top + k0 * cell - 1, many * cell + 2, many * cell + 2);
  c.fillStyle = css('--soft');
  c.textBaseline = 'middle';
  c.fillText('the array: a row of elements for each row of the weights', mxu.left, mxu.top - 9);
  c.fillText('rows enter →', 4, mxu.top + size * cell / 2);
  c.fillText('results leave ↓', 4, mxu.top + (size + SKEW / 2) * cell);
}

/// The elements that the lens shows: the first row and column, and how many.
function lensPlace([k, n]) {
  const many = Math.min(8, MXU.size), first = x => Math.max(0, Math.min(MXU.size - many, x - many / 2));
  return [first(k), first(n), many];
}

/// Numbers of a few elements.
function drawLens(element) {
  const t = cycleNumber(), rowsOn = diagonals(t), [k0, n0, many] = lensPlace(element);
  const width = mxu.lens.parentElement.clientWidth, cell = Math.floor((width - 34) / many), height = 46;
  const c = sized(mxu.lens, width, many * height + 40);
  c.fillStyle = css('--soft');
  c.fillText('weight, number of the row, sum', 30, 10);
  const short = v => Math.abs(v) >= 100 ? v.toFixed(0) : Math.abs(v) >= 10 ? v.toFixed(1) : v.toFixed(2);
  for (let i = 0; i < many; ++i) {
    c.fillStyle = css('--soft');
    c.fillText(n0 + i, 32 + i * cell, 26);
    c.fillText(k0 + i, 4, 32 + i * height + height / 2);
    for (let j = 0; j < many; ++j) {
      const [k, n] = [k0 + i, n0 + j], row = (rowsOn[k + n] || [])[0], loaded = isLoaded(t, k, n);
      const colour = elementColour(k, n, row, loaded), x = 30 + j * cell, y = 32 + i * height;
      c.fillStyle = colour ? `rgb(${colour})` : css('--empty');
      c.fillRect(x, y, cell - 1, height - 1);
      const dark = colour && 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 140;
      c.fillStyle = dark ? '#fff' : colour ? '#111' : css('--soft');
      const lines = [loaded ? short(weightAt(k, n)) : '-', row === undefined ? '' : short(activationAt(row, k)),
        row === undefined ? '' : short(sumAt(row, k, n))];
      lines.forEach((text, l) => c.fillText(text, x + 3, y + 13 + 14 * l, cell - 5));
      if (k === element[0] && n === element[1]) {
        c.strokeStyle = css('--ink');
        c.lineWidth = 2;
        c.strokeRect(x, y, cell - 1, height - 1);
      }
    }
  }
}

/// When weights are pushed, rows enter and results leave, over the cycles that are played.
function drawStrip(t) {
  const width = mxu.strip.parentElement.clientWidth, left = 78, c = sized(mxu.strip, width, 66);
  const x = cycle => left + (cycle - MXU.first) / MXU.waves.length * (width - left);
  const [weights, rows, results] = fills(c, ['weights', 'rows', 'results']), last = MXU.size - 1;
  const lane = (y, name, spans, paint) => {
    c.fillStyle = css('--ink');
    c.fillText(name, 2, y + 10);
    c.fillStyle = css('--empty');
    c.fillRect(left, y, width - left, 13);
    c.fillStyle = paint;
    for (const [from, until] of spans) c.fillRect(x(from), y, Math.max(1, x(until) - x(from)), 13);
  };
  lane(2, 'weights', MXU.pushes.map(p => [p.at, p.ready]), weights);
  lane(18, 'rows enter', MXU.entries.map(e => [e, e + 1]), rows);
  lane(34, 'results', MXU.waves.map((wave, i) => [i, wave]).filter(([, wave]) => wave.some((d, i) => i % 2 && d >= last))
    .map(([i]) => [MXU.first + i + 1, MXU.first + i + 2]), results);
  c.fillStyle = css('--ink');
  c.fillText('popped', 2, 60);
  for (const pop of MXU.pops) if (pop < MXU.first + MXU.waves.length) c.fillRect(x(pop), 50, 1.5, 12);
  c.fillStyle = css('--accent');
  c.fillRect(x(MXU.first + t) - 1, 0, 2, 66);
}

function describeMatrix([k, n]) {
  const t = cycleNumber(), at = MXU.first + t, rowsOn = diagonals(t), row = (rowsOn[k + n] || [])[0];
  const on = new Set(), busy = rowsOn.reduce((sum, rows, d) => {
    rows.forEach(r => on.add(r));
    return sum + Math.min(d + 1, 2 * MXU.size - 1 - d, MXU.size);
  }, 0);
  const entered = MXU.entries.filter(e => e <= at).length, pushed = MXU.pushes.filter(p => p.ready <= at).length;
  const phase = pushed < MXU.pushes.length ? 'weights come' : !entered ? 'waits for rows'
    : entered < MXU.entries.length ? (rowsOn[2 * MXU.size - 2] ? 'rows stream' : 'fills')
    : !on.size ? 'empty' : MXU.rows > MXU.entries.length ? 'the last rows kept pass through' : 'drains';
  const list = [['pushed', `${pushed} of ${MXU.pushes.length} registers of weights`],
    ['rows', `${entered} of ${MXU.entries.length} have begun to enter; ${on.size} inside`],
    ['busy', `${number(busy)} of ${number(MXU.size * MXU.size)} elements (${percent(busy / MXU.size / MXU.size)})`],
    ['element', `row ${k}, column ${n}: weight ${isLoaded(t, k, n) ? fixed(weightAt(k, n), 4) : 'not there yet'}`]];
  if (row !== undefined)
    list.push(['', `row ${row}: number ${fixed(activationAt(row, k), 4)}, sum over ${k + 1} product${k ? 's' : ''} ${fixed(sumAt(row, k, n), 4)}`]);
  mxu.detail.replaceChildren(...facts([phase], `cycle ${number(at)}; a row takes ${2 * MXU.size - 1} cycles from its first ` +
    'number\'s entry to its last result', list));
  drawLens([k, n]);
}
