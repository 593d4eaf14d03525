#include "sim/engine/lookahead.h"

#include <algorithm>

namespace xpusim::engine {

Lookahead::Lookahead(const std::vector<Scheduler*>& domains)
    : count_(domains.size()), ways_(count_ * count_, kEndOfTime) {
  for (std::size_t to = 0; to < count_; ++to) {
    for (const Scheduler::Source& source : domains[to]->sources()) {
      const auto at = std::find(domains.begin(), domains.end(), source.from) - domains.begin();
      const Clock fastest(source.from->fastest_hz());
      ways_[to * count_ + at] = fastest.at_least(source.latency);
    }
  }
  for (std::size_t via = 0; via < count_; ++via) {
    for (std::size_t to = 0; to < count_; ++to) {
      for (std::size_t from = 0; from < count_; ++from) {
        Femto& direct = ways_[to * count_ + from];
        direct = std::min(direct, add(way(from, via), way(via, to)));
      }
    }
  }
}

}  // namespace xpusim::engine
