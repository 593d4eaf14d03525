#pragma once

#include <cstdint>
#include <vector>

#include "models/gpu/program/program.h"
#include "sim/kernel/analysis/linear_layout.h"

namespace xpusim::gpu {

/// Lanes' places in shared memory, and the wavefronts beyond the fewest that they take.
struct SharedPlace {
  SharedLanes lanes;
  std::uint8_t extra_passes = 0;
};

/// Where the warps' partial results of a reduction lie in shared memory: those of one result side
/// by side, a word a warp; results one behind the other along the dimension that the tile's layout
/// has fastest, without padding. So lanes that hold different results are as many words apart as
/// there are warps along the axis, and meet in the same banks. (Measured: shared_wavefronts of 128
/// results of 8 warps, 32 lanes of a warp with 4 each: 2260 a block, 2048 of them so.)
class PartialResults {
 public:
  PartialResults(const kernel::LinearLayout& layout, std::size_t axis);

  std::uint32_t warps() const { return warps_; }  ///< along the axis
  /// Words from a result's first partial result to that of the result at coordinate 0; `at`:
  /// coordinates without the axis.
  std::uint32_t words_before(kernel::Basis at) const;

  /// Partial results of `bytes` bytes from `base` on: what holds them writes them.
  SharedPlace written(std::uint32_t bytes, std::int64_t base) const;
  /// The first `lanes` threads of each warp have one each, in the order of their numbers; the first
  /// of each `stride` of them act.
  SharedPlace in_order(std::uint32_t bytes, std::int64_t base, std::uint32_t lanes,
                       std::uint32_t stride) const;
  /// Every thread reads the first partial result of each of its results.
  SharedPlace read(std::uint32_t bytes, std::int64_t base) const;

 private:
  std::int64_t row(const kernel::Basis& basis) const;
  SharedPlace by_result(std::uint32_t bytes, std::int64_t base, std::uint32_t idle_lanes) const;

  const kernel::LinearLayout& layout_;
  std::size_t axis_;
  std::vector<std::int64_t> stride_;  // [dim]: results; 0 along the axis
  std::vector<std::uint32_t> along_;  // bits of the warp's number along the axis, nearest first
  std::uint32_t warps_ = 1;
};

}  // namespace xpusim::gpu
