// One workload on several machines: a column a machine.

#include <fmt/format.h>

#include "sim/run/comparison/choice_text.h"
#include "sim/run/comparison/comparison.h"
#include "sim/run/report.h"

namespace xpusim::run {
namespace {

constexpr const char* kUnknown = "-";

std::string per_cent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : kUnknown;
}

/// "5.4 %, 17 % at worst", with a word where that says less than it seems.
std::string trust_cell(const ComparedRun& r) {
  if (!r.trust) return "never compared";
  const Trust& t = *r.trust;
  return fmt::format("{:.1f} % (worst {:.0f}){}", t.mean_pct, t.worst_pct,
                     !t.same_kind ? " *"
                     : t.applies  ? ""
                                  : " **");
}

/// "91.0 M".
std::string count(double n) {
  std::string text = si(n, "");
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string worst_stall(const ComparedRun& r) {
  return r.stall.kind == Limit::Kind::kNone ? "none" : fmt::format("{:.0f} %", 100 * r.stall.share);
}

using Column = std::vector<std::pair<const char*, std::string>>;

Column column(const ComparedMachine& m, const ComparedRun& r) {
  const double s = r.time_ns * 1e-9;
  const auto& price = m.peaks.dollars_per_hour;
  return {{"", m.name},
          {"time", si(s, "s")},
          {"  its error", trust_cell(r)},
          {"  least by the peaks", r.bound_ns > 0 ? si(r.bound_ns * 1e-9, "s") : kUnknown},
          {"  of the bound", per_cent(r.bound_ns, r.time_ns)},
          {"compute", si(r.flops / s, "FLOP/s")},
          {"HBM", si(r.hbm_bytes / s, "B/s")},
          {"  of the peak", per_cent(r.hbm_bytes / s, m.peaks.hbm_bytes_per_s)},
          {"energy", r.energy_uj ? si(*r.energy_uj * 1e-6, "J") : kUnknown},
          {"  mean power", r.energy_uj ? si(r.power_w(), "W") : kUnknown},
          {"runs a joule", r.energy_uj ? count(1e6 / *r.energy_uj) : kUnknown},
          {"price of an hour", price ? fmt::format("{:.2f} USD", *price) : kUnknown},
          {"  a million runs", r.cost_usd ? si(*r.cost_usd * 1e6, "USD") : kUnknown},
          {"runs a dollar", r.cost_usd ? count(1 / *r.cost_usd) : kUnknown},
          {"bounded by", r.bound_by.empty() ? kUnknown : r.bound_by},
          {"cycles that issue", fmt::format("{:.0f} %", 100 * r.issued_share)},
          {"most cycles lost", worst_stall(r)},
          {"values", r.check.empty() ? "not checked" : r.check}};
}

/// What the marks of `trust_cell` mean, and where the errors are from.
std::string trust_notes(const Comparison& c, const ComparedRow& row) {
  std::string out;
  for (std::size_t m = 0; m < row.runs.size(); ++m) {
    const auto& t = row.runs[m].trust;
    if (!t || t->applies) continue;
    out += t->same_kind
               ? fmt::format("  ** this run of {} lies outside of what was compared: see 'run'\n",
                             c.machines[m].name)
               : fmt::format("  * of all {} launches compared on {}: none was of this kind, {}\n",
                             t->cases, c.machines[m].name, t->kind);
  }
  return out;
}

}  // namespace

std::string side_by_side(const Comparison& c) {
  const ComparedKind& kind = c.kinds.front();
  const ComparedRow& row = kind.rows.front();
  std::vector<Column> columns;
  for (std::size_t m = 0; m < row.runs.size(); ++m)
    columns.push_back(column(c.machines[m], row.runs[m]));
  std::string out = row.workload + "\n";
  for (std::size_t line = 0; line < columns[0].size(); ++line) {
    out += fmt::format("  {:<20}", columns[0][line].first);
    for (const auto& col : columns) out += fmt::format(" {:>20}", col[line].second);
    out += "\n";
  }
  out += trust_notes(c, row) + "\n";
  for (std::size_t m = 0; m < row.runs.size(); ++m)
    out += fmt::format("  what limits {}: {}\n", c.machines[m].name, to_text(row.runs[m].limit));
  if (c.machines.size() < 2) return out;
  for (const Aim aim : kAims) out += choice_text(c, choose(c, kind, aim), aim, "  ");
  return out;
}

}  // namespace xpusim::run
