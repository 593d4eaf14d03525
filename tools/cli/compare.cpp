#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/run/child_run.h"
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

int compare(const RunOptions& options) {
  if (auto ok = options.check_outputs(); !ok) return print(ok.error()), kWrongInput;
  auto workload = run::load_workload(options.workload);
  if (!workload) return print(workload.error()), kWrongInput;
  auto overrides = share_overrides(options);
  if (!overrides) return print(overrides.error()), kWrongInput;
  std::vector<nlohmann::ordered_json> reports;
  bool wrong = false;
  for (std::size_t m = 0; m < options.machines.size(); ++m) {
    auto settings = options.settings(options.machines[m]);
    if (!settings) return print(settings.error()), kWrongInput;
    settings->overrides = (*overrides)[m];
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
