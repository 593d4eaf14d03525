#pragma once

#include <string>
#include <vector>

#include "sim/run/runner.h"

namespace CLI {
class App;
}

namespace xpusim::cli {

/// The options that run and compare share, as written; `settings` checks them.
struct RunOptions {
  std::string workload;
  std::vector<std::string> machines;
  std::vector<std::string> overrides;
  std::string values = "on", caches = "cold", clock = "auto", from, trace, json;
  int loop = 1;

  void add_to(CLI::App& app);
  Expected<run::RunSettings> settings(const std::string& machine) const;
};

/// The exit code for problems of a run: those with a place in what the user wrote are wrong input.
int exit_code(const Diagnostics& problems);

/// `--clock`: "auto" or "case" leave the machine's own clock; else a quantity such as 1.755GHz.
Expected<std::optional<std::uint64_t>> parse_clock(const std::string& text);

}  // namespace xpusim::cli
