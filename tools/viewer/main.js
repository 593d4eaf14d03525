// The head of the page, its tabs, and what belongs to all of it.

/// Each view: its tab's text, the part of a recording that it shows, how to build and to show it.
const ALL_VIEWS = {
  warps: ['Warps', 'slots', buildWarps, showWarps],
  bundles: ['Bundles', 'bundles', buildBundles, showBundles],
  dma: ['DMA and VMEM', 'dma', buildDma, showDma],
  matrix: ['Matrix unit', 'matrix', buildMatrix, showMatrix],
  lines: ['Source lines', 'lines', buildLines, showLines],
  shared: ['Shared memory', 'shared', buildShared, showShared],
  global: ['Global memory', 'accesses', buildGlobal, showGlobal],
  about: ['About', 'kernel', buildAbout, () => {}],
};
const TABS = Object.keys(ALL_VIEWS).filter(tab => REC[ALL_VIEWS[tab][1]]);
const WORDS = REC.slots ? WARP_WORDS : BUNDLE_WORDS;

function buildHead() {
  document.getElementById('title').append(REC.kernel + ' on ' + DATA.machine,
    make('small', {}, `${DATA.workload}, launch ${DATA.launch.number} of ${DATA.launch.of}`));
  const cards = document.getElementById('cards');
  cards.append(card(time(REPORT.duration_ns), `${number(REPORT.cycles)} cycles at ${number(REPORT.clock_mhz)} MHz`));
  const bound = Object.entries(REPORT.bound).sort((a, b) => b[1] - a[1])[0];
  if (bound) cards.append(card(time(bound[1]),
    `least by ${bound[0].replace(/_/g, ' ')}: ${percent(bound[1] / REPORT.duration_ns)} of the time`));
  const worst = REPORT.bottlenecks[0];
  if (worst) cards.append(card(`${percent(worst.share)} ${worst.reason}`,
    worst.meaning + (worst.line ? ', most at ' + shortName(worst.line) : '')));
  const error = REPORT.expected_error;
  cards.append(error ? card(fixed(error.mean_abs_pct, 1) + ' %',
      `mean absolute error of ${error.cases} measured launches` + (error.kind_compared ? ' of this kind' : '') +
      (error.configuration_compared ? '' : ', without your changes'))
    : card('unknown', 'expected error: never compared'));
  if (REPORT.hbm_gbs) cards.append(card(REPORT.hbm_gbs < 100 ? fixed(REPORT.hbm_gbs, 1) + ' GB/s'
    : fixed(REPORT.hbm_gbs / 1000) + ' TB/s', 'through the memory'));
  if (REPORT.energy_uj) cards.append(card(REPORT.energy_uj < 1e4 ? fixed(REPORT.energy_uj, 0) + ' uJ'
    : fixed(REPORT.energy_uj / 1e3, 1) + ' mJ', fixed(REPORT.power_w, 0) + ' W'));
  buildLedger();
  document.getElementById('shown').append('Shown: ', make('b', {}, `${UNIT} of ${REC.unit.of}, cycles ` +
    `${number(FIRST)} to ${number(END)}`), ` of ${number(REPORT.cycles)}`, WORDS.shown());
}

/// The cycles of all units, over the whole launch.
function buildLedger() {
  const unit = Object.keys(REPORT.ledger)[0];
  if (!unit) return;
  const all = Object.entries(REPORT.ledger[unit]).sort((a, b) => b[1] - a[1]);
  const total = all.reduce((sum, e) => sum + e[1], 0);
  const bar = document.getElementById('ledger');
  for (const [reason, cycles] of all)
    bar.append(explain(make('i', {style: `width:${100 * cycles / total}%;background:${paint(reason)}`}),
      `${reason}: ${percent(cycles / total)} of ${number(total)} ${REC.charged} cycles\n${DATA.meanings[reason] || ''}`));
  const text = document.getElementById('ledger-text');
  text.append(REC.charged === 'core' && REC.unit.of === 1 ? 'Whole launch: ' : `All ${REC.charged}s, whole launch: `);
  all.slice(0, 5).forEach(([reason, cycles], i) => text.append(i ? ', ' : '', swatch(reason), ' ',
    make('b', {}, `${reason} ${percent(cycles / total)}`)));
}

/// What the report knows of its own error.
function trust() {
  const e = REPORT.expected_error, texts = [];
  if (!e) return ['This machine was never compared with a real one.'];
  texts.push(`Simulated times of ${e.cases} measured launches${e.kind_compared ? ` of this kind (${e.kind})` : ''} were off by ` +
    `${fixed(e.mean_abs_pct, 1)} % on average, by ${fixed(e.worst_abs_pct, 1)} % at worst (${baseName(e.source)}).`);
  if (!e.configuration_compared)
    texts.push('This configuration differs from the one that was compared: ' + e.configuration_changes.join(', ') + '.');
  if (e.time_compared === false) texts.push('The time lies far outside those that were compared.');
  if (e.ops_never_compared.length)
    texts.push('No compared kernel has these ops: ' + e.ops_never_compared.join(', ') + '.');
  for (const [tensor, c] of Object.entries(REPORT.check || {}))
    texts.push(`The values of ${tensor} are ${c.right ? 'right' : 'wrong'}, checked against a reference.`);
  return texts;
}

function buildAbout(panel) {
  const list = texts => make('ul', {}, ...texts.map(t => make('li', {}, t)));
  panel.append(make('div', {},
    make('h2', {}, 'What this is'),
    make('p', {}, `A simulation by ${DATA.tool} of ${REC.kernel} on ${DATA.machine}: no measurement of a chip. ` +
      WORDS.what()),
    make('h2', {}, 'How to read it'),
    list(WORDS.reading),
    make('h2', {}, 'How far to trust it'), list(trust()),
    make('h2', {}, 'Not modelled in this launch'), list(REPORT.notes),
    make('h2', {}, 'The clock'), make('p', {}, REPORT.clock_reason || '-'),
    make('h2', {}, 'Links'),
    make('p', {}, 'The address holds what is chosen: ', ...WORDS.links.flatMap((link, i) =>
      [i ? ', ' : '', make('code', {}, link)]), '.')));
}

function show() {
  for (const tab of TABS) {
    const on = VIEW.tab === tab, button = document.getElementById('tab-' + tab);
    document.getElementById(tab).hidden = !on;
    button.setAttribute('aria-selected', String(on));
    button.tabIndex = on ? 0 : -1;
  }
  tip(null, '');
  ALL_VIEWS[VIEW.tab][3]();
}

function start() {
  buildHead();
  for (const tab of TABS) {
    const panel = make('section', {id: tab, role: 'tabpanel', 'aria-labelledby': 'tab-' + tab, hidden: true});
    document.querySelector('main').append(panel);
    document.querySelector('nav').append(make('button', {role: 'tab', id: 'tab-' + tab, 'aria-controls': tab,
      onclick: () => choose({tab, pc: undefined, example: undefined})}, ALL_VIEWS[tab][0]));
    ALL_VIEWS[tab][2](panel);
  }
  document.querySelector('nav').addEventListener('keydown', e => {
    const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (!by) return;
    const next = TABS[(TABS.indexOf(VIEW.tab) + by + TABS.length) % TABS.length];
    choose({tab: next, pc: undefined, example: undefined});
    document.getElementById('tab-' + next).focus();
  });
  const read = () => { readHash(); if (!TABS.includes(VIEW.tab)) VIEW.tab = TABS[0]; show(); };
  addEventListener('hashchange', read);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload());
  read();
}
start();
