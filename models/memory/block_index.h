#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/prefetch.h"

namespace xpusim::memory {

/// Finds the records of a 512 B block: chains of record numbers by a hash of the block, at least
/// four chains a record, so that records of other blocks are seldom met on the way (each would be
/// a miss in the host's cache). It begins small: what holds few records should take few lines of
/// the host's cache. `Records` finds a record by its number; a record has `block`, and `next` for
/// its chain.
template <class Records>
class BlockIndex {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  BlockIndex() : heads_(kFirstSize * kChainsPerRecord, kNone) {}

  /// The first record of the block's chain, which holds other blocks too; go on by `next`.
  std::uint32_t chain(std::uint32_t block) const { return heads_[bucket(block)]; }

  /// Brings the head of the block's chain into the host's cache.
  void prefetch(std::uint32_t block) const { engine::prefetch(&heads_[bucket(block)]); }

  void insert(Records& records, std::uint32_t record) {
    if (++count_ > heads_.size() / kChainsPerRecord) grow(records);
    push(records, record);
  }
  void remove(Records& records, std::uint32_t record) {
    --count_;
    std::uint32_t* at = &heads_[bucket(records[record].block)];
    while (*at != record) at = &records[*at].next;
    *at = records[record].next;
  }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::size_t kFirstSize = 32;  ///< records that it has chains for at first
  static constexpr std::size_t kChainsPerRecord = 4;

  std::uint32_t bucket(std::uint32_t block) const { return (block * 0x9e3779b9u) >> shift_; }
  void push(Records& records, std::uint32_t record) {
    std::uint32_t& head = heads_[bucket(records[record].block)];
    records[record].next = head;
    head = record;
  }
  void grow(Records& records) {
    const std::vector<std::uint32_t> old = std::move(heads_);
    heads_.assign(old.size() * 2, kNone);
    --shift_;
    for (std::uint32_t i : old) {
      while (i != kNone) {
        const std::uint32_t after = records[i].next;
        push(records, i);
        i = after;
      }
    }
  }

  std::vector<std::uint32_t> heads_;
  /// The top bits of a product choose the chain: all bits of the block count in them.
  int shift_ = 32 - std::countr_zero(kFirstSize * kChainsPerRecord);
  std::size_t count_ = 0;
};

}  // namespace xpusim::memory
