#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/prefetch.h"

namespace xpusim::gpu {

/// The tags of an SM's L1 data cache: 128-byte lines of four sectors, set-associative (at most 4
/// ways), least recently used. Loads allocate on a miss, sector by sector; a sector that is on its
/// way counts as a hit and names the request that will bring it. Stores write through, and what
/// they write can be read here: sectors that one store writes whole are allocated as those of a
/// load are (traces/h200/microbench_l1_stores.jsonl: what a block stored hits up to the cache's
/// size, and displaces what was loaded). Atomics bypass and drop the line. A line remembers only
/// the last request that is to fill it. Left out: sectors that a store writes in part (the chip
/// keeps their bytes), the hash of the real index, and replacement other than LRU.
class L1Cache {
 public:
  static constexpr std::uint16_t kNoRequest = 0xffff;
  using Line = std::uint16_t;  ///< handle of a line for fill()

  L1Cache(std::int64_t bytes, std::int64_t ways);

  struct Lookup {
    Line line = 0;
    std::uint8_t hit = 0, pending = 0, missing = 0;  ///< sector masks; pending: on its way
    std::uint16_t request = kNoRequest;              ///< that brings the pending sectors
  };
  /// Looks sectors up and allocates those that miss, to be brought by `request`.
  Lookup load(std::uint64_t address, std::uint8_t sectors, std::uint16_t request);
  /// Whole sectors are written.
  void store(std::uint64_t address, std::uint8_t sectors);
  /// Sectors have come; ignored when the line was given to another address since.
  void fill(Line line, std::uint64_t address, std::uint8_t sectors);
  void prefetch(std::uint64_t address) const {
    engine::prefetch(&sets_[tag_of(address) % static_cast<std::uint32_t>(sets_.size())]);
  }
  void drop(std::uint64_t address);
  void clear();  ///< forgets all lines; what is on its way fills nothing

 private:
  static constexpr std::uint32_t kMaxWays = 4;
  static constexpr std::uint32_t kNoTag = ~0u;
  /// Half a host cache line, so that neighbouring sets, which neighbouring lines map to, share one.
  struct alignas(32) Set {
    std::array<std::uint32_t, kMaxWays> tag;
    std::array<std::uint16_t, kMaxWays> request;
    std::array<std::uint8_t, kMaxWays> sectors;  // low half: valid; high half: on their way
    std::array<std::uint8_t, kMaxWays> order;    // ways, most recently used first
  };
  /// The line's number, with the chip's number of the address's top bits mixed in: 2^32 lines.
  static std::uint32_t tag_of(std::uint64_t address) {
    constexpr std::uint64_t kLineBytes = 128, kChipShift = 48;
    return static_cast<std::uint32_t>(address / kLineBytes) ^
           static_cast<std::uint32_t>(address >> kChipShift << 24);
  }
  Set& set_of(std::uint32_t tag) { return sets_[tag % static_cast<std::uint32_t>(sets_.size())]; }
  std::uint32_t find(const Set& set, std::uint32_t tag) const;
  std::uint32_t take(Set& set, std::uint32_t tag);
  void touch(Set& set, std::uint32_t way);

  std::vector<Set> sets_;
  std::uint32_t ways_;
};

}  // namespace xpusim::gpu
