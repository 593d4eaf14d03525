// Colours of states, and of instructions: the hues of Okabe and Ito, which colour-blind people tell apart; states of one
// hue differ by hatching.

const HUES = {
  issued: ['#009e73'],
  long_scoreboard: ['#d55e00'],
  lg_throttle: ['#d55e00', '/'],
  membar: ['#d55e00', '\\'],
  short_scoreboard: ['#e69f00'],
  mio_throttle: ['#e69f00', '/'],
  wait: ['#f0e442'],
  math_pipe_throttle: ['#0072b2'],
  gmma: ['#0072b2', '/'],
  warpgroup_arrive: ['#0072b2', '\\'],
  barrier: ['#cc79a7'],
  not_selected: ['#56b4e9'],
  no_instruction: ['#6f7682'],
  imc_miss: ['#6f7682', '/'],
  branch_resolving: ['#6f7682', '\\'],
  launch: ['#b9c0cc', '/'],
  no_warp: ['#b9c0cc', ' '],
  no_work: ['#e4e7ec', '/'],
  drain: ['#0072b2', '\\'],
  tail: ['#b9c0cc', '\\'],
  // A TensorCore's cycles.
  vector_delay_wait: ['#f0e442'],
  scalar_delay_wait: ['#f0e442', '/'],
  erf_result_wait: ['#cc79a7'],
  eup_reserved: ['#cc79a7', '/'],
  trf_result_wait: ['#e69f00'],
  xlu_path_reserved: ['#e69f00', '/'],
  mrb_result_wait: ['#0072b2'],
  matmul_path_reserved: ['#0072b2', '/'],
  lmr_reserved: ['#56b4e9', '/'],
  msr_path_reserved: ['#56b4e9'],
  msr_reserved_for_lgmr: ['#56b4e9', '\\'],
  taken_branch: ['#6f7682', '\\'],
  sync_wait_input: ['#d55e00'],
  sync_wait_output: ['#d55e00', '/'],
  sync_wait_semaphore: ['#d55e00', '\\'],
  no_step: ['#b9c0cc', ' '],
  // The instructions of its bundles.
  scalar: ['#9aa3b2'],
  arithmetic: ['#009e73'],
  'select, compare': ['#8bc34a'],
  'move, convert': ['#00796b', '/'],
  load: ['#56b4e9'],
  store: ['#0072b2'],
  transcendental: ['#cc79a7'],
  'across lanes': ['#e69f00'],
  weights: ['#7b3fa0', '/'],
  rows: ['#7b3fa0'],
  results: ['#b48ad0'],
  DMA: ['#d55e00'],
  'wait for DMA': ['#d55e00', '/'],
  control: ['#6f7682'],
  // What a copy of a window does, and a DMA.
  empty: ['#b9c0cc', ' '],
  filling: ['#e69f00'],
  ready: ['#56b4e9'],
  in_use: ['#009e73'],
  old: ['#b9c0cc', '/'],
  leaving: ['#cc79a7'],
  body: ['#009e73'],
  queue: ['#b9c0cc', '/'],
  flag: ['#9aa3b2'],
};
const hueOf = state => HUES[state] || ['#999999'];

const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/// The background of a swatch or a bar, for CSS.
function paint(state) {
  const [hue, hatch] = hueOf(state);
  if (hatch === ' ') return 'var(--empty)';
  if (!hatch) return hue;
  const angle = hatch === '/' ? '135deg' : '45deg';
  const stripe = isDark ? '#12151b' : '#ffffff';
  return `repeating-linear-gradient(${angle}, ${hue} 0 3px, ${stripe} 3px 5px)`;
}

/// The same for a canvas, of each of these names.
function fills(context, names) {
  const scale = 1;
  return names.map(name => {
    const [hue, hatch] = hueOf(name);
    if (hatch === ' ') return css('--empty');
    if (!hatch) return hue;
    const tile = document.createElement('canvas'), size = 6 * scale;
    tile.width = tile.height = size;
    const t = tile.getContext('2d');
    t.fillStyle = hue;
    t.fillRect(0, 0, size, size);
    t.strokeStyle = isDark ? '#12151b' : '#ffffff';
    t.lineWidth = 1.6 * scale;
    for (const d of [-size, 0, size]) {
      t.beginPath();
      t.moveTo(hatch === '/' ? d : d + size, size);
      t.lineTo(hatch === '/' ? d + size : d, 0);
      t.stroke();
    }
    return context.createPattern(tile, 'repeat');
  });
}

/// A colour for each lane, from dark to bright (after viridis).
const LANE_STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function laneColour(lane) {
  const at = lane / 31 * (LANE_STOPS.length - 1), i = Math.min(Math.floor(at), LANE_STOPS.length - 2);
  const mix = LANE_STOPS[i].map((c, k) => Math.round(c + (LANE_STOPS[i + 1][k] - c) * (at - i)));
  return `rgb(${mix})`;
}
const laneInk = lane => lane < 17 ? '#fff' : '#111';

function swatch(state) {
  return make('i', {class: 'swatch', style: 'background:' + paint(state)});
}
