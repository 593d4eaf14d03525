// Global memory: which sectors of 32 bytes the lanes of one execution touch.

const global = {example: 0};

const ACCESSES = (REC.accesses || []).map(a => ({...a, extra: a.sectors - a.least}))
  .sort((a, b) => b.extra - a.extra || b.sectors - a.sectors || a.pc - b.pc);

function buildGlobal(panel) {
  const boxes = REC.code.some(c => c.class === 'utma')
    ? ' Copies by TMA (UTMA...) have no lanes: the engine asks for whole lines of boxes.' : '';
  if (!ACCESSES.length) {
    panel.append(make('h2', {}, 'No access by lanes'),
      make('p', {class: 'help'}, `No instruction of ${REC.kernel} reads or writes global memory by lanes ` +
        `on ${UNIT}.${boxes}`));
    return;
  }
  const head = make('tr', {}, make('th', {scope: 'col'}, 'instruction'), make('th', {scope: 'col', class: 'line'}, 'line'),
    ...[['requests', 70], ['sectors', 62], ['least', 50], ['useful', 56]].map(([t, width]) =>
      make('th', {class: 'n', scope: 'col', style: `width:${width}px`}, t)));
  global.body = make('tbody');
  global.picture = make('div', {class: 'picture'});
  panel.append(make('div', {class: 'split'},
    make('div', {class: 'list'},
      make('p', {class: 'help'}, `Instructions of ${UNIT} over the whole launch. Sectors and least ` +
        `are of one request: the sectors of 32 bytes that it touches, and the fewest that hold what it wants.${boxes}`),
      make('table', {}, make('thead', {}, head), global.body)), global.picture));
  rows(global.body, pc => choose({pc, example: undefined}));
}

function showGlobal() {
  if (!ACCESSES.length) return;
  const chosen = ACCESSES.find(a => String(a.pc) === VIEW.pc) || ACCESSES[0];
  global.body.replaceChildren(...ACCESSES.map(a => {
    const name = lineOf(a.pc);
    return make('tr', {tabindex: 0, 'data-key': a.pc, 'aria-selected': String(a === chosen),
                       class: a.extra ? null : 'quiet'},
      make('td', {class: 'code', title: REC.code[a.pc].text}, REC.code[a.pc].text),
      make('td', {class: 'line', title: `${name}\n${lineText(name).trim()}`}, name),
      make('td', {class: 'n'}, number(a.requests)),
      make('td', {class: 'n'}, fixed(a.sectors / a.requests)),
      make('td', {class: 'n'}, fixed(a.least / a.requests)),
      make('td', {class: 'n'}, percent(a.least / a.sectors)));
  }));
  keepFocus(global.body, VIEW.pc);
  drawGlobal(chosen);
}

function drawGlobal(a) {
  const name = lineOf(a.pc), n = Math.max(0, Math.min(a.examples.length - 1, Math.floor(chosenNumber('example', 0)))), e = a.examples[n];
  const tools = make('div', {class: 'tools'});
  const titles = ['first execution', 'one that touches most'];
  if (a.examples.length > 1)
    a.examples.forEach((_, i) => tools.append(make('button', {'aria-pressed': String(i === n),
      onclick: () => choose({pc: a.pc, example: i || undefined})}, titles[i])));
  const where = e.tensor ? `${e.tensor.name} + ${number(e.tensor.offset)} bytes` : 'outside the tensors';
  tools.append(`block ${e.block}, warp ${e.warp}, cycle ${number(e.cycle)}; from ${where}`);
  const active = e.lanes.filter(l => l !== null).length;
  global.picture.replaceChildren(
    make('h2', {}, REC.code[a.pc].text), make('div', {class: 'code'}, `${name}  ${lineText(name).trim()}`),
    make('div', {class: 'facts'}, card(e.sectors, 'sectors touched'), card(e.least, 'at best'),
      card(active + ' x ' + a.bytes + ' B', 'lanes and bytes'),
      card(percent(wanted(e, a.bytes) / (32 * e.sectors)), 'of the moved bytes are wanted')),
    tools, make('p', {class: 'help'}, judgement(e)), sectorMap(e, a.bytes));
}

function judgement(e) {
  if (e.sectors <= e.least) return 'Coalesced: the lanes want neighbouring bytes, every sector is needed.';
  return `Memory moves whole sectors of 32 bytes. These lanes are spread over ${e.sectors} of them, though ` +
    `what they want would fit in ${e.least}: ${fixed(e.sectors / e.least, 1)} times the traffic.`;
}

/// By sector number (from the base): lanes, and which of its 32 bytes are wanted.
function sectorsOf(e, bytes) {
  const all = new Map();
  e.lanes.forEach((at, lane) => {
    if (at === null) return;
    for (let s = Math.floor(at / 32); s <= Math.floor((at + bytes - 1) / 32); ++s) {
      if (!all.has(s)) all.set(s, {lanes: [], bytes: new Set()});
      all.get(s).lanes.push(lane);
      for (let b = Math.max(at, 32 * s); b < Math.min(at + bytes, 32 * s + 32); ++b) all.get(s).bytes.add(b);
    }
  });
  return all;
}
function wanted(e, bytes) {
  let sum = 0;
  for (const s of sectorsOf(e, bytes).values()) sum += s.bytes.size;
  return sum;
}

/// Lanes above, the touched lines of 128 bytes below, a curve from each lane to each of its sectors.
function sectorMap(e, bytes) {
  const W = 760, laneW = W / 32, left = 4, perRow = 8, rowH = 52;
  const sectors = sectorsOf(e, bytes);
  const linesOf = [...new Set([...sectors.keys()].map(s => Math.floor(s / 4)))].sort((a, b) => a - b);
  const lineW = Math.min(372, W / Math.min(perRow, linesOf.length) - 3);
  const rowsOf = Math.ceil(linesOf.length / perRow), top = rowsOf > 1 ? 66 : 112;
  const svg = make('svg', {viewBox: `0 0 ${W + 8} ${top + rowsOf * rowH + 6}`, width: W + 8, role: 'img',
    'aria-label': `${sectors.size} sectors in ${linesOf.length} lines of 128 bytes`});
  svg.append(make('text', {x: left, y: 11, class: 'soft'}, 'lanes'));
  const curves = make('g'), place = new Map();
  linesOf.forEach((line, i) => {
    const x0 = left + (i % perRow) * (lineW + 3), y = top + Math.floor(i / perRow) * rowH;
    svg.append(make('text', {x: x0, y: y + 39, class: 'soft'}, '+' + number(128 * line)));
    for (let k = 0; k < 4; ++k) {
      place.set(4 * line + k, {x: x0 + k * lineW / 4, y});
      svg.append(sectorCell(sectors.get(4 * line + k), 4 * line + k, x0 + k * lineW / 4, y, lineW / 4 - 1.5,
                            rowsOf > 1 && sectors.has(4 * line + k) && sectors.get(4 * line + k).bytes.size <= 8));
    }
    svg.append(make('rect', {x: x0 - 1, y: y - 1, width: lineW, height: 28, class: 'edge'}));
  });
  e.lanes.forEach((at, lane) => {
    const x = left + lane * laneW;
    const box = make('g', {}, make('rect', {x, y: 16, width: laneW - 2, height: 20,
        class: at === null ? 'void' : null, style: at === null ? null : `fill:${laneColour(lane)}`}),
      make('text', {x: x + laneW / 2 - 1, y: 30, 'text-anchor': 'middle',
        style: at === null ? null : `fill:${laneInk(lane)}`}, lane));
    explain(box, at === null ? `lane ${lane} is switched off`
      : `lane ${lane}: bytes +${number(at)} to +${number(at + bytes - 1)}`);
    svg.append(box);
    if (at === null || rowsOf > 1) return;
    for (let s = Math.floor(at / 32); s <= Math.floor((at + bytes - 1) / 32); ++s) {
      const to = place.get(s), x1 = x + laneW / 2 - 1;
      const x2 = to.x + ((Math.max(at, 32 * s) % 32) + Math.min(bytes, 32) / 2) / 32 * (lineW / 4);
      curves.append(make('path', {d: `M${x1} 36C${x1} ${(36 + to.y) / 2} ${x2} ${(36 + to.y) / 2} ${x2} ${to.y}`,
        style: `fill:none;stroke:${laneColour(lane)};stroke-width:1.4;opacity:.85`}));
    }
  });
  svg.prepend(curves);
  return make('div', {}, svg, make('p', {class: 'help'}, `A frame is a line of 128 bytes, a box in it a ` +
    'sector of 32 bytes; the filled part of a box is wanted by lanes of the colours above, the rest is moved ' +
    `for nothing.${rowsOf > 1 ? ' In a box: its lane (*n: n lanes).' : ''} Numbers below are bytes from the first line touched.`));
}

function sectorCell(sector, number_, x, y, width, named) {
  const g = make('g', {}, make('rect', {x, y, width, height: 26, class: 'void'}));
  if (!sector) return explain(g, `bytes +${number(32 * number_)}: not touched`);
  for (const lane of sector.lanes) {
    const share = 1 / sector.lanes.length, k = sector.lanes.indexOf(lane);
    const filled = sector.bytes.size / 32 * width;
    g.append(make('rect', {x: x + filled * k * share, y: y + 1, width: Math.max(0.8, filled * share), height: 24,
      style: `fill:${laneColour(lane)}`}));
  }
  if (named) g.append(make('text', {x: x + width / 2 + 2, y: y + 17, 'text-anchor': 'middle',
    style: 'font-size:9px'}, sector.lanes.length > 1 ? '*' + sector.lanes.length : sector.lanes[0]));
  g.append(make('rect', {x, y, width, height: 26, style: 'fill:none;stroke:var(--ink);stroke-width:.8'}));
  return explain(g, `bytes +${number(32 * number_)} to +${number(32 * number_ + 31)}: ` +
    `${sector.bytes.size} of 32 wanted\nlanes ${sector.lanes.join(', ')}`);
}
