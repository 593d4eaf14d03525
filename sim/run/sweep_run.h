#pragma once

#include <functional>
#include <string>

#include "sim/run/sweep_plan.h"
#include "sim/run/sweep_row.h"

namespace xpusim::run {

struct SweepSettings {
  std::string folder;  ///< for results; made if it is not there
  int jobs = 1;
  bool retry = false;  ///< run failed points again
};

/// How far a sweep is.
struct SweepProgress {
  std::size_t points = 0;    ///< of the whole sweep
  std::size_t finished = 0;  ///< earlier or now
  std::size_t ran = 0;       ///< now
  std::size_t to_run = 0;    ///< now
  std::size_t failed = 0;    ///< earlier or now
};

/// Runs the points that have no result yet, a child process each, and returns all rows. Only this
/// process writes results, each as its point ends: a SIGKILL loses the points in flight. Children
/// die with it.
Expected<SweepResults> run_sweep(const SweepPlan& plan, const SweepSettings& settings,
                                 const std::function<void(const SweepProgress&)>& progress);

/// For people: how many points ended how, and for each workload and machine the mean and the range
/// of the times of those that are fine; then the failed ones with their reasons.
std::string summary_text(const SweepResults& results);

}  // namespace xpusim::run
