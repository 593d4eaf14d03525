#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace xpusim::memory {

/// The tags of one L2 slice: lines of 128 B with four sectors, true LRU, write-back. A request
/// touches up to four lines of one 512 B block; they lie in four neighbouring sets. A sector counts
/// as present from the moment it is asked for; when its data comes is the slice's business
/// (L2Fills).
class L2Tags {
 public:
  /// A line (or several of one block) that leaves with data that memory has not got.
  struct Victim {
    std::uint32_t block;    ///< number of its 512 B block on the chip: address / 512
    std::uint16_t sectors;  ///< of the block
  };
  struct Victims {
    std::array<Victim, 8> list;
    std::uint32_t count = 0;
  };

  /// `lines` is rounded up to whole groups of four sets.
  L2Tags(std::uint64_t lines, std::uint32_t ways, std::uint32_t dirty_ways);

  /// Reads `mask` (sectors of the block) and keeps what was missing, `fetched` more for each
  /// missing sector's atom if `whole_atoms`. Returns the sectors that were present.
  std::uint16_t read(std::uint32_t set_block, std::uint32_t block, std::uint16_t mask,
                     bool whole_atoms, Victims& victims);
  /// Writes `mask`: allocates without a fetch. Returns the sectors of which the other half has a
  /// copy.
  std::uint16_t write(std::uint32_t set_block, std::uint32_t block, std::uint16_t mask,
                      Victims& victims);
  /// The other half takes a copy of these sectors.
  void mark_copied(std::uint32_t set_block, std::uint32_t block, std::uint16_t mask);
  /// Drops sectors (a copy that was written at home).
  void invalidate(std::uint32_t set_block, std::uint32_t block, std::uint16_t mask);
  /// Hands out every dirty sector and keeps it, clean.
  template <class F>
  void clean(F&& write_back);
  void clear();  ///< forgets everything, dirty data too
  std::uint64_t dirty_sectors() const;

 private:
  struct alignas(64) Set {
    std::array<std::uint32_t, 16> tag;    ///< block number; the line within it is the set's
    std::array<std::uint16_t, 16> state;  ///< bits 0-3 valid, 4-7 dirty, 8-11 copied
    std::uint64_t order;                  ///< 16 ways of 4 bits, most recently used lowest
    std::uint32_t dirty_ways;
  };
  std::uint32_t groups_, ways_, dirty_ways_;
  std::vector<Set> sets_;  ///< four sets a group: one for each line of a block
};

}  // namespace xpusim::memory
