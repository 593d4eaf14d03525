#pragma once

// Which schedule is fastest at which problem size: a sweep over a launch file's variants and sizes,
// and a table a size of what came out.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/run/sweep_plan.h"
#include "sim/run/sweep_row.h"

namespace xpusim::run {

struct TuneSettings {
  std::string workload;  ///< launch file
  std::vector<std::string> machines;
  std::vector<std::string> overrides;
  /// Each is one direction of the grid of sizes: "n=1024,4096", or several parameters that change
  /// together, "m=64,128 n=64,128". None: the launch file's `sizes`, or its own size.
  std::vector<std::string> sizes;
  bool values = false;
  bool warm_caches = false;
  std::optional<std::uint64_t> clock_hz;
  std::string from;
  int loop = 1;
};

/// The sweep that measures every schedule at every size.
Expected<Sweep> tuning_sweep(const TuneSettings& settings);

/// A schedule at one size.
struct TunedSchedule {
  std::string name;
  const SweepRow* row = nullptr;
  double ratio = 0;  ///< its time over that of the fastest; 0 if it did not run
};

/// The schedules of one size on one machine, the fastest first, those that did not run last.
struct TuneTable {
  std::string machine, size;  ///< size: "n=4096", or "" where there is but one
  std::vector<TunedSchedule> schedules;

  const TunedSchedule* fastest() const;  ///< null if none ran
};

/// A schedule's time over the fastest one's, over all sizes of a machine at which both ran.
struct ScheduleOverSizes {
  std::string name;
  double mean_ratio = 0;  ///< geometric
  double worst_ratio = 0;
  std::string worst_size;
};

/// What a sweep over schedules says. It points into the results, which must outlive it.
struct Tuning {
  const SweepResults* results = nullptr;
  std::vector<TuneTable> tables;  ///< machines slowest, sizes in the order of the grid
};

/// How far each machine's times were off when they were compared with measured ones, a line a
/// machine and kind of kernel.
std::string trust_text(const SweepPlan& plan);

Tuning tuning_of(const SweepResults& results);

/// The schedules that ran at every size of a machine, by their mean.
std::vector<ScheduleOverSizes> over_sizes(const Tuning& tuning, const std::string& machine);

nlohmann::ordered_json to_json(const Tuning& tuning);
std::string to_text(const Tuning& tuning);

}  // namespace xpusim::run
