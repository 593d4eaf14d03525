#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace xpusim::exec {

/// A set of integers as sorted, disjoint ranges [begin, end): the elements of a buffer that
/// something has written.
class Intervals {
 public:
  void add(std::int64_t begin, std::int64_t end);
  bool contains(std::int64_t begin, std::int64_t end) const;
  void clear() { ranges_.clear(); }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;
};

}  // namespace xpusim::exec
