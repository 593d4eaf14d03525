#include "sim/exec/intervals.h"

#include <algorithm>

namespace xpusim::exec {

void Intervals::add(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  // All ranges that overlap or touch the new one grow into it.
  const auto first = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [&](const auto& r) { return r.second < begin; });
  const auto last =
      std::partition_point(first, ranges_.end(), [&](const auto& r) { return r.first <= end; });
  if (first == last) {
    ranges_.insert(first, {begin, end});
    return;
  }
  first->first = std::min(first->first, begin);
  first->second = std::max((last - 1)->second, end);
  ranges_.erase(first + 1, last);
}

bool Intervals::contains(std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return true;
  const auto it = std::partition_point(ranges_.begin(), ranges_.end(),
                                       [&](const auto& r) { return r.second <= begin; });
  return it != ranges_.end() && it->first <= begin && end <= it->second;
}

}  // namespace xpusim::exec
