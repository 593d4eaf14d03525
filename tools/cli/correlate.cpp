#include "sim/run/correlate_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "sim/run/report.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

struct Options {
  std::string cases, json, html, values = "off", clock = "case";
  run::CorrelateSettings settings;
};

Expected<void> check_outputs(const Options& o) {
  for (const auto& file : {o.json, o.html})
    if (!file.empty())
      if (auto ok = run::check_writable(file); !ok) return ok;
  if (!o.json.empty() && o.json == o.html)
    return fail({o.json, 0, 0}, "two things to write cannot be one file");
  return {};
}

int correlate(Options& o) {
  if (auto ok = check_outputs(o); !ok) return print(ok.error()), kWrongInput;
  o.settings.values = o.values == "on";
  o.settings.case_clock = o.clock == "case";
  const auto start = std::chrono::steady_clock::now();
  auto results = run::correlate(
      o.cases, o.settings, [&](const run::CaseResult& r, std::size_t done, std::size_t all) {
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
        progress(fmt::format(
            "{}/{} {} ({:.0f} s left)", done, all, r.name,
            wall.count() / static_cast<double>(done) * static_cast<double>(all - done)));
      });
  end_progress();
  if (!results) return print(results.error()), kWrongInput;
  const auto summary = run::summarize(*results);
  print(run::to_text(*results, summary));
  if (!o.json.empty())
    if (auto w = run::write_atomically(o.json, run::to_json(*results, summary).dump(1) + "\n"); !w)
      return print(w.error()), kWrongInput;
  if (!o.html.empty())
    if (auto w = run::write_atomically(o.html, run::to_html(o.cases, *results, summary)); !w)
      return print(w.error()), kWrongInput;
  return summary.failed ? kRunFailed : kFine;
}

}  // namespace

void add_correlate(CLI::App& app, Outcome& outcome) {
  auto* verb =
      app.add_subcommand("correlate", "run measured cases and compare with what real chips did");
  auto o = std::make_shared<Options>();
  verb->add_option("cases", o->cases, "cases file (traces/h200/cases.json, traces/tpu/cases.json)")
      ->required();
  verb->add_option("--on", o->settings.machine, "machine, unless the cases name theirs");
  verb->add_option("--json", o->json, "write cases and summary to this file")->check(not_empty);
  verb->add_option("--html", o->html, "write a page about them to this file")->check(not_empty);
  verb->add_option("--only", o->settings.only,
                   "regular expression, searched anywhere in a case's name");
  verb->add_option("--jobs", o->settings.jobs, "simulations at a time")->check(CLI::Range(1, 256));
  one_value_each(*verb->add_option("--set", o->settings.overrides,
                                   "override a configuration value; may be repeated"));
  verb->add_option("--clock", o->clock,
                   "case (default): the clock of the measurement; auto: the machine's own as "
                   "far as the launch's work and power allow")
      ->check(CLI::IsMember({"case", "auto"}));
  verb->add_option("--values", o->values,
                   "off (default): only what addresses need; on: compute all values")
      ->check(CLI::IsMember({"on", "off"}));
  verb->add_option("--from", o->settings.from, "kernel form: ttir or ttgir");
  verb->callback([o, &outcome] { outcome.exit_code = correlate(*o); });
}

}  // namespace xpusim::cli
