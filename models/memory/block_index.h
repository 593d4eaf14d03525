#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/prefetch.h"

namespace xpusim::memory {

/// Finds the records of a 512 B block: chains of record numbers by a hash of the block, as many
/// chains as there are records. A Record has `block`, and `next` for its chain.
template <class Record>
class BlockIndex {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  BlockIndex() : heads_(kFirstSize, kNone) {}

  /// The first record of the block's chain, which holds other blocks too; go on by `next`.
  std::uint32_t chain(std::uint32_t block) const { return heads_[bucket(block)]; }

  /// Brings the head of the block's chain into the host's cache.
  void prefetch(std::uint32_t block) const { engine::prefetch(&heads_[bucket(block)]); }

  void insert(std::vector<Record>& records, std::uint32_t record) {
    if (++count_ > heads_.size()) grow(records);
    push(records, record);
  }
  void remove(std::vector<Record>& records, std::uint32_t record) {
    --count_;
    std::uint32_t* at = &heads_[bucket(records[record].block)];
    while (*at != record) at = &records[*at].next;
    *at = records[record].next;
  }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::size_t kFirstSize = 256;

  std::uint32_t bucket(std::uint32_t block) const {
    return (block * 0x9e3779b9u) >> 8 & static_cast<std::uint32_t>(heads_.size() - 1);
  }
  void push(std::vector<Record>& records, std::uint32_t record) {
    std::uint32_t& head = heads_[bucket(records[record].block)];
    records[record].next = head;
    head = record;
  }
  void grow(std::vector<Record>& records) {
    const std::vector<std::uint32_t> old = std::move(heads_);
    heads_.assign(old.size() * 2, kNone);
    for (std::uint32_t i : old) {
      while (i != kNone) {
        const std::uint32_t after = records[i].next;
        push(records, i);
        i = after;
      }
    }
  }

  std::vector<std::uint32_t> heads_;
  std::size_t count_ = 0;
};

}  // namespace xpusim::memory
