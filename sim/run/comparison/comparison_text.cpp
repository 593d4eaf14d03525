#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "sim/run/comparison/choice_text.h"
#include "sim/run/comparison/comparison.h"
#include "sim/run/comparison/text_table.h"
#include "sim/run/report.h"

namespace xpusim::run {
namespace {

const std::string kIndent = "  ";

std::string money(double usd) { return fmt::format("{:.3g}", usd); }

/// What the machines are, as far as it says how big they are.
std::string machines_text(const Comparison& c) {
  TextTable table({"machine", ">matrix peak", ">vector peak", ">HBM", ">USD/h"});
  for (const auto& m : c.machines)
    table.row({m.name, si(m.peaks.tensor_flops_per_s, "FLOP/s"), si(m.peaks.flops_per_s, "FLOP/s"),
               si(m.peaks.hbm_bytes_per_s, "B/s"),
               m.peaks.dollars_per_hour ? fmt::format("{:.2f}", *m.peaks.dollars_per_hour) : "-"});
  return table.text(kIndent) +
         "One device each, and they differ in size: 'per watt' and 'per dollar' are what can be "
         "compared across sizes.\n";
}

std::vector<std::string> run_cells(const ComparedRun& r) {
  return {r.check.empty() ? "-" : r.check,
          si(r.time_ns * 1e-9, "s"),
          error_cell(r),
          fmt::format("{:.0f} %", 100 * r.bound_share()),
          r.energy_uj ? si(*r.energy_uj * 1e-6, "J") : "-",
          r.energy_uj ? fmt::format("{:.0f}", r.power_w()) : "-",
          r.cost_usd ? money(*r.cost_usd * 1e6) : "-",
          to_text(r.limit)};
}

std::string rows_text(const Comparison& c, const ComparedKind& kind) {
  TextTable table({"workload", "machine", ">values", ">time", ">error", ">of bound", ">energy",
                   ">W", ">USD/1e6", "limited by"});
  for (const auto& row : kind.rows) {
    for (std::size_t m = 0; m < row.runs.size(); ++m) {
      const ComparedRun& r = row.runs[m];
      std::vector<std::string> cells = {m == 0 ? row.workload : "", c.machines[m].name};
      if (!r.ok()) {
        table.note(std::move(cells), fmt::format("{}: {}", name(r.status), r.reason));
        continue;
      }
      for (auto& cell : run_cells(r)) cells.push_back(std::move(cell));
      table.row(std::move(cells));
    }
  }
  return table.text(kIndent);
}

std::string advantage_cell(const ComparedKind& kind, Aim aim, std::size_t m) {
  const auto a = advantage(kind, aim, m, 0);
  return a ? ratio_text(*a) : "-";
}

/// All machines by the first one, over the workloads that both run.
std::string relative_text(const Comparison& c, const ComparedKind& kind) {
  if (c.machines.size() < 2) return "";
  TextTable table(
      {fmt::format("{} = 1", c.machines[0].name), ">speed", ">per watt", ">per dollar"});
  for (std::size_t m = 1; m < c.machines.size(); ++m)
    table.row({c.machines[m].name, advantage_cell(kind, Aim::kTime, m),
               advantage_cell(kind, Aim::kEnergy, m), advantage_cell(kind, Aim::kCost, m)});
  return table.text(kIndent);
}

std::string decision_text(const Comparison& c) {
  TextTable table({"which to choose for", "time", "energy", "cost"});
  for (const auto& kind : c.kinds) {
    std::vector<std::string> cells = {kind.name};
    for (const Aim aim : kAims) cells.push_back(choice_cell(c, choose(c, kind, aim)));
    table.row(std::move(cells));
  }
  return table.text("") +
         "(how many times better than the next; ~: within the models' errors; ?: "
         "their errors are not known, as of all energies)\n";
}

/// The errors that `error_cell` shortens, a line a machine and kind of kernel.
std::string trust_text(const Comparison& c) {
  std::string out =
      "error: of simulated times when the machine was last compared with a real one\n";
  for (std::size_t m = 0; m < c.machines.size(); ++m) {
    std::map<std::string, std::string> lines;
    for (const auto& kind : c.kinds)
      for (const auto& row : kind.rows)
        if (const auto& t = row.runs[m].trust)
          lines[t->kind] = fmt::format(
              "{}: {:.1f} % on the mean, {:.0f} % at worst, over {} measured launches{}", t->kind,
              t->mean_pct, t->worst_pct, t->cases,
              t->same_kind ? "" : ", none of which was of this kind");
    if (lines.empty()) out += fmt::format("  {}: never compared\n", c.machines[m].name);
    for (const auto& [kind, line] : lines)
      out += fmt::format("  {}: {}\n", c.machines[m].name, line);
  }
  return out +
         "  in brackets where none of the kind was compared, or the run lies far from those that "
         "were\n  energies have no measured error here; configs/README.md says what each is fitted "
         "on\n";
}

}  // namespace

std::string error_cell(const ComparedRun& run) {
  if (!run.trust) return "-";
  return fmt::format(fmt::runtime(run.trust->applies ? "{:.0f} %" : "({:.0f} %)"),
                     run.trust->mean_pct);
}

std::string to_text(const Comparison& c) {
  std::string out = c.name + "\n" + machines_text(c);
  for (const auto& kind : c.kinds) {
    out += "\n" + kind.name + "\n" + rows_text(c, kind) + "\n" + relative_text(c, kind);
    for (const Aim aim : kAims) out += choice_text(c, choose(c, kind, aim), aim, kIndent);
  }
  return out + "\n" + trust_text(c) + "\n" + decision_text(c);
}

}  // namespace xpusim::run
