#include "sim/run/tune.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sim/run/sweep_run.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/sweep_progress.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

struct Options {
  std::string values = "off", caches = "cold", clock = "auto", json;
  run::TuneSettings tune;
  run::SweepSettings sweep;
};

Expected<run::SweepPlan> plan_of(Options& o) {
  if (!o.json.empty())
    if (auto ok = run::check_writable(o.json); !ok) return fail(ok.error());
  auto hz = parse_clock(o.clock);
  if (!hz) return fail(hz.error());
  o.tune.clock_hz = *hz;
  o.tune.values = o.values == "on";
  o.tune.warm_caches = o.caches == "warm";
  auto sweep = run::tuning_sweep(o.tune);
  if (!sweep) return fail(sweep.error());
  if (o.sweep.folder.empty()) o.sweep.folder = sweep->name + ".tune";
  return run::SweepPlan::make(std::move(*sweep));
}

int tune(Options& o) {
  auto plan = plan_of(o);
  if (!plan) return print(plan.error()), kWrongInput;
  SweepProgressLine line;
  auto results = run::run_sweep(*plan, o.sweep, [&](const auto& p) { line.show(p); });
  end_progress();
  if (!results) return print(results.error()), kWrongInput;
  const auto tuning = run::tuning_of(*results);
  print(run::to_text(tuning));
  print("\n" + run::trust_text(*plan));
  print(fmt::format("{} runs, {} of them from {}\n", results->rows.size(), line.earlier(),
                    o.sweep.folder));
  if (!o.json.empty())
    if (auto w = run::write_atomically(o.json, run::to_json(tuning).dump(1) + "\n"); !w)
      return print(w.error()), kWrongInput;
  for (const auto& table : tuning.tables)
    if (!table.fastest()) return kRunFailed;
  return kFine;
}

}  // namespace

void add_tune(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand(
      "tune", "run a launch file's variants at several sizes: which schedule is fastest, and why");
  auto o = std::make_shared<Options>();
  verb->add_option("workload", o->tune.workload, "launch file with variants")->required();
  one_value_each(
      *verb->add_option("--on", o->tune.machines, "machine; may be repeated")->required());
  one_value_each(*verb->add_option(
      "--size", o->tune.sizes,
      "problem sizes: n=1024,4096 (an argument, or a path as in a sweep's grid); 'm=64,128 "
      "n=64,128' change together; several --size multiply. Default: the launch file's sizes"));
  one_value_each(*verb->add_option("--set", o->tune.overrides,
                                   "override a configuration value; may be repeated"));
  verb->add_option("--jobs", o->sweep.jobs, "simulations at a time (1)")->check(CLI::Range(1, 256));
  verb->add_option("--values", o->values,
                   "off (default): only what addresses need; on: compute and check values")
      ->check(CLI::IsMember({"on", "off"}));
  verb->add_option("--caches", o->caches, "before the first launch: cold (default) or warm")
      ->check(CLI::IsMember({"cold", "warm"}));
  verb->add_option(
      "--clock", o->clock,
      "core clock: auto (default), the machine's own as far as the launch's work and power "
      "allow; or one such as 1.755GHz");
  verb->add_option("--from", o->tune.from, "kernel form: ttir, ttgir or mlir")->check(not_empty);
  verb->add_option("--loop", o->tune.loop, "rounds of all launches (1), back to back")
      ->check(CLI::Range(1, 1000000));
  verb->add_option("--json", o->json, "write the tables as JSON to this file")->check(not_empty);
  verb->add_option("--out", o->sweep.folder,
                   "folder for results (NAME.tune): what is there does not run again")
      ->check(not_empty);
  verb->add_flag("--retry", o->sweep.retry, "run what failed earlier again");
  verb->callback([o, &outcome] { outcome.exit_code = tune(*o); });
}

}  // namespace xpusim::cli
