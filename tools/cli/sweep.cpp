#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/run/sweep_run.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/sweep_progress.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

struct Options {
  std::string file;
  run::SweepSettings settings;
};

int sweep(Options& o) {
  auto sweep = run::load_sweep(o.file);
  if (!sweep) return print(sweep.error()), kWrongInput;
  if (o.settings.folder.empty()) o.settings.folder = sweep->name + ".sweep";
  auto plan = run::SweepPlan::make(std::move(*sweep));
  if (!plan) return print(plan.error()), kWrongInput;
  SweepProgressLine line;
  auto results = run::run_sweep(*plan, o.settings, [&](const auto& p) { line.show(p); });
  end_progress();
  if (!results) return print(results.error()), kWrongInput;
  print(run::summary_text(*results));
  if (line.earlier() > 0) print(fmt::format("{} points were finished before\n", line.earlier()));
  print(fmt::format("results in {}: xpusim collect {} --csv F, --json F or --svg F\n",
                    o.settings.folder, o.settings.folder));
  for (const auto& row : results->rows)
    if (row.outcome.status != run::PointStatus::kOk) return kRunFailed;
  return kFine;
}

}  // namespace

void add_sweep(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand(
      "sweep", "run workloads over a grid of configurations and launch parameters");
  auto o = std::make_shared<Options>();
  verb->add_option("sweep", o->file, "sweep file (configs/sweeps/*.yaml)")->required();
  verb->add_option("--jobs", o->settings.jobs, "simulations at a time (1)")
      ->check(CLI::Range(1, 256));
  verb->add_option("--out", o->settings.folder,
                   "folder for the results (NAME.sweep); points that are there do not run again")
      ->check(not_empty);
  verb->add_flag("--retry", o->settings.retry, "run points that failed earlier again");
  verb->callback([o, &outcome] { outcome.exit_code = sweep(*o); });
}

}  // namespace xpusim::cli
