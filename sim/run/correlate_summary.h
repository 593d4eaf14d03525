#pragma once

// What the cases of a correlation say together, and how that is written down.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/correlate.h"

namespace xpusim::run {

/// Absolute errors, in per cent of what was measured.
struct ErrorSummary {
  int cases = 0;
  double mean = 0, median = 0, worst = 0;
  std::string worst_case;
  double shortest_ns = 0, longest_ns = 0;  ///< measured times of these cases
};

/// The alternatives of one problem (a kernel on the same arguments with the same work).
struct ProblemRank {
  std::string kernel;
  int cases = 0;
  int pairs = 0;                ///< whose measured times differ by over 3 %
  std::optional<double> tau;    ///< Kendall's, over these pairs; none without a pair
  double regret_pct = 0;        ///< how much longer the picked one really takes than the fastest
  std::string picked, fastest;  ///< cases: fastest as simulated, and as measured
};

/// Over the counted cases: gated ones with a measurement that ran; a group counts once, by its
/// mean.
struct Summary {
  int total = 0, ok = 0, skipped = 0, failed = 0, counted = 0;
  std::optional<double> mean_abs_error_pct, median_abs_error_pct, worst_abs_error_pct;
  std::string worst_case;
  std::map<std::string, ErrorSummary> by_kernel, by_kind;  ///< kinds: kind_of_kernel
  std::map<std::string, ErrorSummary> by_counter;          ///< cases that measured more than 0
  std::optional<double> mean_of_kernels_pct;
  std::vector<ProblemRank> problems;  ///< with several cases
  std::optional<double> kendall_tau;  ///< mean over problems that have a pair
  std::optional<double> regret_pct;   ///< mean over problems
  double instructions_per_s = 0;      ///< sum over sum
};

Summary summarize(const std::vector<CaseResult>& results);

nlohmann::ordered_json to_json(const std::vector<CaseResult>& results, const Summary& summary);
std::string to_text(const std::vector<CaseResult>& results, const Summary& summary);

}  // namespace xpusim::run
