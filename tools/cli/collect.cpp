#include "sim/run/collect.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sim/run/results.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

struct Options {
  std::string folder, csv, json, svg;
  run::PlotChoice plot;
};

Expected<void> check(const Options& o) {
  for (const auto& file : {o.csv, o.json, o.svg})
    if (!file.empty())
      if (auto ok = run::check_writable(file); !ok) return fail(ok.error());
  if (o.svg.empty() && !(o.plot.x.empty() && o.plot.y.empty()))
    return fail({"--svg", 0, 0}, "--x and --y need a file for the plot: --svg F");
  if (!o.svg.empty() && (o.plot.x.empty() || o.plot.y.empty()))
    return fail({"--svg", 0, 0}, "a plot needs --x and --y, such as --x gpu.sm.count --y time_ns");
  return {};
}

Expected<void> collect(const Options& o) {
  if (auto ok = check(o); !ok) return fail(ok.error());
  auto store = run::ResultStore::open(o.folder);
  if (!store) return fail(store.error());
  auto results = store->read();
  if (!results) return fail(results.error());
  if (!o.svg.empty()) {
    auto plot = run::make_plot(*results, o.plot);
    if (!plot) return fail(plot.error());
    if (auto w = run::write_atomically(o.svg, run::to_svg(*plot)); !w) return fail(w.error());
  }
  if (!o.csv.empty())
    if (auto w = run::write_atomically(o.csv, run::to_csv(*results)); !w) return fail(w.error());
  if (!o.json.empty())
    if (auto w = run::write_atomically(o.json, run::to_json(*results).dump(1) + "\n"); !w)
      return fail(w.error());
  if (o.csv.empty() && o.json.empty() && o.svg.empty()) print(run::to_text(*results));
  return {};
}

int collected(const Options& o) {
  if (auto ok = collect(o); !ok) return print(ok.error()), kWrongInput;
  return kFine;
}

}  // namespace

void add_collect(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand("collect", "print a sweep's results, or write them to files");
  auto o = std::make_shared<Options>();
  verb->add_option("folder", o->folder, "the sweep's --out folder")->required();
  verb->add_option("--csv", o->csv, "write one row a point to this file")->check(not_empty);
  verb->add_option("--json", o->json, "the same as JSON")->check(not_empty);
  verb->add_option("--svg", o->svg, "draw a plot into this file")->check(not_empty);
  verb->add_option("--x", o->plot.x, "column of the x axis: a parameter (gpu.sm.count), ...");
  verb->add_option("--y", o->plot.y, "column of the y axis: time_ns, hbm_gbs, energy_uj, ...");
  one_value_each(
      *verb->add_option("--by", o->plot.by, "column that tells the lines apart; may be repeated"));
  one_value_each(*verb->add_option("--where", o->plot.where,
                                   "plot only these rows: workload=softmax; may be repeated"));
  verb->callback([o, &outcome] { outcome.exit_code = collected(*o); });
}

}  // namespace xpusim::cli
