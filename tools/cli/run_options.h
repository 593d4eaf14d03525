#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/runner.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace xpusim::cli {

/// The options that run and compare share, as written; `settings` checks them.
struct RunOptions {
  std::string workload;
  std::vector<std::string> machines;
  std::vector<std::string> overrides;
  std::vector<std::string> dumps;  ///< tensor=file.npy
  std::string values = "on", caches = "cold", clock = "auto", from, trace, json, html;
  std::optional<std::int64_t> num_warps, num_stages;
  int loop = 1;

  void add_to(CLI::App& app);
  Expected<run::RunSettings> settings(const std::string& machine) const;
  /// Whether the files to write can be written, before anything runs.
  Expected<void> check_outputs() const;
  /// Whether a file is the launch file itself.
  bool is_workload(const std::string& file) const;
};

/// The exit code for problems of a run: those with a place in what the user wrote are wrong input.
int exit_code(const Diagnostics& problems);

/// For CLI11's check: what is wrong with a text, or "".
std::string not_empty(const std::string& text);

/// Whether two paths, of files that may not exist yet, name one file.
bool same_file(const std::string& a, const std::string& b);

/// Makes an option take one value each time it is given, so that a workload may follow it.
void one_value_each(CLI::Option& option);

/// `--clock`: "auto" or "case" leave the machine's own clock; else a quantity such as 1.755GHz.
Expected<std::optional<std::uint64_t>> parse_clock(const std::string& text);

}  // namespace xpusim::cli
