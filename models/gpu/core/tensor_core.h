#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/gpu/core/params.h"
#include "models/gpu/program/program.h"

namespace xpusim::gpu {

/// Cycles that a matrix instruction keeps the tensor core of one sub-core: of wgmma, that of the
/// warp's quarter.
std::uint32_t tensor_cycles(const TensorParams& p, Opcode op, const MmaShape& shape);

/// mma.sync: issue to result on a core that is free.
std::uint32_t mma_latency(const TensorParams& p, const MmaShape& shape);

/// Bytes of shared memory that one of the four warps reads for a wgmma: of the right factor a
/// quarter (all four use it, it is read once), of the left one its own rows.
std::uint32_t wgmma_shared_bytes(const MmaShape& shape);

/// What is wrong with a matrix instruction's shape, or "".
const char* shape_problem(Opcode op, const MmaShape& shape);

/// The tensor core of a sub-core, as timestamps: one instruction after another. A wgmma waits for
/// its turn in a short queue while its warp goes on; an mma.sync holds its warp until the core
/// takes it. Left out: register banks, the read and write of accumulators, sparsity, and that the
/// four warps of a warpgroup begin a wgmma together (they meet at WARPGROUP.ARRIVE, then each
/// sub-core goes by its own queue).
class TensorCore {
 public:
  explicit TensorCore(const TensorParams& p)
      : params_(p), rooms_(static_cast<std::size_t>(p.wgmma_queue), 0) {}

  /// When the core can begin an mma.sync that is issued at `now`; it is taken for `cycles`.
  std::uint32_t begin_mma(std::uint32_t now, std::uint32_t cycles) {
    const std::uint32_t start = std::max(now, free_);
    free_ = start + cycles;
    return start;
  }
  /// When it can begin a wgmma of warp `warp` that is issued at `now`.
  std::uint32_t wgmma_start(std::uint32_t now, std::uint32_t warp, bool a_in_shared) const {
    if (a_in_shared) return std::max(now, free_);
    const auto gap = static_cast<std::uint32_t>(warp == last_warp_ ? params_.register_gap : 0);
    return std::max(now + static_cast<std::uint32_t>(params_.register_latency), free_ + gap);
  }
  std::uint32_t last_warp() const { return last_warp_; }  ///< of the last wgmma
  /// A wgmma takes the core from `start` to `end`; returns the first cycle at which the queue takes
  /// another one.
  std::uint32_t queue(std::uint32_t start, std::uint32_t end, std::uint32_t warp) {
    free_ = end;
    last_warp_ = warp;
    rooms_[next_] = start + static_cast<std::uint32_t>(params_.wgmma_queue_hold);
    if (++next_ == rooms_.size()) next_ = 0;
    return rooms_[next_];
  }

 private:
  const TensorParams& params_;
  std::uint32_t free_ = 0, last_warp_ = ~0u;
  std::vector<std::uint32_t> rooms_;  // when the places of the last wgmmas are free again
  std::uint32_t next_ = 0;
};

}  // namespace xpusim::gpu
