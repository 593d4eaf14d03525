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
  std::uint16_t passes = 0;   ///< atomics: largest number of lanes on one address here; else 1
};

/// What one warp instruction touches, in ascending order of addresses. Holds no heap memory.
struct WarpFootprint {
  std::array<SectorRequest, kMaxRequests> requests;
  std::uint32_t count = 0;       ///< requests in use; 0: no lane is active, nothing leaves the warp
  std::uint32_t lanes = 0;       ///< active lanes
  std::uint32_t lines = 0;       ///< distinct 128-byte lines: L1 tag look-ups
  std::uint32_t sectors = 0;     ///< distinct 32-byte sectors: what l1_sectors_* count
  std::uint32_t wavefronts = 0;  ///< passes through L1's data stage: a line each, and 128 B each
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

 private:
  struct Pattern;  // lane offsets of one (warp, vector), relative to the tile's base address

  const Pattern& pattern(const exec::Access& access, unsigned warp, unsigned vector);
  bool same_digits(const exec::Affine& affine) const;
  std::uint32_t held_lanes(const exec::Access& access, unsigned warp) const;
  std::uint32_t mask_lanes(const exec::Access& access, unsigned warp, unsigned vector);
  std::int64_t coordinate(unsigned dim, unsigned warp, unsigned vector, unsigned lane) const;

  SiteLayout layout_;
  exec::Affine digits_;  // those that patterns_ holds for (without base)
  std::uint32_t element_bytes_ = 0;
  std::vector<Pattern> patterns_;               // [warp * vectors + vector]
  std::vector<std::int64_t> lane_coordinates_;  // [lane * rank + dim]
  struct Extent {
    std::int64_t low, high;  // coordinates that one (warp, vector) covers in one dimension
  };
  std::vector<Extent> extents_;  // [(warp * vectors + vector) * rank + dim]
};

}  // namespace xpusim::gpu
