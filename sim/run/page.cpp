#include "sim/run/page.h"

#include <fmt/format.h>

#include "sim/run/markup.h"

namespace xpusim::run {
namespace {

// The hue of a kind is k0, k1, ...; measured is b0, simulated b1.
constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1d2330; --soft: #5b6475;
  --line: #e3e6ec; --accent: #2563c9; --band: #2563c91c; --good: #1a7f4b; --bad: #c2410c;
  --k0: #2563c9; --k1: #d9730d; --k2: #0f8f6f; --k3: #9745c4; --k4: #6b7280;
  --b0: #8892a4; --b1: #2563c9; }
@media (prefers-color-scheme: dark) { :root { --page: #12151b; --card: #1b2029; --ink: #e7eaf0;
  --soft: #9aa4b5; --line: #2d3441; --accent: #6ea8ff; --band: #6ea8ff22; --good: #4fc98a;
  --bad: #ff9466; --k0: #6ea8ff; --k1: #ffab5c; --k2: #3fd0a6; --k3: #cf93f2; --k4: #a3acba;
  --b0: #7d8798; --b1: #6ea8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 24px 60px; }
h1 { font-size: 26px; margin: 0 0 2px; }
h2 { font-size: 18px; margin: 0 0 12px; }
h3 { font-size: 15px; margin: 0; overflow-wrap: anywhere; }
p { margin: 4px 0 12px; color: var(--soft); max-width: 75ch; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px;
  margin: 18px 0; }
.card, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.card { padding: 12px 16px; overflow-wrap: anywhere; }
tbody td:first-child { white-space: nowrap; }
tbody td:last-child { overflow-wrap: anywhere; }
.card b { display: block; white-space: nowrap; font-size: 24px; font-weight: 650; line-height: 1.25; }
.card span { color: var(--soft); font-size: 13px; }
section { padding: 18px 20px; margin: 0 0 18px; overflow-x: auto; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr));
  gap: 18px; align-items: start; }
.two > section { margin: 0; } .two { margin-bottom: 18px; }
svg { width: 100%; height: auto; display: block; }
.tick { font-size: 12px; fill: var(--soft); } .axis { font-size: 13px; fill: var(--ink); }
.rule { stroke: var(--line); fill: none; } .base { stroke: var(--soft); fill: none; }
.band { fill: var(--band); } .diagonal { stroke: var(--soft); stroke-dasharray: 4 4; fill: none; }
.dot { stroke: var(--card); stroke-width: 1; fill-opacity: .85; } .dot.shown { fill-opacity: .25; }
.dot:hover { stroke: var(--ink); stroke-width: 2; } .bin { fill: var(--accent); }
.bin:hover { opacity: .75; }
.k0 { fill: var(--k0); background: var(--k0); } .k1 { fill: var(--k1); background: var(--k1); }
.k2 { fill: var(--k2); background: var(--k2); } .k3 { fill: var(--k3); background: var(--k3); }
.k4 { fill: var(--k4); background: var(--k4); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--soft); }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 6px;
  margin-right: 6px; }
h4 i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin: 0 5px 0 2px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
thead th { text-align: left; color: var(--soft); font-weight: 500; font-size: 13px;
  border-bottom: 1px solid var(--line); }
th, td { padding: 4px 10px 4px 0; text-align: left; font-weight: 400; vertical-align: middle; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.n, thead .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bars { font-size: 13px; } .bars th { width: 1%; white-space: nowrap; }
.bars td { border: 0 !important; padding: 2px 8px 2px 0; } .bars th { border: 0 !important; }
.bars .n { width: 1%; }
.bar { height: 9px; min-width: 1px; border-radius: 2px; } .bar + .bar { margin-top: 2px; }
.b0 { background: var(--b0); } .b1 { background: var(--b1); }
.worst { border-top: 1px solid var(--line); padding: 14px 0 10px; }
.worst:first-of-type { border-top: 0; }
.worst .two { margin: 8px 0 0; } .worst h4 { margin: 0 0 4px; font-size: 13px; font-weight: 500;
  color: var(--soft); }
.high { color: var(--bad); font-weight: 600; } .low { color: var(--accent); font-weight: 600; }
details summary { cursor: pointer; font-size: 18px; font-weight: 650; }
details table { margin-top: 12px; }
.pick { font-weight: 600; } .why { color: var(--soft); font-size: 13px; }
.refused { color: var(--bad); } td.limit { font-size: 13px; }
#tip { position: fixed; display: none; pointer-events: none; white-space: pre-line; z-index: 9;
  background: var(--ink); color: var(--card); padding: 6px 10px; border-radius: 6px;
  font-size: 13px; max-width: 420px; }
)css";

// Titles appear at once and beside the pointer, not after the browser's pause.
constexpr const char* kScript = R"js(
const tip = document.getElementById('tip');
for (const mark of document.querySelectorAll('svg title')) {
  const words = mark.textContent, of = mark.parentNode;
  mark.remove();
  of.setAttribute('aria-label', words);
  of.addEventListener('mousemove', e => {
    tip.textContent = words;
    tip.style.display = 'block';
    tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + 'px';
  });
  of.addEventListener('mouseleave', () => tip.style.display = 'none');
}
)js";

}  // namespace

std::string table_cell(const std::string& text) { return "<td>" + escaped(text) + "</td>"; }

std::string number_cell(const std::string& text) {
  return "<td class=\"n\">" + escaped(text) + "</td>";
}

std::string table_head(const std::vector<std::string>& names) {
  std::string out = "<table><thead><tr>";
  for (const auto& name : names) {
    const bool is_number = name.starts_with('#');
    out += fmt::format("<th{}>{}</th>", is_number ? " class=\"n\"" : "",
                       escaped(is_number ? name.substr(1) : name));
  }
  return out + "</tr></thead><tbody>\n";
}

std::string section(const std::string& title, const std::string& about, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>{}{}</section>\n", title,
                     about.empty() ? "" : "<p>" + about + "</p>", body);
}

std::string card(const std::string& value, const std::string& what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value),
                     escaped(what));
}

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>{}</style></head>\n"
      "<body><main>\n{}</main><div id=\"tip\"></div><script>{}</script></body></html>\n",
      escaped(title), kStyle, body, kScript);
}

}  // namespace xpusim::run
