#include <CLI/CLI.hpp>

#include "sim/run/child_run.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

int run(const RunOptions& options) {
  if (options.machines.size() != 1) {
    Diagnostics d;
    d.error({"--on", 0, 0}, "run takes one machine; compare takes several");
    return print(d), kWrongInput;
  }
  auto settings = options.settings(options.machines[0]);
  if (!settings) return print(settings.error()), kWrongInput;
  if (auto ok = options.check_outputs(); !ok) return print(ok.error()), kWrongInput;
  auto workload = run::load_workload(options.workload);
  if (!workload) return print(workload.error()), kWrongInput;
  auto report = run::run_in_child(*workload, *settings);
  if (!report) return print(report.error()), exit_code(report.error());
  if (!report->failure.empty()) return print(report->failure), kRunFailed;
  print(report->text);
  if (!options.json.empty())
    if (auto w = run::write_atomically(options.json, report->json.dump(2) + "\n"); !w)
      return print(w.error()), kWrongInput;
  return report->wrong_values ? kRunFailed : kFine;
}

}  // namespace

void add_run(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand("run", "run a workload on a machine and report");
  auto options = std::make_shared<RunOptions>();
  options->add_to(*verb);
  verb->add_option("--trace", options->trace,
                   "write a trace to this file: .pftrace, for ui.perfetto.dev")
      ->check(not_empty);
  one_value_each(*verb->add_option("--dump", options->dumps,
                                   "write what a tensor holds after the run to a file that NumPy "
                                   "reads: out=out.npy (bf16 and f8 as raw uint16 and uint8); may "
                                   "be repeated")
                      ->check(not_empty));
  verb->callback([options, &outcome] { outcome.exit_code = run(*options); });
}

}  // namespace xpusim::cli
