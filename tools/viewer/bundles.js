// A core's bundles: a lane an issue slot, over cycles; above them what the core waited for.

const BUNDLE_SPANS = REC.bundles ? spansOf(REC.bundles.spans, FIRST) : [];
const ISSUED = STATE.issued;

/// What the page says of this family.
const BUNDLE_WORDS = {instruction: 'bundle', lanes: 'bundles', issued: 'they issued in the cycles shown',
  shown: () => '.' + (REC.cut ? ' The recording ends early: the page has room for so much.' : '') +
    ` DMAs and windows: cycles ${number(REC.dma.from)} to ${number(REC.dma.end)}. ` +
    'The bar above and the source lines count the whole launch.',
  what: () => `The kernel was compiled to ${number(REC.bundles.all)} bundles, and takes ` +
    `${number(REC.dma.vmem_bytes)} bytes of VMEM.`,
  reading: ['A TensorCore issues one bundle a cycle, in order: an instruction for each of its slots. It waits, as a ' +
    'whole, until every operand of the next bundle is there and every unit takes its next instruction.',
    'A wait has the reason that lasted longest; the bundle shown with it is the one that waited.',
    'A bundle belongs to the source line of its oldest instruction, though others may share it.',
    'Where a pixel holds several cycles, a slot is filled as high as the share of these cycles in which it was used.',
    'A window is an operand\'s place in VMEM. With two copies, the block of the next grid step arrives in one while ' +
    'the step computes on the other.',
    'A DMA goes from the core\'s issue to an engine, may wait there for transfers before it, moves its bytes, and ' +
    'raises a flag that the core sees a little later.'],
  links: ['#tab=dma', '#tab=bundles&from=2000&until=2100&cycle=2040', '#tab=lines&line=kernels.py:52'],
};

/// What kind of work an instruction does.
const OP_CLASSES = ['scalar', 'arithmetic', 'select, compare', 'move, convert', 'load', 'store', 'transcendental',
  'across lanes', 'weights', 'rows', 'results', 'DMA', 'wait for DMA', 'control'];
const OP_MEANINGS = {
  scalar: 'indices, addresses, descriptors', arithmetic: 'on registers of 8 x 128 numbers',
  'select, compare': 'masks and what they choose', 'move, convert': 'copies, packs, rotates over sublanes',
  load: 'from VMEM', store: 'to VMEM', transcendental: 'powers, roots, logarithms, tanh',
  'across lanes': 'sums over lanes, transposes', weights: 'pushed into a matrix unit',
  rows: 'multiplied in a matrix unit', results: 'popped from a matrix unit', DMA: 'starts one',
  'wait for DMA': 'until its flag is up', control: 'loops, branches, grid steps',
};
function opClass(name, slot) {
  switch (slot) {
    case 'scalar': return 'scalar';
    case 'vector_load': return 'load';
    case 'vector_store': return 'store';
    case 'eup': return 'transcendental';
    case 'xlu': return 'across lanes';
    case 'matrix': return name === 'vmatpush' ? 'weights' : 'rows';
    case 'matrix_pop': return 'results';
    case 'misc':
      if (/^(wait|drain|dma\.wait)/.test(name)) return 'wait for DMA';
      return name.startsWith('dma') ? 'DMA' : 'control';
    default:
      if (/^(vadd|vsub|vmul|vmax|vmin)$/.test(name)) return 'arithmetic';
      return /^(vcmp|vsel|vlogic|vmlogic)$/.test(name) ? 'select, compare' : 'move, convert';
  }
}

const SLOT_NAMES = {scalar: 'scalar', vector_alu: 'vector ALU', vector_load: 'vector load', vector_store: 'vector store',
  eup: 'EUP', xlu: 'XLU', matrix: 'MXU push', matrix_pop: 'MXU pop', misc: 'DMA, misc'};

/// Every slot of the core: {name, spans: [{from, until, state (its class), pc, k (its instruction)}]}.
const SLOT_LANES = (() => {
  if (!REC.bundles) return [];
  const lanes = [], firsts = [];
  for (const {slot, count} of REC.bundles.lanes) {
    firsts.push(lanes.length);
    for (let n = 0; n < count; ++n)
      lanes.push({slot, first: n === 0, name: SLOT_NAMES[slot] + (count > 1 ? ' ' + n : ''), spans: []});
  }
  for (const code of REC.code) {
    const used = {};
    code.issued = 0;
    code.texts = code.text.split('; ');
    code.ops = code.texts.map(text => text.replace(/^\S+ = /, '').match(/^[^ :]+/)[0]);
    code.lanes = code.ops.map(op => REC.bundles.operations[op]).map(s => firsts[s] + (used[s] = (used[s] ?? -1) + 1));
    code.classes = code.ops.map((op, k) => OP_CLASSES.indexOf(opClass(op, lanes[code.lanes[k]].slot)));
  }
  for (const s of BUNDLE_SPANS) {
    if (s.state !== ISSUED) continue;
    const code = REC.code[s.pc];
    ++code.issued;
    code.lanes.forEach((lane, k) => lanes[lane].spans.push({from: s.from, until: s.until, state: code.classes[k], pc: s.pc, k}));
  }
  return lanes;
})();

const bundles = {rows: [], rowHeight: 16};
const CORE_ROW = 20, SLOTS_TOP = AXIS + 14;  // pixels: height of the core's own lane, and where it is

function buildBundles(panel) {
  const time = bundles.time = new Timeline({
    tab: 'bundles', first: FIRST, end: END, start: stepsFrom(FIRST, END, 2, 1500), label: 96, title: 'What each slot of the core did in each cycle',
    help: [', click and ', make('kbd', {}, '['), make('kbd', {}, ']'), ' to step through bundles and waits.'],
    draw: drawBundles, overview: drawBundlesOverview,
    hover: (cycle, y) => describeBundle(cycle, laneAt(y)), leave: () => describeBundle(chosenCycle(), null),
    click: cycle => choose({cycle: cycle === undefined ? undefined : Math.floor(cycle)}),
    keymap: {
      '[': () => stepBundle(-1), ']': () => stepBundle(1),
      'Escape': () => choose({cycle: undefined, state: undefined, line: undefined}),
    },
  });
  time.build(panel);
}

const chosenCycle = () => VIEW.cycle === undefined ? null : chosenNumber('cycle', FIRST);
const laneAt = y => bundles.rows.findIndex(top => y >= top && y < top + bundles.rowHeight);

function showBundles() {
  bundles.time.read();
  showLineChip(bundles.time);
  bundles.time.show();
  describeBundle(chosenCycle(), null);
}

function stepBundle(by) {
  const here = chosenCycle() ?? bundles.time.from;
  const n = Math.max(0, Math.min(BUNDLE_SPANS.length - 1, spanAt(BUNDLE_SPANS, here) + by));
  const cycle = BUNDLE_SPANS[n].from;
  choose({cycle}, false);
  if (!bundles.time.reveal(cycle)) show();
}

const ofLine = s => !VIEW.line || lineOf(s.pc) === VIEW.line;
const strongSpan = s => ofLine(s) && (VIEW.state === undefined || STATES[s.state].name === VIEW.state);
const strongOp = s => ofLine(s) && (VIEW.state === undefined || OP_CLASSES[s.state] === VIEW.state);

function drawBundles(width, room) {
  const time = bundles.time, groups = REC.bundles.lanes.length;
  const used = room - SLOTS_TOP - CORE_ROW - 8 - groups * 4;
  bundles.rowHeight = Math.max(9, Math.min(26, Math.floor(used / SLOT_LANES.length)));
  const height = SLOTS_TOP + CORE_ROW + 8 + groups * 4 + SLOT_LANES.length * bundles.rowHeight + 2;
  const c = time.canvasOf(width, height), paints = fills(c, STATES.map(s => s.name));
  const row = {strong: strongSpan, text: s => [STATES[s.state].name, ...inkOf(STATES[s.state].name)]};
  c.fillStyle = css('--ink');
  c.fillText('the core', 6, SLOTS_TOP + CORE_ROW / 2);
  shadeWaits(c, height);
  time.row(c, BUNDLE_SPANS, SLOTS_TOP, CORE_ROW, paints, row);
  drawSlots(c, SLOTS_TOP + CORE_ROW + 4);
  drawSteps(c, time, height, true);
  const at = chosenCycle();
  if (at !== null && at >= FIRST && at < END) {
    const s = BUNDLE_SPANS[spanAt(BUNDLE_SPANS, at)];
    time.frame(c, s.from, s.until, SLOTS_TOP, height - SLOTS_TOP - 2);
  }
  drawBundlesLegend();
}

/// Cycles without a bundle are grey in all slots, where they can be told apart.
function shadeWaits(c, height) {
  const time = bundles.time;
  if (time.perPixel > 2) return;
  c.fillStyle = css('--empty');
  for (let i = spanAt(BUNDLE_SPANS, time.from); i < BUNDLE_SPANS.length && BUNDLE_SPANS[i].from < time.until; ++i) {
    const s = BUNDLE_SPANS[i], x = Math.max(time.label, time.x(s.from));
    if (s.state !== ISSUED) c.fillRect(x, SLOTS_TOP + CORE_ROW, time.x(s.until) - x, height);
  }
}

function drawSlots(c, top) {
  const time = bundles.time, paints = fills(c, OP_CLASSES), height = bundles.rowHeight - (bundles.rowHeight > 10 ? 2 : 1);
  const row = {strong: strongOp, text: s => [REC.code[s.pc].ops[s.k], ...inkOf(OP_CLASSES[s.state])]};
  bundles.rows = [];
  for (const lane of SLOT_LANES) {
    if (lane.first) top += 4;
    bundles.rows.push(top);
    c.fillStyle = css('--line');
    c.fillRect(time.label, top + height, time.pixels, 0.5);
    c.fillStyle = lane.spans.length ? css('--ink') : css('--soft');
    c.fillText(lane.name, 6, top + height / 2, time.label - 10);
    if (time.perPixel <= 1) time.row(c, lane.spans, top, height, paints, row);
    else drawUse(c, lane.spans, top, height, paints);
    top += bundles.rowHeight;
  }
}

/// A slot where a pixel holds several cycles: filled as high as the share of them that used it.
function drawUse(c, spans, top, height, paints) {
  const time = bundles.time, n = paints.length, sums = new Float64Array(2 * n);
  let i = spans.length ? spanAt(spans, time.from) : 0;
  for (let x = 0; x < time.pixels; ++x) {
    const from = time.from + x * time.perPixel, until = from + time.perPixel;
    sums.fill(0);
    for (; i < spans.length && spans[i].from < until; ++i)
      if (spans[i].from >= from) sums[(strongOp(spans[i]) ? 0 : n) + spans[i].state] += 1;
    let y = top + height;
    for (let k = 0; k < 2 * n; ++k) {
      if (!sums[k]) continue;
      const h = Math.max(1, Math.min(1, sums[k] / time.perPixel) * height);
      c.globalAlpha = k < n ? 1 : 0.15;
      c.fillStyle = paints[k % n];
      c.fillRect(time.label + x, y - h, 1, h);
      y -= h;
    }
  }
  c.globalAlpha = 1;
}

/// Where grid steps begin: lines, unless there are too many, and names where there is room.
function drawSteps(c, time, height, named) {
  const shown = REC.dma.steps.filter(s => s.begin >= time.from && s.begin < time.until);
  if (shown.length * 14 > time.pixels) return;
  c.strokeStyle = c.fillStyle = css('--accent');
  c.lineWidth = 1;
  c.setLineDash([4, 3]);
  for (const s of shown) {
    const x = Math.round(time.x(s.begin)) + 0.5;
    c.beginPath();
    c.moveTo(x, named ? AXIS + 12 : AXIS);
    c.lineTo(x, height);
    c.stroke();
  }
  c.setLineDash([]);
  let free = 0;
  for (const s of named ? shown : []) {
    const x = time.x(s.begin), width = c.measureText(stepName(s)).width;
    if (x < free || x + width > time.label + time.pixels) continue;
    c.fillText(stepName(s), x + 2, AXIS + 6);
    free = x + width + 12;
  }
}

/// What is in view first: some grid steps from a cycle on, and at least so many cycles.
function stepsFrom(first, end, steps, least) {
  const begins = REC.dma.steps.map(s => s.begin).filter(t => t >= first);
  const until = begins.length > steps ? begins[steps] : end;
  return [first, Math.min(end, Math.max(until, first + least))];
}
const stepName = s => `step ${s.number}` + (s.index.length > 1 ? ` (${s.index.join(', ')})` : '');
function stepAt(cycle) {
  let found = null;
  for (const s of REC.dma.steps) if (s.begin <= cycle) found = s;
  return found;
}

function drawBundlesOverview(c, pixels, height) {
  c.fillText('the core', 6, 17);
  bundles.time.stacked(c, pixels, height, [BUNDLE_SPANS], fills(c, STATES.map(s => s.name)));
}

function drawBundlesLegend() {
  const time = bundles.time, counts = new Float64Array(OP_CLASSES.length);
  for (const lane of SLOT_LANES) {
    if (!lane.spans.length) continue;
    for (let i = spanAt(lane.spans, time.from); i < lane.spans.length && lane.spans[i].from < time.until; ++i)
      if (ofLine(lane.spans[i]) && lane.spans[i].from >= time.from) ++counts[lane.spans[i].state];
  }
  const occurring = OP_CLASSES.map((name, k) => [name, counts[k]]).filter(e => e[1]).sort((a, b) => b[1] - a[1]);
  time.legend.replaceChildren(
    make('h2', {}, VIEW.line ? 'Cycles of the line in view' : 'Cycles in view'), ...stateLegend(time, [BUNDLE_SPANS]),
    make('h2', {}, 'Instructions in view'),
    ...occurring.map(([name, n]) => legendEntry(name, number(n), OP_MEANINGS[name], VIEW.state === name,
      () => choose({state: VIEW.state === name ? undefined : name}))));
}

/// What the core did in a cycle, in words; `lane`: the slot that is pointed at.
function describeBundle(cycle, lane) {
  const detail = bundles.time.detail;
  if (cycle === null || cycle < FIRST || cycle >= END) {
    detail.replaceChildren(make('h2', {}, 'A bundle'), make('p', {class: 'help'},
      'Each column is a cycle of the core, each row one of its issue slots: the instructions of a column are one ' +
      'bundle. The top row says whether a bundle issued, or what it waited for. Point at a column to read its bundle.'));
    return;
  }
  const s = BUNDLE_SPANS[spanAt(BUNDLE_SPANS, cycle)], state = STATES[s.state], issued = s.state === ISSUED;
  const list = [['cycles', cyclesOf(s)]], step = stepAt(s.from);
  if (step) list.push(['grid step', `${step.number}` + (step.index.length ? ` (${step.index.join(', ')})` : '')]);
  if (s.pc >= 0) {
    const code = REC.code[s.pc];
    list.push(lineFact(lineOf(s.pc)), [issued ? 'bundle' : 'next is', `number ${code.bundle}`,
      ...code.texts.map((text, k) => make('code', {class: 'code' + (code.lanes[k] === lane ? ' pointed' : '')},
        swatch(OP_CLASSES[code.classes[k]]), ' ', text))]);
  }
  detail.replaceChildren(...facts([swatch(state.name), ' ', state.name], state.meaning, list));
}
