#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

#include "sim/config/diagnostics.h"
#include "sim/run/tool.h"
#include "tools/cli/console.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

/// What is wrong with the command line, and the exit code; help and version are nothing wrong.
int refuse(const CLI::App& app, const CLI::ParseError& e, const std::vector<std::string>& words) {
  if (e.get_exit_code() == 0) return app.exit(e), kFine;
  std::string message = e.what();
  std::vector<std::string> verbs;
  for (const auto* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  const bool names_verb =
      std::find(verbs.begin(), verbs.end(), words.empty() ? "" : words[0]) != verbs.end();
  if (!words.empty() && words[0][0] != '-' && !names_verb)
    message = "no verb '" + words[0] + "'" + did_you_mean(words[0], verbs);
  Diagnostics d;
  d.error({"command line", 0, 0}, message + " (xpusim --help lists what there is)");
  print(d);
  return kWrongInput;
}

int run_command_line(int argc, char** argv) {
  register_machines();
  CLI::App app{
      "xpusim: a cycle-level simulator of TPUs and GPUs that runs real compiler output.\n"
      "Exit codes: 0 fine, 1 the run failed, 2 the input is wrong."};
  app.require_subcommand(1);
  app.set_version_flag("--version", run::kTool);
  Outcome outcome;
  add_run(app, outcome);
  add_compare(app, outcome);
  add_sweep(app, outcome);
  add_collect(app, outcome);
  add_tune(app, outcome);
  add_correlate(app, outcome);
  add_explain(app, outcome);
  add_view(app, outcome);
  add_check(app, outcome);
  add_params(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return refuse(app, e, {argv + 1, argv + argc});
  }
  return all_is_printed() ? outcome.exit_code : kRunFailed;
}

}  // namespace
}  // namespace xpusim::cli

int main(int argc, char** argv) {
  try {
    return xpusim::cli::run_command_line(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: internal error: %s\n", e.what());
    return xpusim::cli::kRunFailed;
  }
}
