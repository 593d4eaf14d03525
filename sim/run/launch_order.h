#pragma once

// Which launches of a file wait for which.

#include <cstddef>
#include <vector>

#include "sim/run/workload.h"

namespace xpusim::run {

/// Reads `name` and `after` of a launch that follows `earlier` ones.
void read_order(const config::Node& node, const std::vector<LaunchSpec>& earlier, LaunchSpec& out,
                Diagnostics& problems);

/// A kernel that has the tensor that a collective writes must come after it or before it: problems
/// name the two that may run at the same time.
void check_order(const std::vector<LaunchSpec>& launches, Diagnostics& problems);

/// When launches begin. A kernel has the chips' cores and a collective their network, one at a time
/// each and in the order of the file; beside that a launch begins when those that it comes after
/// have ended. Left out: what kernels and collectives that run at the same time take from each
/// other (bandwidth of the memory, cores that copy); their reports say how much that would be.
class Timeline {
 public:
  explicit Timeline(const std::vector<LaunchSpec>& launches);
  /// When a launch of the file begins, in ns; again for each of the kernels that it became.
  double begin(std::size_t launch) const;
  void end(std::size_t launch, double ns);
  /// All launches once more, when the last has ended.
  void next_round();

 private:
  double& free_of(std::size_t launch) { return launches_[launch].collective ? network_ : cores_; }

  const std::vector<LaunchSpec>& launches_;
  std::vector<double> ends_;  ///< [launch]
  double cores_ = 0, network_ = 0;
};

}  // namespace xpusim::run
