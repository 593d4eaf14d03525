// Source lines with the cycles that the units of the chip lost or used on them.

const lines = {sort: 'cycles', falling: true};

/// Lines of the source without cycles, to be read between the others.
const SILENT = Object.entries(DATA.sources).flatMap(([file, texts]) =>
  Object.entries(texts).map(([n, text]) => ({name: shortName(`${file}:${n}`), text})))
  .filter(l => !LINES.some(known => known.name === l.name));

function buildLines(panel) {
  const column = (key, text, isNumber) => {
    const th = make('th', {class: isNumber ? 'n' : null, scope: 'col', 'data-key': key},
      make('button', {onclick: () => {
        const falling = lines.sort === key ? !lines.falling : isNumber;
        choose({sort: key, rising: falling ? undefined : 1});
      }}, text));
    return th;
  };
  lines.head = make('tr', {}, column('line', 'line', false), make('th', {scope: 'col'}, 'text'),
    column('cycles', 'cycles', true), column('share', 'share', true),
    make('th', {scope: 'col'}, 'of which'), column('executed', 'executed', true));
  lines.body = make('tbody');
  panel.append(
    make('p', {class: 'help'}, `Cycles of all ${REC.charged}s of the chip over the whole launch, charged to ` +
      `the line whose ${WORDS.instruction} issued or was waited for. Choose a line to see its ${WORDS.instruction}s; ` +
      `the ${WORDS.lanes} then show only it. Sorted by line, the lines between are shown too.`),
    make('table', {}, make('thead', {}, lines.head), lines.body));
  rows(lines.body, name => choose({line: VIEW.line === name ? undefined : name}));
}

function showLines() {
  const sorts = [...lines.head.querySelectorAll('th[data-key]')].map(th => th.dataset.key);
  lines.sort = sorts.includes(VIEW.sort) ? VIEW.sort : 'cycles';
  lines.falling = VIEW.rising === undefined;
  for (const th of lines.head.querySelectorAll('th[data-key]')) {
    const by = th.dataset.key === lines.sort;
    th.setAttribute('aria-sort', by ? (lines.falling ? 'descending' : 'ascending') : 'none');
  }
  const byPlace = (a, b) => {
    const [x, y] = [a, b].map(l => l.name.lastIndexOf(':'));
    return a.name.slice(0, x).localeCompare(b.name.slice(0, y)) || a.name.slice(x + 1) - b.name.slice(y + 1);
  };
  const value = {line: () => 0, cycles: l => l.cycles, share: l => l.cycles, executed: l => l.executed};
  const order = [...LINES, ...(lines.sort === 'line' ? SILENT : [])].sort((a, b) => {
    const by = value[lines.sort](a) - value[lines.sort](b) || byPlace(a, b);
    return lines.falling ? -by : by;
  });
  const most = Math.max(1, ...LINES.map(l => l.cycles));
  const all = LINES.reduce((sum, l) => sum + l.cycles, 0) || 1;
  const focused = document.activeElement && document.activeElement.dataset.key;
  lines.body.replaceChildren();
  for (const l of order) {
    if (l.text !== undefined) {
      lines.body.append(make('tr', {class: 'quiet silent'}, make('td', {}, l.name),
        make('td', {class: 'code'}, l.text), make('td', {colspan: 4})));
      continue;
    }
    const chosen = VIEW.line === l.name, text = lineText(l.name);
    const row = make('tr', {tabindex: 0, 'data-key': l.name, 'aria-selected': String(chosen)},
      make('td', {}, l.name),
      make('td', {class: 'code', title: text.trim()}, text),
      make('td', {class: 'n'}, number(l.cycles)), make('td', {class: 'n'}, percent(l.cycles / all)),
      make('td', {class: 'bar'}, stack(l.reasons, l.cycles / most)), make('td', {class: 'n'}, number(l.executed)));
    lines.body.append(row);
    if (chosen) lines.body.append(listing(l.name));
    if (focused === l.name) row.focus();
  }
}

/// A bar of reasons, as long as `share` of the room.
function stack(reasons, share) {
  const bar = make('div', {class: 'stack', style: `width:${Math.max(1, 100 * share)}%;min-width:0`});
  const total = Object.values(reasons).reduce((a, b) => a + b, 0) || 1;
  for (const [reason, cycles] of Object.entries(reasons).sort((a, b) => b[1] - a[1])) {
    const meaning = STATE[reason] === undefined ? '' : STATES[STATE[reason]].meaning;
    bar.append(explain(make('i', {style: `width:${100 * cycles / total}%;background:${paint(reason)}`}),
      `${reason}: ${number(cycles)} cycles (${percent(cycles / total)} of the line)\n${meaning}`));
  }
  return bar;
}

/// The instructions (bundles) of a line, with how often they issued.
function listing(name) {
  const list = make('div', {class: 'listing code'});
  REC.code.forEach((in_, pc) => {
    if (lineName(in_.line) !== name) return;
    list.append(make('div', {}, `${String(in_.bundle ?? pc).padStart(5)}  ${in_.text.padEnd(44)} ` +
      `${number(in_.issued_chip ?? in_.issued).padStart(12)} x`));
  });
  const warpsLink = make('button', {onclick: () => choose({tab: TABS[0], state: undefined})}, 'see its ' + WORDS.lanes);
  const n = list.childElementCount;
  return make('tr', {class: 'inner'}, make('td', {colspan: 6},
    make('div', {class: 'tools'}, warpsLink,
      `${n} ${WORDS.instruction}${n === 1 ? '' : 's'}, and how often ${WORDS.issued}:`), list));
}
