#pragma once

// Cases files: measured references (what real chips did), read by `correlate`.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/workload.h"

namespace xpusim::run {

/// How a case's simulated time comes from its kernels.
enum class Measure {
  kSingle,  ///< one kernel
  kSlope,   ///< (second - first) / 16
  kBest,    ///< the fastest of the listed schedules
};

/// One measured launch (GPU) or one measured kernel with its schedules (TPU), as a workload each.
struct Case {
  std::string name;
  std::string kernel;   ///< for the mean by kernel
  std::string problem;  ///< cases of one problem (kernel, arguments and work) are
                        ///< alternatives: for tau and regret
  std::string machine;  ///< "" unless the file names one
  std::string group;    ///< cases of one group count once, by their mean
  bool gate = true;     ///< false: shown, not counted
  Measure measure = Measure::kSingle;
  std::vector<Workload> workloads;  ///< one a kernel
  std::optional<double> measured_ns;
  /// Of the host, in the measured time: calls that do not overlap. Is added to the simulated time.
  double host_ns = 0;
  std::optional<double> clock_hz;          ///< the clock of the measurement (cycles / duration)
  bool steady_loop = false;                ///< measured in launches back to back: with warm caches
  std::map<std::string, double> counters;  ///< measured; with clock_mhz, energy_uj where known
};

/// Reads a cases file; the wrong parts of every case are named with the case.
Expected<std::vector<Case>> load_cases(const std::string& path);

}  // namespace xpusim::run
