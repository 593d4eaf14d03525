#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/divider.h"

namespace xpusim::memory {

/// The tags of one L2 slice: lines of 128 B with four sectors, true LRU, write-back. A request
/// touches up to four lines of one 512 B block; they lie in four neighbouring sets (a *group*). A
/// sector counts as present from the moment it is asked for; when its data comes is L2Fills'
/// business.
///
/// A large page (2 MiB) fills neighbouring groups evenly; each page begins at a group of its own,
/// as pages lie scattered over a chip's physical memory. Some sets are full, therefore, when others
/// have room.
///
/// A share of all lines may be dirty: beyond it the one that has been dirty for longest goes to
/// memory. Measured on an H200 (60 MiB; traces/h200/microbench_dirty.jsonl): writes of 32 to 100 MB
/// leave 29.25 MB dirty, and what others had left goes before them.
class L2Tags {
 public:
  static constexpr std::uint32_t kMaxWays = 16;
  static constexpr std::uint32_t kNoBlock = ~0u;
  static constexpr std::uint32_t kPageBlocks = 4096;  ///< of a large page (2 MiB)

  /// Lines of one block that leave with data that memory has not got.
  struct Victim {
    std::uint32_t block;    ///< number of the 512 B block on the chip: address / 512
    std::uint16_t sectors;  ///< of the block
  };
  /// The victims of one request; lines of the same block are one.
  class Victims {
   public:
    void add(std::uint32_t block, std::uint32_t sectors);
    const Victim* begin() const { return list_.data(); }
    const Victim* end() const { return list_.data() + count_; }

   private:
    std::array<Victim, 8>
        list_;  ///< a request touches four lines: at most one evicted, one cleaned each
    std::uint32_t count_ = 0;
  };

  /// About `lines` lines: whole groups of four sets. At most `dirty_share` of them stay dirty.
  L2Tags(std::uint64_t lines, std::uint32_t ways, double dirty_share);

  struct Read {
    std::uint16_t present;  ///< of the sectors asked for
    std::uint16_t filled;   ///< the others, and what else of their 64 B atoms was missing
  };
  /// Looks `mask` (sectors of the block) up and keeps it from now on, with the rest of each 64 B
  /// atom of which a sector was missing. `place` is the block's number within the slice
  /// (AddressMap::SliceBlock::block).
  Read read(std::uint32_t place, std::uint32_t block, std::uint16_t mask, Victims& victims);
  /// Writes `mask`: allocates without a fetch. Returns the sectors that the other half holds too,
  /// and takes it that they are dropped there.
  std::uint16_t write(std::uint32_t place, std::uint32_t block, std::uint16_t mask,
                      Victims& victims);
  /// Keeps a copy of what is written through to the home.
  void write_through(std::uint32_t place, std::uint32_t block, std::uint16_t mask,
                     Victims& victims);
  /// The other half takes a copy of some of these sectors.
  void mark_copied(std::uint32_t place, std::uint32_t block, std::uint16_t mask);
  /// Drops sectors (of a copy that was written at home).
  void invalidate(std::uint32_t place, std::uint32_t block, std::uint16_t mask);
  /// Brings what a request will touch into the host's cache; changes nothing else.
  void prefetch(std::uint32_t place, std::uint32_t block, std::uint16_t mask) const;
  /// The sectors that are present; changes nothing.
  std::uint16_t present(std::uint32_t place, std::uint32_t block) const;

  /// Takes out all dirty sectors, block by block; they stay, clean. Calls f(block, sectors).
  template <class F>
  void clean(F&& f);
  /// Calls f(block, sectors) for each line that is present.
  template <class F>
  void for_each_line(F&& f) const;
  void clear();  ///< forgets everything, dirty data too
  std::uint64_t dirty_sectors() const;
  std::uint64_t most_dirty_lines() const { return most_dirty_; }
  std::uint64_t lines() const { return std::uint64_t{groups_.divisor()} * kLinesPerGroup * ways_; }

 private:
  static constexpr std::uint32_t kLinesPerGroup = 4;  ///< lines of a block
  static constexpr std::uint32_t kLineSectors = 0xf;
  static constexpr unsigned kDirty = 4;  ///< bits 0-3 of a state: valid sectors, 4-7: dirty
  static constexpr int kMiss = -1;

  struct alignas(32) Set {
    std::uint64_t order;  ///< ways, 4 bits each, most recently used lowest
    std::array<std::uint8_t, kMaxWays> state;
    std::uint16_t copied;  ///< ways of which the other half may hold sectors
  };
  using Tags = std::array<std::uint32_t, kMaxWays>;  ///< block numbers
  /// What a request touches: six lines of the host's cache.
  struct alignas(64) Group {
    std::array<Set, kLinesPerGroup> sets;
    std::array<Tags, kLinesPerGroup> tags;
  };

  /// A line among those that are dirty, in the order in which they became so: a ring that a link of
  /// no line closes.
  struct Link {
    std::uint32_t before, after;
  };

  std::size_t number_of_group(std::uint32_t place, std::uint32_t block) const;
  Group& group_of(std::uint32_t place, std::uint32_t block) {
    return all_[number_of_group(place, block)];
  }
  const Group& group_of(std::uint32_t place, std::uint32_t block) const {
    return all_[number_of_group(place, block)];
  }
  static int find(const Tags& tags, std::uint32_t block);
  static void touch(Set& set, std::uint32_t way);
  std::uint32_t use(Group& group, std::uint32_t line, std::uint32_t block, Victims& victims);
  std::uint32_t link_of(const Group& group, std::uint32_t line, std::uint32_t way) const {
    return (static_cast<std::uint32_t>(&group - all_.data()) * kLinesPerGroup + line) * kMaxWays +
           way;
  }
  std::uint32_t ends() const { return static_cast<std::uint32_t>(dirty_order_.size()) - 1; }
  void add_dirty(std::uint32_t link);
  void remove_dirty(std::uint32_t link);
  void clean_oldest(Victims& victims);
  void forget_dirty();

  engine::Divider groups_;
  std::uint32_t ways_;
  std::uint64_t most_dirty_, dirty_lines_ = 0;
  std::vector<Group> all_;
  std::vector<Link> dirty_order_;
};

template <class F>
void L2Tags::for_each_line(F&& f) const {
  for (const Group& group : all_) {
    for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
      for (std::uint32_t way = 0; way < ways_; ++way) {
        const std::uint32_t valid = group.sets[line].state[way] & kLineSectors;
        if (valid != 0) f(group.tags[line][way], static_cast<std::uint16_t>(valid << line * 4));
      }
    }
  }
}

template <class F>
void L2Tags::clean(F&& f) {
  for (Group& group : all_) {
    for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
      Set& set = group.sets[line];
      for (std::uint32_t way = 0; way < ways_; ++way) {
        const std::uint32_t dirty = set.state[way] >> kDirty;
        if (dirty == 0) continue;
        set.state[way] &= kLineSectors;
        f(group.tags[line][way], static_cast<std::uint16_t>(dirty << line * 4));
      }
    }
  }
  forget_dirty();
}

}  // namespace xpusim::memory
