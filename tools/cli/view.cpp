#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/run/runner.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"
#include "tools/viewer/page.h"

namespace xpusim::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options : RunOptions {
  std::string out;
  std::optional<std::uint64_t> first_cycle;
  std::uint64_t cycles = 20'000;
  std::uint32_t sm = 0;
  std::size_t launch = 1;
};

/// What a page was made of, from the process that made it.
struct Made {
  std::string page, report, said;
  bool wrong_values = false;
  Diagnostics failure;  ///< see run::Report::failure
};

std::string said(const run::Report& report, const Json& data, const std::string& out) {
  const Json& r = data["recording"];
  std::string text = fmt::format(
      "{}: {} on {}, launch {} of {}: {} {} of {}, cycles {} to {} of {}\n", out,
      r["kernel"].get<std::string>(), report.machine, data["launch"]["number"].get<int>(),
      data["launch"]["of"].get<int>(), r["unit"]["name"].get<std::string>(),
      r["unit"]["number"].get<int>(), r["unit"]["of"].get<int>(),
      r["first_cycle"].get<std::uint64_t>(), r["end_cycle"].get<std::uint64_t>(),
      data["report"]["cycles"].get<std::uint64_t>());
  if (r["cut"].get<bool>()) text += "the window ends early: a page has room for so much\n";
  for (const auto& c : report.checks)
    if (!c.right) text += fmt::format("{} has wrong values (run says more)\n", c.tensor);
  return text;
}

/// In a child process: SystemC has one system a process.
Expected<Made> make_page(const run::Workload& workload, const run::RunSettings& settings,
                         const std::string& out) {
  auto outcome = run::in_child([&]() -> Expected<std::string> {
    auto report = run::run_workload(workload, settings);
    if (!report) return fail(report.error());
    Json made{{"failure", run::pack_diagnostics(report->failure)}};
    if (report->failure.empty()) {
      bool wrong = false;
      for (const auto& c : report->checks) wrong |= !c.right;
      const Json data = viewer::view_data(*report, settings.recorded, workload.launches.size());
      made["page"] = viewer::page(data);
      made["report"] = run::to_json(*report).dump(2) + "\n";
      made["said"] = said(*report, data, out);
      made["wrong"] = wrong;
    }
    return made.dump(-1, ' ', false, Json::error_handler_t::replace);
  });
  if (!outcome) return fail(outcome.error());
  const Json j = Json::parse(*outcome);
  return Made{j.value("page", ""), j.value("report", ""), j.value("said", ""),
              j.value("wrong", false), run::unpack_diagnostics(j["failure"].get<std::string>())};
}

Expected<void> check_outputs(const Options& o) {
  if (auto ok = run::check_writable(o.out); !ok) return ok;
  if (auto ok = o.check_outputs(); !ok) return ok;
  if (o.is_workload(o.out)) {
    return fail({o.out, 0, 0}, "this is the workload, which would be overwritten");
  }
  if (!o.json.empty() && same_file(o.json, o.out))
    return fail({o.out, 0, 0}, "two things to write cannot be one file");
  return {};
}

/// A launch that failed is a failed run, but for options that only it can judge.
int code_of_failure(const Diagnostics& problems) {
  for (const auto& d : problems.list())
    if (!d.where.file.starts_with("--")) return kRunFailed;
  return kWrongInput;
}

int view(Options& o) {
  if (o.machines.size() != 1) {
    Diagnostics d;
    d.error({"--on", 0, 0}, "view takes one machine");
    return print(d), kWrongInput;
  }
  auto settings = o.settings(o.machines[0]);
  if (!settings) return print(settings.error()), kWrongInput;
  settings->record = run::RecordRequest{o.sm, o.first_cycle, o.cycles};
  settings->recorded = o.launch - 1;
  auto workload = run::load_workload(o.workload);
  if (!workload) return print(workload.error()), kWrongInput;
  if (o.out.empty()) {
    o.out = workload->name + ".html";
    std::replace(o.out.begin(), o.out.end(), '/', '_');
  }
  if (auto ok = check_outputs(o); !ok) return print(ok.error()), kWrongInput;
  auto made = make_page(*workload, *settings, o.out);
  if (!made) return print(made.error()), exit_code(made.error());
  if (!made->failure.empty()) return print(made->failure), code_of_failure(made->failure);
  if (auto w = run::write_atomically(o.out, made->page); !w) return print(w.error()), kWrongInput;
  if (!o.json.empty())
    if (auto w = run::write_atomically(o.json, made->report); !w)
      return print(w.error()), kWrongInput;
  print(made->said);
  return made->wrong_values ? kRunFailed : kFine;
}

}  // namespace

void add_view(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand(
      "view", "run a workload on a machine and write a page that shows what its SM or core did");
  auto o = std::make_shared<Options>();
  o->add_to(*verb);
  verb->add_option("--out", o->out, "the page (the workload's name with .html)")->check(not_empty);
  verb->add_option("--launch", o->launch, "which launch of the workload, from 1 (1)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
  verb->add_option("--sm,--core", o->sm, "which SM or core, from 0 (0)")
      ->check(CLI::Range(0, 1'000'000));
  verb->add_option("--at", o->first_cycle,
                   "first cycle that is shown (an SM: when it gets its first block; a core: its "
                   "first bundle's)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 32));
  verb->add_option("--cycles", o->cycles, "how many cycles are shown (20000)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}));
  verb->callback([o, &outcome] { outcome.exit_code = view(*o); });
}

}  // namespace xpusim::cli
