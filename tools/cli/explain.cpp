#include <CLI/CLI.hpp>
#include <memory>

#include "sim/run/runner.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

struct ExplainOptions : RunOptions {
  bool bundles = false;
};

int explain(const ExplainOptions& options) {
  if (options.machines.size() != 1) {
    Diagnostics d;
    d.error({"--on", 0, 0}, "explain takes one machine");
    return print(d), kWrongInput;
  }
  auto settings = options.settings(options.machines[0]);
  if (!settings) return print(settings.error()), kWrongInput;
  settings->listing = options.bundles ? run::Listing::kAll : run::Listing::kLines;
  auto workload = run::load_workload(options.workload);
  if (!workload) return print(workload.error()), kWrongInput;
  auto text = run::in_child([&]() -> Expected<std::string> {
    auto report = run::run_workload(*workload, *settings);
    if (!report) return fail(report.error());
    if (!report->failure.empty()) return fail(report->failure);
    std::string all;
    for (const auto& launch : report->launches) all += launch.machine.listing + '\n';
    return all;
  });
  if (!text) return print(text.error()), exit_code(text.error());
  print(*text);
  return kFine;
}

}  // namespace

void add_explain(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand(
      "explain", "run a workload and tell, by source line, what code it became and how that ran");
  auto options = std::make_shared<ExplainOptions>();
  options->add_to(*verb);
  verb->add_flag("--bundles", options->bundles,
                 "list every instruction of a GPU's program, every bundle of a TPU's, too");
  verb->callback([options, &outcome] { outcome.exit_code = explain(*options); });
}

}  // namespace xpusim::cli
