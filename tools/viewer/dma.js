// DMAs and the windows in VMEM, over the time of the run: grid steps and waits of the core, what each
// copy of each window holds, and the transfers of each engine.

const DMA = REC.dma;
const COPY_STATES = DMA ? DMA.states.map(s => s.name) : [];
const CORE_STATES = ['body', 'sync_wait_input', 'sync_wait_output', 'sync_wait_semaphore'];
const CORE_TEXTS = ['computes', 'waits for input', 'waits for output to leave', 'waits for its own DMA'];
const WINDOW_HUES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#7b3fa0', '#6f7682'];
const windowHue = n => WINDOW_HUES[n % WINDOW_HUES.length];
const blockName = block => block.length ? `(${block.join(',')})` : '';
function bytes(n) {
  if (n >= 1 << 20) return fixed(n / (1 << 20), 1) + ' MiB';
  return n >= 1024 ? fixed(n / 1024, 1) + ' KiB' : n + ' B';
}

/// The lanes: {group, name, kind, spans: [{from, until, state, ...}]}.
const DMA_LANES = DMA ? [...coreLanes(), ...copyLanes(), ...engineLanes()] : [];

function coreLanes() {
  const steps = DMA.steps.map((s, i) => ({from: s.begin, until: i + 1 < DMA.steps.length ? DMA.steps[i + 1].begin : DMA.end,
    state: s.number % 2, step: s}));
  const core = [];
  for (const s of DMA.steps)
    if (s.body !== null) core.push({from: s.body, until: s.bodyEnd ?? DMA.end, state: CORE_STATES.indexOf('body'), step: s});
  for (const [from, until, reason, line] of DMA.waits)
    core.push({from, until, state: CORE_STATES.indexOf(STATES[reason].name), line});
  core.sort((a, b) => a.from - b.from);
  return [{group: 'core', name: 'grid step', kind: 'step', spans: steps}, {group: 'core', name: 'the core', kind: 'core',
    spans: withoutOverlap(core)}];
}

/// A body is cut where the core waits for DMAs of its own inside it.
function withoutOverlap(spans) {
  const out = [];
  const add = s => { if (s.until > s.from) out.push(s); };
  for (const s of spans) {
    const last = out[out.length - 1];
    if (last && last.until > s.from) {
      const rest = {...last, from: s.until};
      last.until = s.from;
      if (last.until <= last.from) out.pop();
      add(s);
      add(rest);
    } else add(s);
  }
  return out;
}

function copyLanes() {
  return DMA.windows.flatMap((w, number) => w.copies.map((list, copy) => {
    const spans = [];
    for (let i = 0; i < list.length; i += 3) {
      const until = i + 3 < list.length ? list[i + 3] : DMA.end, from = Math.max(list[i], DMA.from);
      if (until > from) spans.push({from, until, state: list[i + 1], block: list[i + 2], window: number, copy});
    }
    return {group: 'windows', name: w.copies.length > 1 ? `${w.name} [${copy}]` : w.name, kind: 'copy', window: number, spans};
  }));
}

/// An engine's transfers in as many lanes as are under way at once.
function engineLanes() {
  const lanes = [];
  for (let engine = 0; engine < DMA.engines; ++engine) {
    const own = [];
    for (const t of DMA.transfers) {
      if (t.engine !== engine) continue;
      const from = t.at[0], until = t.at[5] ?? DMA.end;
      let lane = own.find(l => l.end <= from);
      if (!lane) own.push(lane = {group: 'engines', name: `DMA ${engine}`, kind: 'transfer', spans: [], first: !own.length});
      lane.end = until;
      lane.spans.push({from, until, state: 0, transfer: t});
    }
    lanes.push(...own);
  }
  return lanes;
}

const dma = {rows: [], rowHeight: 20};

const DMA_GROUPS = {core: 'the core', windows: 'windows in VMEM', engines: 'DMA engines'};

function buildDma(panel) {
  dma.time = new Timeline({
    tab: 'dma', first: DMA.from, end: DMA.end, start: stepsFrom(firstEvent(), DMA.end, 8, 2000), label: 104, keys: ['since', 'to'],
    title: 'DMAs and windows over the run', help: [', click to keep what is pointed at.'],
    draw: drawDma, overview: drawDmaOverview,
    hover: (cycle, y) => describeDma(cycle, y), leave: () => describeDma(...dma.kept || [null, null]),
    click: (cycle, y) => { dma.kept = cycle === undefined ? null : [cycle, y]; showDma(); },
    keymap: {'Escape': () => { dma.kept = null; showDma(); }},
  });
  dma.time.build(panel);
}

/// The first step of the cycles that the bundles are kept of.
function firstEvent() {
  const step = DMA.steps.find(s => s.begin >= FIRST);
  return Math.max(DMA.from, (step ? step.begin : FIRST) - 100);
}

function showDma() {
  dma.time.read();
  dma.time.show();
  describeDma(...dma.kept || [null, null]);
}

function drawDma(width, room) {
  const time = dma.time, groups = Object.keys(DMA_GROUPS).filter(g => DMA_LANES.some(l => l.group === g));
  dma.rowHeight = Math.max(12, Math.min(30, Math.floor((room - AXIS - groups.length * 18) / DMA_LANES.length)));
  const height = AXIS + groups.length * 18 + DMA_LANES.length * dma.rowHeight + 4, h = dma.rowHeight - 3;
  const c = time.canvasOf(width, height);
  let top = AXIS, group = '';
  dma.rows = [];
  for (const lane of DMA_LANES) {
    if (lane.group !== group) {
      group = lane.group;
      top += 18;
      c.fillStyle = css('--soft');
      c.fillText(DMA_GROUPS[group], 2, top - 8);
    }
    dma.rows.push(top);
    if (lane.kind === 'copy') {
      c.fillStyle = windowHue(lane.window);
      c.fillRect(4, top, 4, h);
    }
    c.fillStyle = css('--ink');
    if (lane.kind !== 'transfer' || lane.first) c.fillText(lane.name, 12, top + h / 2, time.label - 16);
    drawDmaLane(c, lane, top, h);
    top += dma.rowHeight;
  }
  drawSteps(c, time, height, false);
  drawDmaLegend();
}

function drawDmaLane(c, lane, top, h) {
  const time = dma.time;
  if (lane.kind === 'transfer') {
    for (const s of lane.spans) if (s.until > time.from && s.from < time.until) drawTransfer(c, s.transfer, top, h);
    return;
  }
  if (lane.kind === 'step') {
    time.row(c, lane.spans, top, h, [css('--mark'), css('--line')], {text: s => [stepName(s.step), css('--ink')]});
    return;
  }
  const names = lane.kind === 'core' ? CORE_STATES : COPY_STATES;
  const text = s => {
    const ink = inkOf(names[s.state]);
    if (lane.kind === 'core') return [CORE_TEXTS[s.state], ...ink];
    return names[s.state] === 'empty' ? null : [`${blockName(s.block)} ${names[s.state].replace('_', ' ')}`.trim(), ...ink];
  };
  time.row(c, lane.spans, top, h, fills(c, names), {text});
}

/// A DMA: thin while it is issued and queued, thick while its bytes move, thin until its flag is seen.
function drawTransfer(c, t, top, h) {
  const time = dma.time, [issued, , begun, , done, seen] = t.at.map(at => at ?? DMA.end);
  const clip = x => Math.max(time.label, Math.min(time.label + time.pixels, x));
  const bar = (from, until, paint, y, height) => {
    const x0 = clip(time.x(from)), x1 = clip(time.x(until));
    c.fillStyle = paint;
    if (x1 > time.label && x0 < time.label + time.pixels) c.fillRect(x0, y, Math.max(x1 - x0, 0.5), height);
  };
  const [queue, flag] = fills(c, ['queue', 'flag']), hue = transferHue(t);
  bar(issued, begun, queue, top + h / 3, h / 3);
  bar(begun, done, hue, top, h);
  bar(done, seen, flag, top + h / 3, h / 3);
  const x = clip(time.x(begun)), width = clip(time.x(done)) - x;
  if (width < 40) return;
  c.save();
  c.beginPath();
  c.rect(x, top, width - 3, h);
  c.clip();
  c.fillStyle = '#fff';
  c.fillText(`${t.write ? '↑' : '↓'} ${transferName(t)} ${bytes(t.bytes)}`, x + 4, top + h / 2 + 0.5);
  c.restore();
}
const transferHue = t => t.number >= 0 ? windowHue(t.number) : '#6f7682';
const transferName = t => t.number < 0 ? 'the kernel\'s own copy' : `${DMA.windows[t.number].name} ${blockName(t.block)}`.trim();

function drawDmaOverview(c, pixels, height) {
  c.fillText('the core', 6, 17);
  const core = DMA_LANES.find(l => l.kind === 'core');
  dma.time.stacked(c, pixels, height, [core.spans], fills(c, CORE_STATES));
}

function drawDmaLegend() {
  const core = Object.fromEntries(STATES.map(s => [s.name, s.meaning]));
  const occurs = CORE_STATES.filter((name, n) => DMA_LANES.some(l => l.kind === 'core' && l.spans.some(s => s.state === n)));
  const copies = DMA.states.filter((state, n) => DMA_LANES.some(l => l.kind === 'copy' && l.spans.some(s => s.state === n)));
  const entry = (name, meaning) => legendEntry(name, '', meaning, false, null);
  dma.time.legend.replaceChildren(
    make('h2', {}, 'The core'), ...occurs.map(n => entry(n, n === 'body' ? 'computes a grid step' : core[n])),
    make('h2', {}, 'A window\'s copy'), ...copies.map(s => entry(s.name, s.meaning)),
    make('h2', {}, 'A DMA'), entry('queue', 'issued, on its way to the engine or waiting for those before it'),
    make('button', {disabled: true}, make('i', {class: 'swatch', style: `background:${windowHue(0)}`}), make('b', {}, 'moving'),
      make('b', {}, ''), make('span', {}, 'its bytes, in the colour of its window')),
    entry('flag', 'the last byte has come, the core does not know yet'));
}

const nanoseconds = cycles => fixed(cycles * 1000 / REPORT.clock_mhz, 0) + ' ns';

function describeDma(cycle, y) {
  const detail = dma.time.detail, h = dma.rowHeight;
  const lane = y === null ? null : DMA_LANES[dma.rows.findIndex(top => y >= top && y < top + h)];
  const s = lane && lane.spans.find(span => span.from <= cycle && cycle < span.until);
  if (!s) {
    detail.replaceChildren(make('h2', {}, 'A run of blocks'), make('p', {class: 'help'},
      'Time runs to the right. Above: the grid steps, and when the core computes or waits. Then what each copy of each ' +
      'window in VMEM holds: a block that arrives, that the step computes on, that leaves. Below: the DMAs that move them. ' +
      'Where the core waits for input, the block that it waits for was asked for too late, or takes longer than a step.'));
    return;
  }
  const length = ['cycles', cyclesOf(s)], took = ['time', nanoseconds(s.until - s.from)];
  if (lane.kind === 'transfer') return detail.replaceChildren(...transferFacts(s.transfer));
  if (lane.kind === 'step')
    return detail.replaceChildren(...facts([stepName(s.step)], `of ${number(DMA.grid_steps)} steps`, [length, took,
      ['computes', s.step.body === null ? '-' : cyclesOf({from: s.step.body, until: s.step.bodyEnd ?? DMA.end})]]));
  if (lane.kind === 'core') {
    const name = CORE_STATES[s.state], more = s.step ? [['grid step', stepName(s.step)]] : [lineFact(lineName(s.line))];
    return detail.replaceChildren(...facts([swatch(name), ' ', name === 'body' ? 'computes' : name],
      name === 'body' ? 'bundles of the kernel\'s body' : STATES[STATE[name]].meaning, [length, took, ...more]));
  }
  const w = DMA.windows[s.window], name = COPY_STATES[s.state];
  detail.replaceChildren(...facts([swatch(name), ' ', `${lane.name}: ${name.replace('_', ' ')}`], DMA.states[s.state].meaning,
    [...(s.block.length ? [['block', blockName(s.block)]] : []), length, took,
     ['window', `${w.output ? 'output' : 'input'}, ${w.copies.length} cop${w.copies.length > 1 ? 'ies' : 'y'} of ${bytes(w.bytes)}`]]));
}

function transferFacts(t) {
  const [issued, taken, begun, , done, seen] = t.at;
  const part = (name, from, until) => from === null || until === null ? [] : [[name, `${number(until - from)} cycles, ${nanoseconds(until - from)}`]];
  const rate = begun !== null && done !== null ? t.bytes / ((done - begun) / REPORT.clock_mhz * 1e3) : null;
  return facts([make('i', {class: 'swatch', style: `background:${transferHue(t)}`}), ' ',
    `${t.write ? 'writes' : 'brings'} ${transferName(t)}`], `${bytes(t.bytes)} ${t.write ? 'to' : 'from'} HBM, in ${number(t.runs)} ` +
    `piece${t.runs === 1 ? '' : 's'} of consecutive bytes, by engine ${t.engine}`,
    [['issued', 'cycle ' + number(issued)], ...part('to the engine', issued, taken), ...part('queued', taken, begun),
     ...part('moving', begun, done), ...part('to the flag', done, seen), ...part('in all', issued, seen),
     ...(rate ? [['rate', fixed(rate, 1) + ' GB/s while moving']] : [])]);
}
