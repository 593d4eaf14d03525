#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "sim/run/comparison/comparison.h"
#include "sim/run/report.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

/// Whether an override is for a machine of this family: it is not below another family's key.
bool takes(const run::Family& family, const std::string& override) {
  const run::Family* of = run::find_family(override.substr(0, override.find_first_of(".=")));
  return of == nullptr || of == &family;
}

/// The overrides of each machine; one that none of them takes is an error.
Expected<std::vector<std::vector<std::string>>> share_overrides(const RunOptions& options) {
  std::vector<std::vector<std::string>> out(options.machines.size());
  std::vector<bool> taken(options.overrides.size());
  Diagnostics problems;
  for (std::size_t m = 0; m < out.size(); ++m) {
    auto machine = run::load_machine(options.machines[m], {});
    if (!machine) {
      problems.append(machine.error());
      continue;
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (!takes(*machine->family, options.overrides[i])) continue;
      taken[i] = true;
      out[m].push_back(options.overrides[i]);
    }
  }
  for (std::size_t i = 0; i < taken.size() && !problems.has_errors(); ++i) {
    if (!taken[i])
      problems.error({"--set", 0, 0},
                     fmt::format("'{}' is for none of these machines", options.overrides[i]));
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

/// One workload: what a machine cannot run is an error.
int compare_workload(const Options& options, Plan plan) {
  const run::ComparedWorkload& workload = plan.set.kinds.front().workloads.front();
  std::vector<run::ChildWork> work;
  for (const auto& settings : plan.on) work.push_back({workload.form(""), &settings});
  std::vector<Expected<run::ChildReport>> reports(work.size(), fail({}, "did not run"));
  run::run_in_children(work, options.jobs, [&](std::size_t i, Expected<run::ChildReport> r) {
    reports[i] = std::move(r);
  });
  nlohmann::ordered_json all = {{"schema", "xpusim.comparison/1"},
                                {"reports", nlohmann::ordered_json::array()}};
  for (auto& report : reports) {
    if (!report) return print(report.error()), exit_code(report.error());
    if (!report->failure.empty()) return print(report->failure), kRunFailed;
    all["reports"].push_back(std::move(report->json));
  }
  const auto comparison = run::comparison_of(plan.set, std::move(plan.machines), all["reports"]);
  print(run::side_by_side(comparison));
  if (!write(options, all, comparison)) return kWrongInput;
  return comparison.any_failed() ? kRunFailed : kFine;
}

int compare_set(const Options& options, Plan plan) {
  const auto start = std::chrono::steady_clock::now();
  const auto comparison = run::run_comparison(
      plan.set, std::move(plan.machines), plan.on, options.jobs,
      [&](std::size_t done, std::size_t all) {
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
        progress(fmt::format(
            "{}/{} runs ({:.0f} s left)", done, all,
            wall.count() / static_cast<double>(done) * static_cast<double>(all - done)));
      });
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
