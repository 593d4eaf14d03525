#pragma once

// Simulated against measured: runs every case of a cases file.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/run/cases.h"
#include "sim/run/runner.h"
#include "sim/run/trust.h"

namespace xpusim::run {

struct CorrelateSettings {
  std::string machine;  ///< --on; "" leaves it to the cases
  std::vector<std::string> overrides;
  std::string only;  ///< regular expression, searched anywhere in the name
  int jobs = 1;
  bool case_clock = true;  ///< run at the clock of the measurement
  bool values = false;
  std::string from;
};

enum class CaseStatus { kOk, kSkipped, kFailed };
const char* name(CaseStatus status);

struct CaseResult {
  std::string name, kernel, problem, group;
  bool gate = true;
  CaseStatus status = CaseStatus::kFailed;
  std::string reason;
  std::optional<double> measured_ns, simulated_ns;
  /// Measured and simulated, of the counters that both know.
  std::map<std::string, std::pair<double, double>> counters;
  std::vector<LedgerEntry> ledger;  ///< of the run that the time is of
  double wall_s = 0;
  double instructions = 0;  ///< simulated warp instructions or bundles
  std::string machine;
  ParameterValues parameters;  ///< of the machine
  std::set<std::string> ops;   ///< kinds of ops that its kernels have
  std::string collective;      ///< what it is instead of kernels; "": it has kernels

  /// What it counts with, as LaunchResult::kind; "": not known.
  std::string kind() const;
  /// Signed, in per cent of the measured time; none without a measurement.
  std::optional<double> error_pct() const;
};

/// Runs the cases, a child process each. `progress` is called as each ends.
Expected<std::vector<CaseResult>> correlate(
    const std::string& path, const CorrelateSettings& settings,
    const std::function<void(const CaseResult&, std::size_t done, std::size_t all)>& progress);

}  // namespace xpusim::run
