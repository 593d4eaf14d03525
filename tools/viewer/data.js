'use strict';
// The data of the page, and what all views need of it.

const DATA = JSON.parse(document.getElementById('data').textContent);
const REC = DATA.recording;
const REPORT = DATA.report;
const STATES = REC.states;
const FIRST = REC.first_cycle, END = REC.end_cycle;
/// "SM 3": whose recording it is.
const UNIT = `${REC.unit.name} ${REC.unit.number}`;

const STATE = Object.fromEntries(STATES.map((s, i) => [s.name, i]));

const number = v => v.toLocaleString('en-US', {maximumFractionDigits: 0});
const fixed = (v, digits = 2) => v.toLocaleString('en-US', {maximumFractionDigits: digits});
const percent = v => (100 * v).toFixed(v < 0.1 ? 1 : 0) + ' %';

function time(ns) {
  if (ns >= 1e6) return fixed(ns / 1e6) + ' ms';
  return ns >= 1e3 ? fixed(ns / 1e3) + ' us' : fixed(ns, 0) + ' ns';
}

/// An element with attributes (on...: listeners) and children (texts or elements).
function make(tag, attributes = {}, ...children) {
  const svg = ['svg', 'rect', 'text', 'path', 'g', 'line', 'title'].includes(tag);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag)
                : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? '' : value);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

if (REC.dma) {
  REC.dma.steps = REC.dma.steps.map(([number, begin, body, bodyEnd, ...index]) => ({number, begin, body, bodyEnd, index}));
  REC.dma.transfers = REC.dma.transfers.map(([number, engine, write, bytes, runs, block, at]) =>
    ({number, engine, write, bytes, runs, block, at}));
}

/// "kernels.py:52" of "/home/me/kernels.py:52", unless two files have that name.
const FILES = [...new Set(REC.lines.map(l => l.file))];
const baseName = file => file.slice(file.lastIndexOf('/') + 1);
function shortName(name) {
  const colon = name.lastIndexOf(':'), base = baseName(name.slice(0, colon));
  return FILES.filter(f => baseName(f) === base).length > 1 ? name : base + name.slice(colon);
}
/// The name of the line that an instruction comes from.
const LINE_NAMES = REC.lines.map(
  l => l.file ? shortName(`${l.file}:${l.line}`) : l.line ? `line ${l.line}` : '(no line)');
const lineName = n => LINE_NAMES[n] ?? '';
const lineOf = pc => pc < 0 ? '' : lineName(REC.code[pc].line);

/// The text of a line: of the source where it was found, else of the kernel's own text.
function lineText(name) {
  const l = REC.lines[LINE_NAMES.indexOf(name)];
  if (!l) return '';
  const source = DATA.sources[l.file], text = source && source[l.line];
  if (text !== undefined) return text;
  return (l.ir.map(n => DATA.kernel_text[n]).find(t => t) || '').trim();
}

/// Cycles of the whole chip by source line: {name, cycles, executed, reasons: {name: cycles}}.
const LINES = (() => {
  const all = new Map();
  for (const e of REPORT.lines) {
    const name = e.line === null ? '(no line)' : shortName(e.line);
    if (!all.has(name)) all.set(name, {name, cycles: 0, executed: 0, reasons: {}});
    const l = all.get(name);
    l.cycles += e.cycles;
    l.executed += e.executed;
    l.reasons[e.reason] = (l.reasons[e.reason] || 0) + e.cycles;
  }
  return [...all.values()];
})();

/// What is chosen, as it stands in the address: tab, line, pc, from, until, slot, cycle, state, ...
const VIEW = {};
function readHash() {
  for (const key of Object.keys(VIEW)) delete VIEW[key];
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) VIEW[key] = value;
}
/// A number of the address, or `otherwise`.
function chosenNumber(key, otherwise) {
  const n = VIEW[key] === undefined ? NaN : +VIEW[key];
  return Number.isFinite(n) ? n : otherwise;
}
/// Changes what is chosen; undefined takes a choice back.
function choose(changes, redraw = true) {
  Object.assign(VIEW, changes);
  for (const key of Object.keys(VIEW)) if (VIEW[key] === undefined) delete VIEW[key];
  history.replaceState(null, '', '#' + new URLSearchParams(VIEW));
  if (redraw) show();
}

const TIP = document.getElementById('tip');
function tip(event, text) {
  TIP.style.display = text ? 'block' : 'none';
  if (!text) return;
  TIP.textContent = text;
  TIP.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - TIP.offsetWidth - 8)) + 'px';
  TIP.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - TIP.offsetHeight - 8)) + 'px';
}
/// Shows a text while the pointer is on an element.
function explain(element, text) {
  element.addEventListener('mousemove', e => tip(e, text));
  element.addEventListener('mouseleave', e => tip(e, ''));
  return element;
}

/// A table whose rows are chosen by click, Enter or the arrow keys.
function rows(body, onChoose) {
  body.addEventListener('click', e => {
    const row = e.target.closest('tr[tabindex]');
    if (row) onChoose(row.dataset.key);
  });
  body.addEventListener('keydown', e => {
    const row = e.target.closest('tr[tabindex]');
    if (!row) return;
    if (e.key === 'Enter' || e.key === ' ') { onChoose(row.dataset.key); e.preventDefault(); }
    const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
    if (!step) return;
    const all = [...body.querySelectorAll('tr[tabindex]')];
    const next = all[all.indexOf(row) + step];
    if (next) next.focus();
    e.preventDefault();
  });
}
