#pragma once

#include <cstddef>
#include <vector>

#include "sim/engine/scheduler.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// How far a domain may run before another could still send to it.
class Lookahead {
 public:
  /// From the links of these domains, at the fastest rates that their clocks are allowed.
  explicit Lookahead(const std::vector<Scheduler*>& domains);

  /// The earliest time at which a message that is not sent yet can arrive in domain d, if domain i
  /// acts at due[i] and not before unless a message makes it.
  Femto limit(std::size_t d, const std::vector<Femto>& due) const {
    Femto first = kEndOfTime;
    for (std::size_t i = 0; i < due.size(); ++i) {
      const Femto arrival = add(due[i], way(i, d));
      if (arrival < first) first = arrival;
    }
    return first;
  }

 private:
  static Femto add(Femto a, Femto b) { return a > kEndOfTime - b ? kEndOfTime : a + b; }
  Femto way(std::size_t from, std::size_t to) const { return ways_[to * count_ + from]; }

  std::size_t count_;
  std::vector<Femto> ways_;  ///< shortest time over one or more links; [i][i] is a round trip
};

}  // namespace xpusim::engine
