#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/scheduler.h"

namespace xpusim::engine {

/// Sees whether a system still gets anywhere, and says who waits for what when it does not.
class Watchdog {
 public:
  explicit Watchdog(const std::vector<Scheduler*>& domains) : domains_(domains) {}

  /// Is asked from time to time; true when since kStall no message was delivered and no worker
  /// completed anything. A system without a worker that counts never stalls in this sense.
  bool stalled(Femto now);
  /// Starts to count time anew.
  void restart(Femto now);
  /// "sm[3] (barrier), l2[1] (fill)": the components that wait, at most a dozen by name.
  std::string waiting() const;

 private:
  struct Progress {
    std::uint64_t done = 0;  ///< messages delivered and work completed
    bool counted = false;    ///< at least one worker counts
  };
  Progress progress() const;

  const std::vector<Scheduler*>& domains_;
  Progress last_;
  Femto since_ = 0;
};

}  // namespace xpusim::engine
