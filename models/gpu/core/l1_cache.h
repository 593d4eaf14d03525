#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace xpusim::gpu {

/// The tags of an SM's L1 data cache: 128-byte lines with four sectors, set-associative (at most 4
/// ways), least recently used. Loads allocate on a miss, sector by sector; a sector that is on its
/// way counts as a hit and names the request that will bring it. Stores write through: they change
/// no tags (a line that is held stays right, one that is not is not allocated). Atomics bypass and
/// drop the line. A line remembers only the last request that is to fill it. Left out: the hash of
/// the real index, and replacement other than LRU.
class L1Cache {
 public:
  static constexpr std::uint16_t kNoRequest = 0xffff;

  L1Cache(std::int64_t bytes, std::int64_t ways);

  struct Lookup {
    std::uint32_t line = 0;                          ///< handle for fill()
    std::uint8_t hit = 0, pending = 0, missing = 0;  ///< sector masks; pending: on its way
    std::uint16_t request = kNoRequest;              ///< that brings the pending sectors
  };
  /// Looks sectors up and allocates those that miss, to be brought by `request`.
  Lookup load(std::uint64_t address, std::uint8_t sectors, std::uint16_t request);
  /// Sectors have come; ignored when the line was given to another address since.
  void fill(std::uint32_t line, std::uint64_t address, std::uint8_t sectors);
  void drop(std::uint64_t address);

 private:
  static constexpr std::uint32_t kMaxWays = 4;
  static constexpr std::uint64_t kNoTag = ~0ull;
  struct alignas(64) Set {
    std::array<std::uint64_t, kMaxWays> tag;
    std::array<std::uint32_t, kMaxWays> used;
    std::array<std::uint16_t, kMaxWays> request;
    std::array<std::uint8_t, kMaxWays> valid, pending;
  };
  std::uint32_t set_of(std::uint64_t tag) const {
    return static_cast<std::uint32_t>(tag) % static_cast<std::uint32_t>(sets_.size());
  }
  int find(const Set& set, std::uint64_t tag) const;

  std::vector<Set> sets_;
  std::uint32_t ways_;
  std::uint32_t clock_ = 0;
};

}  // namespace xpusim::gpu
