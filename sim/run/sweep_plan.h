#pragma once

#include <string>
#include <vector>

#include "sim/run/runner.h"
#include "sim/run/sweep.h"

namespace xpusim::run {

/// A point of a sweep, as results name it.
struct PlannedPoint {
  /// Hash of the resolved configuration, the launch file with the point's values, its kernels'
  /// texts and data, the settings of the run, the tool's version and its executable.
  std::string id;
  std::string workload, machine;    ///< their names
  std::vector<std::string> values;  ///< of Sweep::parameters(), as written
};

/// A sweep whose files have been read and whose points have all been checked: each one's machine
/// can be made, its launch file is right and its kernels are there. What only binding or running
/// a launch can tell (an argument's divisibility, what fits an SM) is found when the point runs.
class SweepPlan {
 public:
  static Expected<SweepPlan> make(Sweep sweep);

  const Sweep& sweep() const { return sweep_; }
  const std::vector<PlannedPoint>& points() const { return points_; }

  /// A point's machine and workload.
  struct Ready {
    LoadedMachine machine;
    Workload workload;
  };
  Expected<Ready> ready(std::size_t index) const;
  RunSettings settings() const;

 private:
  struct MachineFile {
    std::string path;
    config::Node config;
  };
  struct LaunchFile {
    std::string path;
    config::Node root;
  };

  explicit SweepPlan(Sweep sweep) : sweep_(std::move(sweep)) {}
  Expected<void> read_files();
  Expected<void> check_points();
  Expected<void> check_names() const;
  Expected<Ready> ready(const SweepPoint& point, std::string* content) const;

  Sweep sweep_;
  std::vector<MachineFile> machines_;
  std::vector<LaunchFile> launch_files_;
  std::vector<PlannedPoint> points_;
};

}  // namespace xpusim::run
