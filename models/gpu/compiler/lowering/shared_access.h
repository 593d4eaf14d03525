#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/gpu/compiler/lowering/lowering.h"
#include "sim/kernel/analysis/shared_layout.h"

namespace xpusim::gpu {

/// Where lanes go whose bits, and whose warp's, stand for these coordinates of a buffer's tile.
/// Lanes with further bits do nothing.
SharedLanes lanes_of(const kernel::SharedLayout& shared, std::span<const kernel::Basis> lanes,
                     std::span<const kernel::Basis> warps, std::uint32_t bytes, std::int64_t base);

/// How the threads of a tile's layout move its elements to or from a buffer in shared memory: cut
/// into vectors, as wide as both layouts allow; where each lies; how many wavefronts one takes. A
/// thread's part of the address is computed once from its number, by shifts, masks and exclusive
/// ors; vectors that differ in bits that no thread sets are told apart by immediates.
class SharedAccess {
 public:
  /// `most_bytes` a lane and instruction.
  SharedAccess(Lowering& l, const kernel::LinearLayout& layout, const kernel::SharedLayout& shared,
               const BufferView& view, std::uint32_t most_bytes);
  /// Null after an error, which has been reported.
  static std::optional<SharedAccess> make(Lowering& l, const kernel::Op& op, kernel::Type tile,
                                          kernel::Type buffer, const BufferView& view,
                                          std::uint32_t most_bytes);

  struct Vector {
    std::vector<std::uint32_t> registers;  ///< of the tile's layout, in the order of addresses
    VReg address = kNoVReg;                ///< of the thread's part
    std::int64_t immediate = 0;
    std::uint32_t offset = 0;  ///< of its first element, without padding and the view's own
  };
  const std::vector<Vector>& vectors() const { return vectors_; }
  std::uint32_t bytes() const { return bytes_; }               ///< a vector
  std::uint8_t extra_passes() const { return extra_passes_; }  ///< beyond the fewest
  /// Where the lanes go, without those that have one of these bits set; for add_shared_lanes.
  SharedLanes lanes(std::uint32_t idle_lanes = 0) const;
  /// The uniform part of all addresses.
  VReg base(Lowering& l) const;

 private:
  std::vector<Vector> vectors_;
  std::uint32_t bytes_ = 4;
  std::uint8_t extra_passes_ = 0;
  SharedLanes lanes_;
  BufferView view_;
};

}  // namespace xpusim::gpu
