#pragma once

// Simulated against measured: every case of a cases file, its error, and the summary.

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

struct CaseResult {
  std::string name, kernel, problem, group;
  bool gate = true;
  CaseStatus status = CaseStatus::kFailed;
  std::string reason;
  std::optional<double> measured_ns, simulated_ns;
  /// Measured and simulated, of the counters that both know.
  std::map<std::string, std::pair<double, double>> counters;
  double wall_s = 0;
  double instructions = 0;  ///< simulated warp instructions or bundles
  std::string machine;
  ParameterValues parameters;  ///< of the machine
  std::set<std::string> ops;   ///< kinds of ops that its kernels have

  /// Signed, in per cent of the measured time; none without a measurement.
  std::optional<double> error_pct() const;
};

/// Over the counted cases: gated ones with a measurement that ran; a group counts once, by its
/// mean.
struct Summary {
  int total = 0, ok = 0, skipped = 0, failed = 0, counted = 0;
  std::optional<double> mean_abs_error_pct, median_abs_error_pct, worst_abs_error_pct;
  std::string worst_case;
  std::map<std::string, double> by_kernel;  ///< mean absolute error
  std::optional<double> mean_of_kernels_pct;
  std::optional<double> kendall_tau;  ///< mean over problems, pairs that differ by over 3 %
  std::optional<double> regret_pct;   ///< mean over problems: picked against best schedule
  double instructions_per_s = 0;      ///< sum over sum
};

Summary summarize(const std::vector<CaseResult>& results);

/// Runs the cases, a child process each. `progress` is called as each ends.
Expected<std::vector<CaseResult>> correlate(
    const std::string& path, const CorrelateSettings& settings,
    const std::function<void(const CaseResult&, std::size_t done, std::size_t all)>& progress);

nlohmann::ordered_json to_json(const std::vector<CaseResult>& results, const Summary& summary);
std::string to_text(const std::vector<CaseResult>& results, const Summary& summary);

}  // namespace xpusim::run
