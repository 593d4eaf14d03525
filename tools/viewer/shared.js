// Shared memory: which bank gives a word to which lanes in which wavefront.

const shared = {};

/// Those with most wavefronts beyond the fewest first.
const SHARED = (REC.shared || []).map(s => ({...s, extra: (s.charged - s.least) * s.executions}))
  .sort((a, b) => b.extra - a.extra || b.executions * b.charged - a.executions * a.charged || a.pc - b.pc);

function buildShared(panel) {
  const byThemselves = REC.code.some(c => c.class === 'utma' || c.class === 'wgmma')
    ? ' TMA and the tensor cores (wgmma) use shared memory by themselves, without lanes.' : '';
  if (!SHARED.length) {
    panel.append(make('h2', {}, 'No shared memory'),
      make('p', {class: 'help'}, `${REC.kernel} moves no data through shared memory by ` +
        `its lanes.${byThemselves}`));
    return;
  }
  const head = make('tr', {}, make('th', {scope: 'col'}, 'instruction'), make('th', {scope: 'col', class: 'line'}, 'line'),
    ...[['runs', 58], ['wavefronts', 88], ['ideal', 46], ['extra', 58]].map(([t, width]) =>
      make('th', {class: 'n', scope: 'col', style: `width:${width}px`}, t)));
  shared.body = make('tbody');
  shared.picture = make('div', {class: 'picture'});
  panel.append(make('div', {class: 'split'},
    make('div', {class: 'list'},
      make('p', {class: 'help'}, `Instructions of ${UNIT} over the whole launch: how often ` +
        'warps ran them, the wavefronts of one run, the fewest that its bytes need, and what all runs took ' +
        `beyond these.${byThemselves}`),
      make('table', {}, make('thead', {}, head), shared.body)), shared.picture));
  rows(shared.body, pc => choose({pc}));
}

function showShared() {
  if (!SHARED.length) return;
  const chosen = SHARED.find(s => String(s.pc) === VIEW.pc) || SHARED[0];
  shared.body.replaceChildren(...SHARED.map(s => {
    const name = lineOf(s.pc);
    return make('tr', {tabindex: 0, 'data-key': s.pc, 'aria-selected': String(s === chosen),
                       class: s.extra ? null : 'quiet'},
      make('td', {class: 'code', title: REC.code[s.pc].text}, REC.code[s.pc].text),
      make('td', {class: 'line', title: `${name}\n${lineText(name).trim()}`}, make('bdi', {}, name)),
      make('td', {class: 'n'}, number(s.executions)), make('td', {class: 'n'}, s.charged),
      make('td', {class: 'n'}, s.least), make('td', {class: 'n'}, number(s.extra)));
  }));
  keepFocus(shared.body, VIEW.pc);
  drawShared(chosen);
}

/// After a table was made anew: the chosen row keeps the keyboard.
function keepFocus(body, key) {
  const row = key !== undefined && body.querySelector(`tr[data-key="${CSS.escape(key)}"]`);
  if (row && document.activeElement === document.body) row.focus({preventScroll: true});
}

function drawShared(s) {
  const name = lineOf(s.pc);
  const parts = [make('h2', {}, REC.code[s.pc].text),
    make('div', {class: 'code'}, `${name}  ${lineText(name).trim()}`)];
  if (!s.map) {
    parts.push(make('p', {class: 'help'}, 'The compiler places this data itself (a reduction over ' +
      'several lanes, a scan, a change of layout): its addresses are not modelled, and it is taken to ' +
      `need ${s.charged} wavefront${s.charged === 1 ? '' : 's'}.`));
    shared.picture.replaceChildren(...parts);
    return;
  }
  const count = s.map.wavefronts.length, active = s.map.offsets.filter(o => o !== null).length;
  const cards = [card(count, `wavefront${count === 1 ? '' : 's'} an execution`),
    card(s.least, 'at best'), card(active + ' x ' + s.bytes + ' B', 'lanes and bytes'),
    card(number(s.executions), `executions on ${UNIT}`)];
  parts.push(make('div', {class: 'facts'}, ...cards),
    make('p', {class: 'help'}, verdict(s, count)), bankMap(s));
  if (count !== s.charged)
    parts.push(make('p', {class: 'help'}, `The addresses give ${count}; the model charges ${s.charged}.`));
  parts.push(make('h2', {}, 'Byte offsets of the lanes'),
    make('ol', {class: 'offsets'}, ...s.map.offsets.map((o, lane) =>
      make('li', {}, `lane ${lane}: ${o === null ? 'off' : number(o)}`))));
  shared.picture.replaceChildren(...parts);
}

function verdict(s, count) {
  if (count <= s.least) {
    const shares = s.map.wavefronts.some(w => w.some(u => bits(u[2]).length > 1));
    return 'No conflict: no bank has to give two words at a time.' +
      (shares ? ' Lanes that want the same word get it together (broadcast).' : '');
  }
  return `A bank gives one word of 4 bytes a wavefront. Here lanes want different words of the same ` +
    `bank, so that the instruction takes ${count} wavefronts instead of ${s.least}: ` +
    `${fixed(count / s.least, 1)} times as long on the way to shared memory.`;
}

const bits = mask => [...Array(32).keys()].filter(lane => (mask >>> lane) & 1);

/// Rows are wavefronts, columns banks; a cell names the lanes that get the bank's word.
function bankMap(s) {
  const W = 22, H = 19, left = 84, top = 34, n = s.map.wavefronts.length;
  const svg = make('svg', {viewBox: `0 0 ${left + 32 * W + 4} ${top + n * H + 4}`, role: 'img',
    'aria-label': `bank map of ${n} wavefronts`, width: left + 32 * W + 4});
  svg.append(make('text', {x: left, y: 12, class: 'soft'}, 'bank (4 bytes each); in a cell: the lane that gets the word, *n: n lanes get it'));
  for (let b = 0; b < 32; ++b)
    svg.append(make('text', {x: left + b * W + W / 2, y: 29, 'text-anchor': 'middle', class: 'soft'}, b));
  s.map.wavefronts.forEach((uses, w) => {
    const y = top + w * H;
    svg.append(make('text', {x: left - 8, y: y + 13, 'text-anchor': 'end', class: 'soft'}, `wavefront ${w}`));
    for (let b = 0; b < 32; ++b)
      svg.append(make('rect', {x: left + b * W, y, width: W - 1, height: H - 2, class: 'void'}));
    for (const [bank, word, mask] of uses) {
      const lanes = bits(mask), x = left + bank * W;
      const cell = make('g', {},
        make('rect', {x, y, width: W - 1, height: H - 2, style: `fill:${laneColour(lanes[0])}`}),
        make('text', {x: x + W / 2 - 0.5, y: y + 13, 'text-anchor': 'middle',
                      style: `fill:${laneInk(lanes[0])}`}, lanes.length > 1 ? '*' + lanes.length : lanes[0]));
      explain(cell, `wavefront ${w}: bank ${bank} gives bytes ${number(4 * word)} to ${number(4 * word + 3)}\n` +
        `to lane${lanes.length > 1 ? 's' : ''} ${lanes.join(', ')}`);
      svg.append(cell);
    }
  });
  return svg;
}

function card(value, what) {
  return make('div', {class: 'card'}, make('b', {}, value), make('span', {}, what));
}
