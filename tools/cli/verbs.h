#pragma once

// One function a verb: it adds its options to the command line and says what to do when it is
// called.

namespace CLI {
class App;
}

namespace xpusim::cli {

/// The exit code of the verb that ran.
struct Outcome {
  int exit_code = 0;
};

void add_run(CLI::App& app, Outcome& outcome);
void add_compare(CLI::App& app, Outcome& outcome);
void add_sweep(CLI::App& app, Outcome& outcome);
void add_collect(CLI::App& app, Outcome& outcome);
void add_tune(CLI::App& app, Outcome& outcome);
void add_correlate(CLI::App& app, Outcome& outcome);
void add_explain(CLI::App& app, Outcome& outcome);
void add_view(CLI::App& app, Outcome& outcome);
void add_check(CLI::App& app, Outcome& outcome);
void add_params(CLI::App& app, Outcome& outcome);

void register_machines();

}  // namespace xpusim::cli
