#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>

#include "sim/run/runner.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

struct ParamsOptions {
  std::string family, machine;
  std::vector<std::string> overrides;
};

/// All parameters of all families, or of one, with their defaults.
int list_defaults(const std::string& only) {
  std::vector<std::string> names;
  for (const auto& f : run::families()) names.push_back(f.name);
  if (!only.empty() && !run::find_family(only)) {
    Diagnostics d;
    d.error({"params", 0, 0}, fmt::format("no family '{}'{}", only, did_you_mean(only, names)));
    print(d);
    return kWrongInput;
  }
  const auto row = [](const auto& path, const auto& value, const auto& unit, const auto& range,
                      const auto& meaning) {
    print(fmt::format("{:<44} {:<14} {:<16} {:<22} {}\n", path, value, unit, range, meaning));
  };
  row("parameter", "default", "unit", "range", "meaning");
  std::set<std::string> printed;  // families share `cost`
  for (const auto& f : run::families()) {
    if (!f.params || (!only.empty() && f.name != only)) continue;
    for (const auto& p : f.params(nullptr))
      if (printed.insert(p.path).second) row(p.path, p.default_value, p.unit, p.range, p.doc);
  }
  return kFine;
}

/// Where a value was written, below the project's folder if it is there.
std::string origin_text(SourcePosition origin) {
  if (origin.file.empty()) return "default";
  const auto relative =
      std::filesystem::path(origin.file).lexically_relative(run::home_directory()).string();
  if (!relative.empty() && !relative.starts_with("..")) origin.file = relative;
  return origin.str();
}

/// The parameters of one machine, with the values that it runs with.
int list_values(const ParamsOptions& options) {
  const auto machine = run::load_machine(options.machine, options.overrides);
  if (!machine) return print(machine.error()), kWrongInput;
  const auto row = [](const auto& path, const auto& value, const auto& origin,
                      const auto& meaning) {
    print(fmt::format("{:<44} {:<16} {:<40} {}\n", path, value, origin, meaning));
  };
  row("parameter", "value", "from", "meaning");
  for (const auto& p : machine->parameters) row(p.path, p.value, origin_text(p.origin), p.doc);
  return kFine;
}

int params(const ParamsOptions& options) {
  if (options.machine.empty() && options.overrides.empty()) return list_defaults(options.family);
  if (!options.machine.empty() && options.family.empty()) return list_values(options);
  Diagnostics d;
  d.error({"params", 0, 0}, options.machine.empty() ? "--set needs a machine: --on h200"
                                                    : "give a family or a machine, not both");
  return print(d), kWrongInput;
}

}  // namespace

void add_params(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand("params", "list every parameter: default, unit, range, meaning");
  auto options = std::make_shared<ParamsOptions>();
  verb->add_option("family", options->family, "only this family: gpu, tpu, ...");
  verb->add_option("--on", options->machine,
                   "the values that this machine runs with, and where each was written")
      ->check(not_empty);
  one_value_each(*verb->add_option("--set", options->overrides,
                                   "override a value of that machine; may be repeated"));
  verb->callback([options, &outcome] { outcome.exit_code = params(*options); });
}

}  // namespace xpusim::cli
