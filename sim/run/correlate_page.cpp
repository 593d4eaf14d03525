#include "sim/run/correlate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/run/correlate_charts.h"
#include "sim/run/markup.h"
#include "sim/run/page.h"
#include "sim/run/report.h"
#include "sim/run/tool.h"

namespace xpusim::run {
namespace {

constexpr std::size_t kWorstCases = 8, kWorstCounters = 6, kReasons = 8;

const std::string kMeasuredSimulated =
    ": <i class=\"b0\"></i>measured, <i class=\"b1\"></i>simulated";

std::string percent(double v) { return fmt::format("{:.1f} %", v); }
std::string time(double ns) { return si(ns * 1e-9, "s"); }

/// Above or below what was measured, in colour.
std::string signed_error(double pct) {
  return fmt::format("<span class=\"{}\">{:+.1f} %</span>", pct > 0 ? "high" : "low", pct);
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
  std::string out = table_head({what, "#cases", "#mean", "#median", "#worst", "worst case"});
  for (const auto* e : order) {
    const ErrorSummary& s = e->second;
    out += "<tr>" + table_cell(e->first) + number_cell(fmt::format("{}", s.cases)) +
           number_cell(percent(s.mean)) + number_cell(percent(s.median)) +
           number_cell(percent(s.worst)) + table_cell(s.worst_case) + "</tr>\n";
  }
  return out + "</tbody></table>";
}

std::string problems_table(const Summary& s) {
  std::string out = table_head({"kernel", "#schedules", "#tau", "#regret", "picked", "fastest"});
  for (const auto& p : s.problems)
    out += "<tr>" + table_cell(p.kernel) + number_cell(fmt::format("{}", p.cases)) +
           number_cell(p.tau ? fmt::format("{:.2f}", *p.tau) : "-") +
           number_cell(percent(p.regret_pct)) + table_cell(p.picked) +
           table_cell(p.fastest == p.picked ? "the same" : p.fastest) + "</tr>\n";
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
  std::string out = table_head({"case", "#measured", "#simulated", "#error", "remark"});
  for (const auto& r : results) {
    out += "<tr>" + table_cell(r.name) + number_cell(r.measured_ns ? time(*r.measured_ns) : "-") +
           number_cell(r.simulated_ns ? time(*r.simulated_ns) : "-");
    const auto e = r.error_pct();
    out += fmt::format("<td class=\"n\">{}</td>", e ? signed_error(*e) : "-");
    const std::string why =
        r.reason.empty() ? name(r.status) : fmt::format("{}: {}", name(r.status), r.reason);
    out += table_cell(r.status != CaseStatus::kOk ? why : r.gate ? "" : "not counted") + "</tr>\n";
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
  return page(machines + ": simulated against measured", body);
}

}  // namespace xpusim::run
