#include "sim/run/comparison/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/run/check_workload.h"

namespace xpusim::run {
namespace {

std::string one_line(const Diagnostics& problems) {
  std::string out;
  for (const auto& d : problems.list()) {
    const std::string where = d.where.str();
    out += (out.empty() ? "" : "; ") + (where.empty() ? "" : where + ": ") + d.message;
  }
  return out;
}

ComparedRun without_figures(ComparedRun::Status status, std::string reason) {
  ComparedRun run;
  run.status = status;
  run.reason = std::move(reason);
  return run;
}

/// All files are right. So a problem with a place that was found before anything ran is what the
/// machine refuses, but for a reference, of which only names are checked before.
bool is_refusal(const Workload& workload, const Diagnostics& problems) {
  return std::all_of(problems.list().begin(), problems.list().end(), [&](const Diagnostic& d) {
    return !d.where.file.empty() && !is_of_expectation(workload, d.where);
  });
}

ComparedRun outcome(const Workload& workload, const Expected<ChildReport>& report) {
  using Status = ComparedRun::Status;
  if (!report)
    return without_figures(
        is_refusal(workload, report.error()) ? Status::kRefused : Status::kFailed,
        one_line(report.error()));
  if (report->failure.has_errors())
    return without_figures(report->refused ? Status::kRefused : Status::kFailed,
                           one_line(report->failure));
  return compared_run(report->json);
}

Comparison empty_comparison(const ComparisonSet& set, std::vector<ComparedMachine> machines) {
  Comparison out;
  out.name = set.name;
  out.values = set.values;
  out.warm_caches = set.warm_caches;
  out.machines = std::move(machines);
  for (const auto& kind : set.kinds) {
    ComparedKind& k = out.kinds.emplace_back(ComparedKind{kind.name, {}});
    for (const auto& w : kind.workloads)
      k.rows.push_back({w.name, std::vector<ComparedRun>(out.machines.size())});
  }
  return out;
}

/// A cell of the comparison that runs.
struct Cell {
  ComparedRun* run;
  const Workload* workload;
  std::size_t machine;
};

std::vector<std::size_t> rows_run(const ComparedKind& kind, Aim aim, std::size_t machine) {
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < kind.rows.size(); ++r)
    if (figure(kind.rows[r].runs[machine], aim)) rows.push_back(r);
  return rows;
}

/// Why there is but one machine to choose.
std::string why_only(const ComparedKind& kind, Aim aim, std::size_t only, std::size_t most) {
  for (std::size_t m = 0; m < kind.rows.front().runs.size(); ++m)
    if (m != only && rows_run(kind, Aim::kTime, m).size() >= most)
      return fmt::format("the only one with a known {}", name(aim));
  if (kind.rows.size() == 1) return "the only one that runs it";
  return most == kind.rows.size()
             ? fmt::format("the only one that runs all {}", most)
             : fmt::format("the only one that runs {} of {}", most, kind.rows.size());
}

double mean_log(const std::vector<const ComparedRow*>& rows, Aim aim, std::size_t machine) {
  double sum = 0;
  for (const auto* row : rows) sum += std::log(*figure(row->runs[machine], aim));
  return sum / static_cast<double>(rows.size());
}

/// The mean error of a machine's times over these rows; none if it was never compared.
std::optional<double> error_of(const std::vector<const ComparedRow*>& rows, std::size_t machine) {
  double sum = 0;
  for (const auto* row : rows) {
    const auto& trust = row->runs[machine].trust;
    if (!trust) return std::nullopt;
    sum += trust->mean_pct / 100;
  }
  return sum / static_cast<double>(rows.size());
}

/// Errors of two machines are independent: their ratio's is the root of the squares' sum. A cost is
/// a time times a price, which is exact.
Margin margin_of(const std::vector<const ComparedRow*>& rows, Aim aim, double ratio, std::size_t a,
                 std::size_t b) {
  const auto of_a = error_of(rows, a), of_b = error_of(rows, b);
  if (aim == Aim::kEnergy || !of_a || !of_b) return Margin::kUnknown;
  return ratio - 1 < std::hypot(*of_a, *of_b) ? Margin::kClose : Margin::kApart;
}

}  // namespace

bool Comparison::any_failed() const {
  for (const auto& kind : kinds)
    for (const auto& row : kind.rows)
      for (const auto& run : row.runs)
        if (run.status == ComparedRun::Status::kFailed || run.check == kWrong) return true;
  return false;
}

Expected<std::vector<ComparedMachine>> compared_machines(const std::vector<RunSettings>& on) {
  std::vector<ComparedMachine> machines;
  Diagnostics problems;
  for (const auto& settings : on) {
    auto loaded = load_machine(settings.machine, settings.overrides);
    if (!loaded) {
      problems.append(loaded.error());
      continue;
    }
    const Machine& machine = *loaded->machine;
    machines.push_back({machine.name(), loaded->family->name, machine.peaks()});
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return machines;
}

Expected<void> check_forms(const ComparisonSet& set, const std::vector<ComparedMachine>& machines,
                           const std::vector<RunSettings>& on) {
  Diagnostics problems;
  std::set<std::string> said, checked;  // machines of a family are given the same
  for (std::size_t m = 0; m < machines.size(); ++m) {
    if (!checked.insert(machines[m].family).second) continue;
    for (const auto& kind : set.kinds) {
      for (const auto& w : kind.workloads) {
        const Workload* form = w.form(machines[m].family);
        if (!form) continue;
        const auto right = check_workload(*form, *find_family(machines[m].family), on[m]);
        if (right) continue;
        for (const auto& d : right.error().list())
          if (said.insert(d.str()).second) problems.add(d);
      }
    }
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

Comparison run_comparison(const ComparisonSet& set, std::vector<ComparedMachine> machines,
                          const std::vector<RunSettings>& on, int jobs,
                          const std::function<void(std::size_t, std::size_t)>& done) {
  Comparison out = empty_comparison(set, std::move(machines));
  std::vector<Cell> cells;
  std::vector<ChildWork> work;
  for (std::size_t k = 0; k < set.kinds.size(); ++k) {
    for (std::size_t w = 0; w < set.kinds[k].workloads.size(); ++w) {
      for (std::size_t m = 0; m < on.size(); ++m) {
        ComparedRun& run = out.kinds[k].rows[w].runs[m];
        const std::string& family = out.machines[m].family;
        const Workload* form = set.kinds[k].workloads[w].form(family);
        if (!form) {
          run = without_figures(ComparedRun::Status::kRefused,
                                fmt::format("it has no form for the {} machines", family));
          continue;
        }
        cells.push_back({&run, form, m});
        work.push_back({form, &on[m]});
      }
    }
  }
  std::size_t finished = 0;
  run_in_children(work, jobs, [&](std::size_t i, Expected<ChildReport> report) {
    *cells[i].run = outcome(*cells[i].workload, report);
    if (done) done(++finished, cells.size());
  });
  return out;
}

Comparison comparison_of(const ComparisonSet& set, std::vector<ComparedMachine> machines,
                         const nlohmann::ordered_json& reports) {
  Comparison out = empty_comparison(set, std::move(machines));
  for (std::size_t m = 0; m < reports.size(); ++m)
    out.kinds.front().rows.front().runs[m] = compared_run(reports[m]);
  return out;
}

const char* name(Aim aim) {
  switch (aim) {
    case Aim::kTime:
      return "time";
    case Aim::kEnergy:
      return "energy";
    case Aim::kCost:
      return "cost";
  }
  return "";
}

Figure figure(const ComparedRun& run, Aim aim) {
  if (!run.ok() || run.check == kWrong || run.time_ns <= 0) return std::nullopt;
  Figure f = run.time_ns;
  if (aim == Aim::kEnergy) f = run.energy_uj;
  if (aim == Aim::kCost) f = run.cost_usd;
  return f && *f > 0 ? f : std::nullopt;
}

std::optional<double> advantage(const ComparedKind& kind, Aim aim, std::size_t a, std::size_t b) {
  std::vector<const ComparedRow*> rows;
  for (const auto& row : kind.rows)
    if (figure(row.runs[a], aim) && figure(row.runs[b], aim)) rows.push_back(&row);
  if (rows.empty()) return std::nullopt;
  return std::exp(mean_log(rows, aim, b) - mean_log(rows, aim, a));
}

Choice choose(const Comparison& c, const ComparedKind& kind, Aim aim) {
  std::size_t most = 0;
  for (std::size_t m = 0; m < c.machines.size(); ++m)
    most = std::max(most, rows_run(kind, aim, m).size());
  Choice choice;
  if (most == 0) {
    choice.why = aim == Aim::kCost ? "no price is known" : "no machine ran any of it";
    return choice;
  }
  std::vector<std::size_t> candidates;
  std::vector<const ComparedRow*> rows;
  for (std::size_t m = 0; m < c.machines.size(); ++m)
    if (rows_run(kind, aim, m).size() == most) candidates.push_back(m);
  for (const auto& row : kind.rows)
    if (std::all_of(candidates.begin(), candidates.end(),
                    [&](std::size_t m) { return figure(row.runs[m], aim).has_value(); }))
      rows.push_back(&row);
  if (rows.empty()) {
    choice.why = "no workload ran on all that could run as many";
    return choice;
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return mean_log(rows, aim, a) < mean_log(rows, aim, b);
  });
  choice.machine = candidates[0];
  if (candidates.size() < 2) {
    choice.why = why_only(kind, aim, candidates[0], most);
    return choice;
  }
  choice.next = candidates[1];
  choice.ratio = std::exp(mean_log(rows, aim, candidates[1]) - mean_log(rows, aim, candidates[0]));
  choice.margin = margin_of(rows, aim, choice.ratio, candidates[0], candidates[1]);
  choice.why = why(c, rows, aim, candidates[0], candidates[1]);
  return choice;
}

std::string ratio_text(double ratio) {
  return ratio >= 99.5 ? fmt::format("{:.0f}", ratio) : fmt::format("{:.3g}", ratio);
}

}  // namespace xpusim::run
