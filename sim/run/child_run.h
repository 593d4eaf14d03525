#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/run/runner.h"

namespace xpusim::run {

/// A report that came from a child process.
struct ChildReport {
  std::string text;
  nlohmann::ordered_json json;
  bool wrong_values = false;
  Diagnostics failure;   ///< see Report::failure
  bool refused = false;  ///< see Report::refused
};

/// A workload to run on a machine.
struct ChildWork {
  const Workload* workload = nullptr;
  const RunSettings* settings = nullptr;
};

/// Runs a workload on a machine in a child process of its own.
Expected<ChildReport> run_in_child(const Workload& workload, const RunSettings& settings);

/// Runs them, at most `jobs` at a time, a child process each; `done` is called as each ends, with
/// its index.
void run_in_children(const std::vector<ChildWork>& work, int jobs,
                     const std::function<void(std::size_t, Expected<ChildReport>)>& done);

}  // namespace xpusim::run
