#pragma once

// From a tile's pointers and mask to what one warp instruction asks of the memory system.

#include <array>
#include <cstdint>
#include <vector>

#include "models/gpu/program/program.h"
#include "sim/exec/interpreter.h"

namespace xpusim::gpu {

inline constexpr int kMaxRequests = 2 * kWarpLanes;  ///< a lane's bytes touch at most two lines

/// Sectors that one warp instruction touches in a window of four consecutive 128-byte lines.
struct SectorRequest {
  std::uint64_t address = 0;  ///< of the first line touched; 128-byte aligned
  std::uint16_t sectors = 0;  ///< bit i: the 32-byte sector at address + 32 i
  /// Atomics: for each sector the largest number of lanes on one address, summed; else 1. Sectors
  /// share no pass.
  std::uint16_t passes = 0;
  /// The sectors of which only some bytes are touched, if the lanes leave gaps: the ends of a run
  /// without gaps are joined with its neighbours' on the way to the L2. (Measured on an H200: rows
  /// of 781 floats, 217,846 sectors of stores, of which some 186,000 come to the L2.)
  std::uint16_t partial = 0;
};

/// What one warp instruction touches, in ascending order of addresses. Holds no heap memory.
struct WarpFootprint {
  std::array<SectorRequest, kMaxRequests> requests;
  std::uint32_t count = 0;    ///< requests in use; 0: no lane is active, nothing leaves the warp
  std::uint32_t lanes = 0;    ///< active lanes
  std::uint32_t lines = 0;    ///< distinct 128-byte lines: L1 tag look-ups
  std::uint32_t sectors = 0;  ///< distinct 32-byte sectors: what l1_sectors_* count
  std::uint32_t bytes = 0;    ///< of all active lanes
  /// Passes through the L1's data stage, each for neighbouring lanes that take 128 bytes together
  /// and for one word (4 bytes) of each bank.
  std::uint32_t wavefronts = 0;
};

/// Turns one site's accesses into coalesced requests. Keep one a site and SM (or launch): it
/// remembers the pattern of lane offsets of each (warp, vector), which is the same in all blocks of
/// a launch, so that an affine access with a full or empty mask costs O(requests). Box masks, dense
/// pointers and dense masks are exact, lane by lane. A lane counts as active when any element of
/// its vector is. Lanes that hold copies (SiteLayout::skip_lanes, skip_warps, lane_zero_only,
/// warp_zero_only) are active for loads only: they read the same address, which coalesces. Not
/// modelled: the order of lanes inside a request, misaligned vectors' replays.
class Footprint {
 public:
  explicit Footprint(const SiteLayout& layout);

  /// What warp `warp` touches with its instruction for `vector` of this access.
  void touch(const exec::Access& access, unsigned warp, unsigned vector, WarpFootprint& out);

  /// Whether any lane is active: decides guarded exits without computing addresses.
  bool any_active(const exec::Access& access, unsigned warp, unsigned vector);

  /// The same lane by lane, for pictures (slow): byte addresses, kNoAddress where a lane is off.
  static constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};
  std::array<std::uint64_t, kWarpLanes> addresses(const exec::Access& access, unsigned warp,
                                                  unsigned vector) const;
  /// What a lane moves with one instruction.
  std::uint32_t lane_bytes(const exec::Access& access) const {
    return access.element_bytes * layout_.vector_elements;
  }

 private:
  /// The requests of a gappy pattern, from the line of base + low.
  struct Shape {
    std::int64_t alignment = -1;  // (base + low) % 128 that it holds for; -1: none
    std::vector<SectorRequest> requests;
    std::uint32_t lines = 0, sectors = 0;
  };
  /// Lane offsets of one (warp, vector) in bytes from the tile's base address, for the lanes it
  /// holds.
  struct Pattern {
    std::array<std::int64_t, kWarpLanes> offset;
    std::int64_t low = 0;     // least of them
    std::uint32_t run = 0;    // bytes from `low` if they leave no gap, else 0
    std::uint32_t lanes = 0;  // that it holds for; 0: not computed yet
    std::uint32_t data_passes = 0;
    // By (base + low) / 32 % 4: a loop that goes along its rows by less than a line comes back to
    // each alignment.
    std::array<Shape, 4> shapes;

    void forget_shapes() {
      for (Shape& s : shapes) s.alignment = -1;
    }
  };
  struct Extent {
    std::int64_t low, high;  // coordinates that one (warp, vector) covers in one dimension
  };

  std::size_t slot(unsigned warp, unsigned vector) const {
    return static_cast<std::size_t>(warp & warp_mask_) * layout_.vectors + vector;
  }
  std::uint32_t held_lanes(const exec::Access& access, unsigned warp) const;
  std::uint32_t mask_lanes(const exec::Tile& mask, std::size_t slot) const;
  std::uint32_t box_lanes(const exec::Box& box, std::size_t slot) const;
  std::int64_t coordinate(std::size_t slot, unsigned lane, unsigned dim) const {
    return slot_coordinates_[slot * rank_ + dim] ^ lane_coordinates_[lane * rank_ + dim];
  }
  std::int64_t flat_index(std::size_t slot, unsigned lane) const;
  void use_digits(const exec::Access& access);
  Pattern& pattern(std::size_t slot, std::uint32_t lanes);
  /// Requests for the active lanes' addresses, which it puts first in `address`.
  void touch_lanes(std::array<std::uint64_t, kWarpLanes>& address, std::uint32_t active,
                   bool atomic, WarpFootprint& out) const;
  void touch_affine(const exec::Access& access, std::size_t slot, std::uint32_t held,
                    std::uint32_t active, WarpFootprint& out);

  SiteLayout layout_;
  unsigned rank_ = 0;
  unsigned warp_mask_ = 0;
  std::uint32_t bytes_ = 0;  // a lane moves with one instruction
  std::uint32_t element_bytes_ = 0;
  exec::Affine digits_;                                            // those that patterns_ holds for
  std::vector<Pattern> patterns_;                                  // [slot]
  std::vector<std::int64_t> lane_coordinates_, slot_coordinates_;  // [lane or slot][dim]
  std::vector<Extent> extents_;                                    // [slot][dim]
};

}  // namespace xpusim::gpu
