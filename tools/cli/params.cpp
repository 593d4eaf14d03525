#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sim/run/machine.h"
#include "tools/cli/console.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

int params(const std::string& only) {
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
  for (const auto& f : run::families()) {
    if (!f.params || (!only.empty() && f.name != only)) continue;
    for (const auto& p : f.params()) row(p.path, p.default_value, p.unit, p.range, p.doc);
  }
  return kFine;
}

}  // namespace

void add_params(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand("params", "list every parameter: default, unit, range, meaning");
  auto family = std::make_shared<std::string>();
  verb->add_option("family", *family, "only this family: gpu, tpu, ...");
  verb->callback([family, &outcome] { outcome.exit_code = params(*family); });
}

}  // namespace xpusim::cli
