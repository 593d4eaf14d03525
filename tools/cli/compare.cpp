#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "sim/run/comparison/comparison.h"
#include "sim/run/report.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

/// An override as written: `h200:cost.per_hour=...` is for one machine, as `--on` calls it.
struct Override {
  explicit Override(const std::string& written) : text(written) {
    const auto colon = written.substr(0, written.find('=')).rfind(':');
    if (colon == std::string::npos) return;
    machine = written.substr(0, colon);
    text = written.substr(colon + 1);
  }

  /// Without a machine it is for those of its family, all if it is not below a family's key.
  bool is_for(const std::string& on, const run::Family& family) const {
    if (machine) return *machine == on;
    const run::Family* of = run::find_family(text.substr(0, text.find_first_of(".=")));
    return of == nullptr || of == &family;
  }

  std::optional<std::string> machine;
  std::string text;
};

/// The overrides of each machine; one that none of them takes is an error.
Expected<std::vector<std::vector<std::string>>> share_overrides(const RunOptions& options) {
  std::vector<std::vector<std::string>> out(options.machines.size());
  const std::vector<Override> overrides(options.overrides.begin(), options.overrides.end());
  std::vector<bool> taken(overrides.size());
  Diagnostics problems;
  for (std::size_t m = 0; m < out.size(); ++m) {
    auto machine = run::load_machine(options.machines[m], {});
    if (!machine) {
      problems.append(machine.error());
      continue;
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (!overrides[i].is_for(options.machines[m], *machine->family)) continue;
      taken[i] = true;
      out[m].push_back(overrides[i].text);
    }
  }
  for (std::size_t i = 0; i < taken.size() && !problems.has_errors(); ++i) {
    if (!taken[i])
      problems.error(
          {"--set", 0, 0},
          fmt::format("'{}' is for none of these machines{}", options.overrides[i],
                      did_you_mean(overrides[i].machine.value_or(""), options.machines)));
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return out;
}

struct Options : RunOptions {
  bool values_given = false, caches_given = false;  ///< else a comparison file decides
  int jobs = 1;
};

/// What to run, and on which machines.
struct Plan {
  bool is_set = false;
  run::ComparisonSet set;
  std::vector<run::RunSettings> on;
  std::vector<run::ComparedMachine> machines;
};

/// A comparison file, or a launch file as a set of one workload.
Expected<run::ComparisonSet> read_set(const std::string& path, bool& is_set) {
  auto root = config::read_yaml_file(path);
  if (!root) return fail(root.error());
  is_set = run::is_comparison_set(*root);
  if (is_set) return run::load_comparison_set(*root, path);
  auto workload = run::parse_workload(*root, path);
  if (!workload) return fail(workload.error());
  return run::set_of(std::move(*workload));
}

Expected<Plan> plan_of(const Options& options) {
  if (auto ok = options.check_outputs(); !ok) return fail(ok.error());
  Plan plan;
  auto set = read_set(options.workload, plan.is_set);
  if (!set) return fail(set.error());
  plan.set = std::move(*set);
  if (!plan.is_set || options.values_given) plan.set.values = options.values == "on";
  if (!plan.is_set || options.caches_given) plan.set.warm_caches = options.caches == "warm";
  auto overrides = share_overrides(options);
  if (!overrides) return fail(overrides.error());
  for (std::size_t m = 0; m < options.machines.size(); ++m) {
    auto settings = options.settings(options.machines[m]);
    if (!settings) return fail(settings.error());
    settings->overrides = (*overrides)[m];
    settings->values = plan.set.values;
    settings->warm_caches = plan.set.warm_caches;
    plan.on.push_back(std::move(*settings));
  }
  auto machines = run::compared_machines(plan.on);
  if (!machines) return fail(machines.error());
  plan.machines = std::move(*machines);
  if (plan.is_set)
    if (auto right = run::check_forms(plan.set, plan.machines, plan.on); !right)
      return fail(right.error());
  return plan;
}

/// Writes what was asked for; false after a word about what could not be written.
bool write(const Options& options, const nlohmann::ordered_json& json,
           const run::Comparison& comparison) {
  const auto written = [](const std::string& file, const std::string& content) {
    if (file.empty()) return true;
    auto ok = run::write_atomically(file, content);
    if (!ok) print(ok.error());
    return ok.has_value();
  };
  return written(options.json, json.dump(2) + "\n") &&
         written(options.html, options.html.empty() ? "" : run::to_html(comparison));
}

/// A line that tells how many runs have ended.
class Progress {
 public:
  void show(std::size_t done, std::size_t all) const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
    progress(
        fmt::format("{}/{} runs ({:.0f} s left)", done, all,
                    wall.count() / static_cast<double>(done) * static_cast<double>(all - done)));
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What kept machines from running a workload, each problem once, with those that had it.
class Problems {
 public:
  void add(const std::string& machine, const Diagnostics& problems) {
    for (const auto& d : problems.list()) {
      auto it = std::find_if(list_.begin(), list_.end(),
                             [&](const auto& p) { return p.first.str() == d.str(); });
      if (it == list_.end()) it = list_.insert(it, {d, {}});
      it->second.push_back(machine);
    }
  }
  void print_of(std::size_t machines) const {
    Diagnostics out;
    for (auto [d, on] : list_) {
      if (on.size() < machines) d.message += fmt::format(" (on {})", fmt::join(on, ", "));
      out.add(std::move(d));
    }
    print(out);
  }

 private:
  std::vector<std::pair<Diagnostic, std::vector<std::string>>> list_;
};

/// One workload: what a machine cannot run is an error. The exit code is the worst of the runs'.
int compare_workload(const Options& options, Plan plan) {
  const run::ComparedWorkload& workload = plan.set.kinds.front().workloads.front();
  std::vector<run::ChildWork> work;
  for (const auto& settings : plan.on) work.push_back({workload.form(""), &settings});
  std::vector<Expected<run::ChildReport>> reports(work.size(), fail({}, "did not run"));
  const Progress line;
  std::size_t done = 0;
  run::run_in_children(work, options.jobs, [&](std::size_t i, Expected<run::ChildReport> r) {
    reports[i] = std::move(r);
    line.show(++done, work.size());
  });
  end_progress();
  nlohmann::ordered_json all = {{"schema", "xpusim.comparison/1"},
                                {"reports", nlohmann::ordered_json::array()}};
  Problems problems;
  int worst = kFine;
  for (std::size_t m = 0; m < reports.size(); ++m) {
    auto& report = reports[m];
    const Diagnostics& failure = report ? report->failure : report.error();
    problems.add(plan.machines[m].name, failure);
    if (!report)
      worst = std::max(worst, exit_code(failure));
    else if (!failure.empty())
      worst = std::max(worst, kRunFailed);
    else
      all["reports"].push_back(std::move(report->json));
  }
  if (worst != kFine) return problems.print_of(reports.size()), worst;
  const auto comparison = run::comparison_of(plan.set, std::move(plan.machines), all["reports"]);
  print(run::side_by_side(comparison));
  if (!write(options, all, comparison)) return kWrongInput;
  return comparison.any_failed() ? kRunFailed : kFine;
}

int compare_set(const Options& options, Plan plan) {
  const Progress line;
  const auto comparison =
      run::run_comparison(plan.set, std::move(plan.machines), plan.on, options.jobs,
                          [&](std::size_t done, std::size_t all) { line.show(done, all); });
  end_progress();
  print(run::to_text(comparison));
  if (!write(options, run::to_json(comparison), comparison)) return kWrongInput;
  return comparison.any_failed() ? kRunFailed : kFine;
}

int compare(const Options& options) {
  auto plan = plan_of(options);
  if (!plan) return print(plan.error()), kWrongInput;
  return plan->is_set ? compare_set(options, std::move(*plan))
                      : compare_workload(options, std::move(*plan));
}

}  // namespace

void add_compare(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand(
      "compare",
      "run a workload, or kinds of work (workloads/compare/*.yaml), on several machines");
  auto options = std::make_shared<Options>();
  options->add_to(*verb);
  verb->add_option("--jobs", options->jobs, "simulations at a time (1)")->check(CLI::Range(1, 256));
  verb->add_option("--html", options->html, "write a page about it to this file")->check(not_empty);
  verb->callback([options, verb, &outcome] {
    options->values_given = verb->count("--values") > 0;
    options->caches_given = verb->count("--caches") > 0;
    outcome.exit_code = compare(*options);
  });
}

}  // namespace xpusim::cli
