#include <CLI/CLI.hpp>

#include "tools/cli/console.h"
#include "tools/cli/verbs.h"

int main(int argc, char** argv) {
  using namespace xpusim::cli;
  register_machines();
  CLI::App app{
      "xpusim: a cycle-level simulator of TPUs and GPUs that runs real compiler output.\n"
      "Exit codes: 0 fine, 1 the run failed, 2 the input is wrong."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "xpusim 0.1.0");
  Outcome outcome;
  add_run(app, outcome);
  add_compare(app, outcome);
  add_correlate(app, outcome);
  add_params(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const bool asked_for_help = e.get_exit_code() == 0;
    app.exit(e);
    return asked_for_help ? kFine : kWrongInput;
  }
  return outcome.exit_code;
}
