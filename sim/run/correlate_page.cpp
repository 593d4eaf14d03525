#include "sim/run/correlate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/run/correlate_charts.h"
#include "sim/run/markup.h"
#include "sim/run/report.h"
#include "sim/run/tool.h"

namespace xpusim::run {
namespace {

constexpr std::size_t kWorstCases = 8, kWorstCounters = 6, kReasons = 8;

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

const std::string kMeasuredSimulated =
    ": <i class=\"b0\"></i>measured, <i class=\"b1\"></i>simulated";

std::string cell(const std::string& text) { return "<td>" + escaped(text) + "</td>"; }
std::string number(const std::string& text) { return "<td class=\"n\">" + escaped(text) + "</td>"; }
std::string percent(double v) { return fmt::format("{:.1f} %", v); }
std::string time(double ns) { return si(ns * 1e-9, "s"); }

/// Above or below what was measured, in colour.
std::string signed_error(double pct) {
  return fmt::format("<span class=\"{}\">{:+.1f} %</span>", pct > 0 ? "high" : "low", pct);
}

std::string head(std::initializer_list<const char*> names) {
  std::string out = "<table><thead><tr>";
  for (const char* name : names) {
    const bool is_number = *name == '#';
    out +=
        fmt::format("<th{}>{}</th>", is_number ? " class=\"n\"" : "", name + (is_number ? 1 : 0));
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

std::string cards(const Summary& s) {
  const auto pct = [](const std::optional<double>& v) { return v ? percent(*v) : "-"; };
  std::string out = "<div class=\"cards\">\n";
  out += card(pct(s.mean_abs_error_pct), "mean absolute error");
  out += card(pct(s.median_abs_error_pct), "median");
  out += card(pct(s.worst_abs_error_pct), "worst: " + s.worst_case);
  out += card(pct(s.mean_of_kernels_pct), "mean of the kernels' means");
  out +=
      card(s.kendall_tau ? fmt::format("{:.2f}", *s.kendall_tau) : "-", "Kendall tau of schedules");
  out += card(pct(s.regret_pct), "regret of the picked schedule");
  out += card(fmt::format("{} of {}", s.counted, s.total),
              fmt::format("cases counted ({} skipped, {} failed)", s.skipped, s.failed));
  return out + "</div>\n";
}

std::string legend(const std::vector<CaseResult>& results) {
  std::string out = "<div class=\"legend\">";
  const auto kinds = kinds_in(results);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    out += fmt::format("<span><i class=\"k{}\"></i>{}</span>", i, escaped(kinds[i]));
  const bool has_shown = std::any_of(results.begin(), results.end(), [](const CaseResult& r) {
    return !r.gate && r.error_pct().has_value();
  });
  if (has_shown) out += "<span>pale: not counted</span>";
  return out + "</div>";
}

/// The largest mean first.
std::string errors_table(const char* what, const std::map<std::string, ErrorSummary>& errors,
                         bool by_median = false) {
  std::vector<const std::pair<const std::string, ErrorSummary>*> order;
  order.reserve(errors.size());
  for (const auto& entry : errors) order.push_back(&entry);
  const auto key = [&](const auto* e) { return by_median ? e->second.median : e->second.mean; };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return key(a) > key(b); });
  std::string out = head({what, "#cases", "#mean", "#median", "#worst", "worst case"});
  for (const auto* e : order) {
    const ErrorSummary& s = e->second;
    out += "<tr>" + cell(e->first) + number(fmt::format("{}", s.cases)) + number(percent(s.mean)) +
           number(percent(s.median)) + number(percent(s.worst)) + cell(s.worst_case) + "</tr>\n";
  }
  return out + "</tbody></table>";
}

std::string problems_table(const Summary& s) {
  std::string out = head({"kernel", "#schedules", "#tau", "#regret", "picked", "fastest"});
  for (const auto& p : s.problems)
    out += "<tr>" + cell(p.kernel) + number(fmt::format("{}", p.cases)) +
           number(p.tau ? fmt::format("{:.2f}", *p.tau) : "-") + number(percent(p.regret_pct)) +
           cell(p.picked) + cell(p.fastest == p.picked ? "the same" : p.fastest) + "</tr>\n";
  return out + "</tbody></table>";
}

/// The cycles of the unit that issues the work, by reason.
std::string ledger_bars(const CaseResult& r) {
  if (r.ledger.empty()) return "<p>The machine keeps no ledger.</p>";
  const std::string& unit = r.ledger.front().unit;
  double total = 0;
  std::vector<const LedgerEntry*> entries;
  for (const auto& e : r.ledger) {
    if (e.unit != unit || e.cycles == 0) continue;
    total += static_cast<double>(e.cycles);
    entries.push_back(&e);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto* a, const auto* b) { return a->cycles > b->cycles; });
  if (entries.size() > kReasons) entries.resize(kReasons);
  std::vector<BarRow> rows;
  for (const auto* e : entries) {
    const double share = static_cast<double>(e->cycles) / total;
    rows.push_back({e->reason, e->meaning, {share}, {fmt::format("{:.1f} %", 100 * share)}});
  }
  return fmt::format("<h4>simulated cycles of {}, by reason</h4>", escaped(unit)) + bars_html(rows);
}

/// The counters of these names: measured above simulated.
std::string counter_bars(const CaseResult& r, const std::vector<std::string>& names,
                         bool relative) {
  std::vector<BarRow> rows;
  for (const auto& name : names) {
    const auto& [measured, simulated] = r.counters.at(name);
    const double most = relative ? std::max({measured, simulated, 1e-300}) : 1;
    rows.push_back({name,
                    "",
                    {measured / most, simulated / most},
                    {fmt::format("{:.4g}", measured), fmt::format("{:.4g}", simulated)}});
  }
  return bars_html(rows);
}

std::string stall_bars(const CaseResult& r) {
  std::vector<std::string> stalls, others;
  for (const auto& [name, pair] : r.counters) {
    if (name.starts_with("stall_")) {
      if (pair.first > 0 || pair.second > 0) stalls.push_back(name);
    } else if (pair.first > 0 && name != "cycles" && name != "duration_ns") {  // said above
      others.push_back(name);
    }
  }
  const auto error = [&](const std::string& name) {
    const auto& [measured, simulated] = r.counters.at(name);
    return std::abs(simulated / measured - 1);
  };
  std::stable_sort(stalls.begin(), stalls.end(), [&](const auto& a, const auto& b) {
    return r.counters.at(a).first > r.counters.at(b).first;
  });
  std::stable_sort(others.begin(), others.end(),
                   [&](const auto& a, const auto& b) { return error(a) > error(b); });
  if (others.size() > kWorstCounters) others.resize(kWorstCounters);
  std::string out;
  if (!stalls.empty())
    out += "<h4>warps that wait, per issued instruction" + kMeasuredSimulated + "</h4>" +
           counter_bars(r, stalls, false);
  if (!others.empty())
    out += "<h4>other counters furthest off" + kMeasuredSimulated + "</h4>" +
           counter_bars(r, others, true);
  return out.empty() ? "<p>No counters were measured.</p>" : out;
}

std::string worst_cases(const std::vector<CaseResult>& results) {
  std::vector<const CaseResult*> order;
  for (const auto& r : results)
    if (r.gate && r.error_pct()) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::abs(*a->error_pct()) > std::abs(*b->error_pct());
  });
  if (order.size() > kWorstCases) order.resize(kWorstCases);
  std::string out;
  for (const auto* r : order)
    out += fmt::format(
        "<div class=\"worst\"><h3>{} &nbsp;{}</h3>measured {}, simulated {}\n<div "
        "class=\"two\"><div>{}</div><div>{}</div></div></div>\n",
        escaped(r->name), signed_error(*r->error_pct()), time(*r->measured_ns),
        time(*r->simulated_ns), ledger_bars(*r), stall_bars(*r));
  return out;
}

std::string all_cases(const std::vector<CaseResult>& results) {
  std::string out = head({"case", "#measured", "#simulated", "#error", "remark"});
  for (const auto& r : results) {
    out += "<tr>" + cell(r.name) + number(r.measured_ns ? time(*r.measured_ns) : "-") +
           number(r.simulated_ns ? time(*r.simulated_ns) : "-");
    const auto e = r.error_pct();
    out += fmt::format("<td class=\"n\">{}</td>", e ? signed_error(*e) : "-");
    const std::string why =
        r.reason.empty() ? name(r.status) : fmt::format("{}: {}", name(r.status), r.reason);
    out += cell(r.status != CaseStatus::kOk ? why : r.gate ? "" : "not counted") + "</tr>\n";
  }
  return out + "</tbody></table>";
}

std::string machines_text(const std::vector<CaseResult>& results) {
  std::set<std::string> machines;
  for (const auto& r : results)
    if (!r.machine.empty()) machines.insert(r.machine);
  return fmt::format("{}", fmt::join(machines, ", "));
}

}  // namespace

std::string to_html(const std::string& cases, const std::vector<CaseResult>& results,
                    const Summary& s) {
  const std::string machines = machines_text(results);
  std::string body = fmt::format("<h1>{}: simulated against measured</h1>\n<p>{}, {}</p>\n",
                                 escaped(machines), escaped(cases), kTool);
  body += cards(s);
  body += "<div class=\"two\">" +
          section("Times", "Each dot is a case; the band is within 10 % of the measured time.",
                  legend(results) + scatter_svg(results)) +
          "<div>" +
          section("Errors", "Right of the middle the simulated time is too long.",
                  histogram_svg(results)) +
          section("By kind of kernel", "", errors_table("kind", s.by_kind)) + "</div></div>\n";
  body += section("By kernel", "", errors_table("kernel", s.by_kernel));
  if (!s.problems.empty())
    body += section("Ranking of schedules",
                    "Problems that were measured with several schedules. Tau is 1 if simulated "
                    "times rank them as measured ones do, over the pairs that differ by more than "
                    "3 %; regret is how much longer the schedule that the simulator finds fastest "
                    "really takes than the fastest.",
                    problems_table(s));
  body += section("Worst cases", "", worst_cases(results));
  if (!s.by_counter.empty())
    body += section("By counter", "Over the cases that measured more than 0; largest median first.",
                    errors_table("counter", s.by_counter, true));
  body += "<section><details><summary>All cases</summary>" + all_cases(results) +
          "</details></section>\n";
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}: simulated against "
      "measured</title>\n<style>{}</style></head>\n<body><main>\n{}</main><div "
      "id=\"tip\"></div><script>{}</script></body></html>\n",
      escaped(machines), kStyle, body, kScript);
}

}  // namespace xpusim::run
