#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/run/runner.h"

namespace xpusim::run {

/// A report that came from a child process.
struct ChildReport {
  std::string text;
  nlohmann::ordered_json json;
  bool wrong_values = false;
  Diagnostics failure;  ///< see Report::failure
};

/// Runs a workload on a machine in a child process of its own.
Expected<ChildReport> run_in_child(const Workload& workload, const RunSettings& settings);

}  // namespace xpusim::run
