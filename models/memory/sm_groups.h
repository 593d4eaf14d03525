#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace xpusim::memory {

/// How SMs stand together: pairs (TPCs) in groups (GPCs), of as many pairs as the chip's shares
/// allow, the first groups one more. SMs are numbered in the order in which the blocks of a large
/// grid go to them: group after group, pair after pair. (Measured:
/// traces/h200/microbench_rows.jsonl, sm_of_block; there two of a chip's eight GPCs have nine
/// pairs, and four pairs stand alone, which is left out.)
class SmGroups {
 public:
  SmGroups(std::uint32_t sms, std::uint32_t groups)
      : sms_(sms), groups_(std::clamp(groups, 1u, std::max(1u, sms / kPair))) {}

  std::uint32_t sms() const { return sms_; }
  std::uint32_t count() const { return groups_; }
  /// The first SM of a group; of count(), the number of SMs.
  std::uint32_t first(std::uint32_t group) const {
    if (group >= groups_) return sms_;
    const std::uint32_t pairs = sms_ / kPair, more = pairs % groups_;
    return kPair * (group * (pairs / groups_) + std::min(group, more));
  }
  std::uint32_t size(std::uint32_t group) const { return first(group + 1) - first(group); }
  std::uint32_t group_of(std::uint32_t sm) const {
    std::uint32_t group = 0;
    while (first(group + 1) <= sm) ++group;
    return group;
  }

  /// What an SM has of its group's way to the network as a ratio of what all SMs have on average,
  /// where the group's pairs stand in clusters (CPCs) of up to `pairs`, as even as may be, and each
  /// cluster has the same. (Measured: in a group of eight pairs, the four SMs of one cluster do 1.5
  /// times the work of the other twelve; ibid., microbench_streams.jsonl.)
  double share(std::uint32_t sm, std::uint32_t pairs) const {
    const std::uint32_t group = group_of(sm), all = size(group) / kPair;
    if (pairs == 0 || all == 0) return 1;
    const std::uint32_t clusters = (all + pairs - 1) / pairs;
    const std::uint32_t pair = std::min((sm - first(group)) / kPair, all - 1);
    const std::uint32_t larger = all % clusters, fewer = all / clusters;
    const std::uint32_t own = pair < larger * (fewer + 1) ? fewer + 1 : fewer;
    return static_cast<double>(all) / (clusters * own);
  }

  /// The SMs that the blocks of a grid of fewer blocks than SMs go to, in the order of the blocks.
  /// Groups get one block a pair in turn, then the second ones where fewest are; blocks are
  /// numbered group after group (measured for 16 to 132 blocks, ibid.).
  std::vector<std::uint32_t> spread(std::uint32_t blocks) const {
    std::vector<std::uint32_t> counts(groups_, 0);
    while (blocks > 0) {
      std::uint32_t next = 0;
      for (std::uint32_t g = 1; g < groups_; ++g) {
        if (rank(g, counts[g]) < rank(next, counts[next])) next = g;
      }
      ++counts[next];
      --blocks;
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t g = 0; g < groups_; ++g) {
      const std::uint32_t pairs = (size(g) + 1) / kPair;
      const std::uint32_t second = counts[g] > pairs ? counts[g] - pairs : 0;
      for (std::uint32_t p = 0; p < pairs && p < counts[g]; ++p) {
        order.push_back(first(g) + kPair * p);
        if (p < second) order.push_back(first(g) + kPair * p + 1);
      }
    }
    return order;
  }

 private:
  static constexpr std::uint32_t kPair = 2;

  /// What a group's next block comes after: pairs' first blocks before second ones, full groups
  /// last.
  std::uint32_t rank(std::uint32_t group, std::uint32_t taken) const {
    const std::uint32_t pairs = (size(group) + 1) / kPair;
    if (taken >= size(group)) return 3 * sms_;
    return taken < pairs ? taken : sms_ + taken;
  }

  std::uint32_t sms_, groups_;
};

}  // namespace xpusim::memory
