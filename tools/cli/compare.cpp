#include <CLI/CLI.hpp>

#include "sim/run/child_run.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

int compare(const RunOptions& options) {
  if (auto ok = options.check_outputs(); !ok) return print(ok.error()), kWrongInput;
  auto workload = run::load_workload(options.workload);
  if (!workload) return print(workload.error()), kWrongInput;
  std::vector<nlohmann::ordered_json> reports;
  bool wrong = false;
  for (const auto& machine : options.machines) {
    auto settings = options.settings(machine);
    if (!settings) return print(settings.error()), kWrongInput;
    auto report = run::run_in_child(*workload, *settings);
    if (!report) return print(report.error()), exit_code(report.error());
    if (!report->failure.empty()) return print(report->failure), kRunFailed;
    wrong |= report->wrong_values;
    reports.push_back(std::move(report->json));
  }
  print(run::compare_text(reports));
  if (!options.json.empty()) {
    const nlohmann::ordered_json all = {{"schema", "xpusim.comparison/1"}, {"reports", reports}};
    if (auto w = run::write_atomically(options.json, all.dump(2) + "\n"); !w)
      return print(w.error()), kWrongInput;
  }
  return wrong ? kRunFailed : kFine;
}

}  // namespace

void add_compare(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand("compare", "run a workload on several machines, side by side");
  auto options = std::make_shared<RunOptions>();
  options->add_to(*verb);
  verb->callback([options, &outcome] { outcome.exit_code = compare(*options); });
}

}  // namespace xpusim::cli
