// The warps: a lane a slot, coloured by state; an overview above, what is pointed at beside it.

/// Each warp slot's spans as {from, until, state, pc}, in order and without gaps.
const SLOTS = (REC.slots || []).map(s => ({subCore: s.sub_core, slot: s.slot, spans: spansOf(s.spans, FIRST),
  lives: s.lives.map(l => ({begun: l[0], block: l[1], warp: l[2]}))}));

function lifeAt(slot, cycle) {
  let life = null;
  for (const l of slot.lives) if (l.begun <= cycle) life = l;
  return life;
}

/// What the page says of this family.
const WARP_WORDS = {instruction: 'instruction', lanes: 'warps', issued: 'warps of the chip issued them',
  shown: () => `; blocks of ${REC.warps_of_block} warps, up to ${REC.blocks_of_sm} on an SM.` +
    (REC.cut ? ' The recording ends early: the page has room for so much.' : '') +
    ' Other SMs, and later cycles, may do otherwise; the bar above and the source lines count all of them.',
  what: () => `The kernel has ${REC.code.length} instructions, ${REC.registers} registers a thread and ` +
    `${number(REC.shared_bytes)} bytes of shared memory a block.`,
  reading: ['A warp is 32 lanes that issue together. An SM has four sub-cores; each issues at most one ' +
    'instruction of one of its warps a cycle.',
    'A warp that does not issue waits for one reason at a time. Here a wait counts as wait (or a branch, a ' +
    'fetch) up to the stall count, then for the reason that held the warp last before it could issue; the instruction shown is the one that it waited to issue.',
    'The bar above counts cycles of sub-cores, of which each has one reason: issued if any of its warps issued, ' +
    'else what held the warp that could go on first. The rows count cycles of warps, of which most wait at any time.',
    'Where a pixel holds several cycles, it has the colour of the state that took most of them.',
    'Addresses in shared memory are those that the layouts give the first warp of a block; in global memory, ' +
    'those of a real execution.'],
  links: ['#tab=shared', '#tab=warps&from=2000&until=2400&slot=0&cycle=2100', '#tab=lines&line=kernels.py:52'],
};

const warps = {slot: -1, span: -1, rowTops: [], rowHeight: 10};

function buildWarps(panel) {
  const at = y => warps.rowTops.findIndex(t => y >= t && y < t + warps.rowHeight);
  const time = warps.time = new Timeline({
    tab: 'warps', first: FIRST, end: END, title: 'What each warp did in each cycle',
    help: [', click and ', make('kbd', {}, '['), make('kbd', {}, ']'), make('kbd', {}, '↑'), make('kbd', {}, '↓'),
      ' to step through states and warps.'],
    draw: drawWarps, overview: drawWarpsOverview,
    hover: (cycle, y) => at(y) >= 0 ? describe(at(y), spanAt(SLOTS[at(y)].spans, cycle)) : describe(warps.slot, warps.span),
    leave: () => describe(warps.slot, warps.span),
    click: (cycle, y) => {
      const on = at(y) >= 0 && cycle !== undefined;
      choose({slot: on ? at(y) : undefined, cycle: on ? Math.floor(cycle) : undefined});
    },
    keymap: {
      'ArrowUp': () => step(0, -1), 'ArrowDown': () => step(0, 1), '[': () => step(-1, 0), ']': () => step(1, 0),
      'Escape': () => choose({slot: undefined, cycle: undefined, state: undefined, line: undefined}),
    },
  });
  time.build(panel);
}

function showWarps() {
  const time = warps.time;
  time.read();
  warps.slot = Math.min(SLOTS.length - 1, Math.floor(chosenNumber('slot', -1)));
  warps.span = warps.slot < 0 ? -1 : spanAt(SLOTS[warps.slot].spans, chosenNumber('cycle', time.from));
  showLineChip(time);
  time.show();
  describe(warps.slot, warps.span);
}

/// Whether a span is to be shown strongly: it is of the chosen line and state.
function matches(span) {
  if (VIEW.line && lineOf(span.pc) !== VIEW.line) return false;
  return VIEW.state === undefined || STATES[span.state].name === VIEW.state;
}

function drawWarps(width, room) {
  const time = warps.time, groups = new Set(SLOTS.map(s => s.subCore)).size;
  const height = (room - AXIS - groups * GAP - 4) / Math.max(1, SLOTS.length);
  warps.rowHeight = Math.max(5, Math.min(36, Math.floor(height)));
  const c = time.canvasOf(width, AXIS + groups * GAP + SLOTS.length * warps.rowHeight + 4);
  const paints = fills(c, STATES.map(s => s.name));
  let top = AXIS, group = -1;
  warps.rowTops = [];
  SLOTS.forEach(slot => {
    if (slot.subCore !== group) {
      group = slot.subCore;
      top += GAP;
      c.fillStyle = css('--soft');
      c.fillText('sub-core ' + group, 2, top - GAP / 2);
    }
    warps.rowTops.push(top);
    time.row(c, slot.spans, top, warps.rowHeight - (warps.rowHeight > 7 ? 2 : 1), paints, {strong: matches, text: warpText});
    if (warps.rowHeight >= 11) {
      const life = lifeAt(slot, time.from) || slot.lives[0];
      c.fillStyle = css('--ink');
      if (life) c.fillText(`b${life.block} w${life.warp}`, 8, top + warps.rowHeight / 2, time.label - 12);
    }
    top += warps.rowHeight;
  });
  if (warps.slot >= 0 && warps.span >= 0) {
    const s = SLOTS[warps.slot].spans[warps.span];
    time.frame(c, s.from, s.until, warps.rowTops[warps.slot], warps.rowHeight);
  }
  drawWarpsLegend();
}

/// Which instruction a span is of.
function warpText(span) {
  if (span.pc < 0 || warps.time.perPixel > 1) return null;
  return [REC.code[span.pc].text.replace(/^@\S+ /, '').split(' ')[0], ...inkOf(STATES[span.state].name)];
}

/// Of all warps together: how many were in which state, over the whole recording.
function drawWarpsOverview(c, pixels, height) {
  c.fillText('all warps', 2, 17);
  warps.time.stacked(c, pixels, height, SLOTS.map(s => s.spans), fills(c, STATES.map(s => s.name)));
}

/// The states that occur, with their share of the visible warp cycles.
function drawWarpsLegend() {
  warps.time.legend.replaceChildren(
    make('h2', {}, VIEW.line ? 'Warp cycles of the line' : 'Warp cycles in view'),
    ...stateLegend(warps.time, SLOTS.map(s => s.spans)));
}

/// What a warp did in a span, in words.
function describe(slotNumber, spanNumber) {
  const slot = SLOTS[slotNumber], s = slot && slot.spans[spanNumber], detail = warps.time.detail;
  if (!s) {
    detail.replaceChildren(make('h2', {}, 'A warp'), make('p', {class: 'help'},
      'Each row is a warp slot of the SM, each colour what its warp did in that cycle: it issued an ' +
      'instruction, or it waited, and why. Point at a row to read which instruction waited for what.'));
    return;
  }
  const state = STATES[s.state], life = lifeAt(slot, s.from);
  const list = [['cycles', cyclesOf(s)], ['warp', life && state.name !== 'no_warp'
    ? `block ${life.block}, warp ${life.warp} (sub-core ${slot.subCore}, slot ${slot.slot})`
    : `none (sub-core ${slot.subCore}, slot ${slot.slot})`]];
  if (s.pc >= 0)
    list.push([state.name === 'issued' ? 'issued' : 'next is', make('code', {class: 'code'}, REC.code[s.pc].text)],
      lineFact(lineOf(s.pc)));
  detail.replaceChildren(...facts([swatch(state.name), ' ', state.name], state.meaning, list));
}

/// Chooses the span `by` further on in the chosen slot, or the slot `down` further down.
function step(by, down) {
  const slot = warps.slot < 0 ? 0 : Math.max(0, Math.min(SLOTS.length - 1, warps.slot + down));
  const here = warps.slot < 0 ? warps.time.from : SLOTS[warps.slot].spans[warps.span].from;
  let n = spanAt(SLOTS[slot].spans, here);
  if (warps.slot >= 0) n = Math.max(0, Math.min(SLOTS[slot].spans.length - 1, n + by));
  const s = SLOTS[slot].spans[n];
  const cycle = down ? Math.max(here, s.from) : s.from;
  choose({slot, cycle}, false);
  if (!warps.time.reveal(cycle)) show();
}
