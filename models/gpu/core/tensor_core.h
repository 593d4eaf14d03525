#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/gpu/core/params.h"
#include "models/gpu/program/program.h"

namespace xpusim::gpu {

inline constexpr std::uint32_t kWarpsOfWarpgroup = 4;

/// Cycles that a matrix instruction keeps the tensor core of one sub-core: of wgmma, that of the
/// warp's quarter.
std::uint32_t tensor_cycles(const TensorParams& p, Opcode op, const MmaShape& shape);

/// Bytes of shared memory that one of the four warps reads for a wgmma: of the right factor a
/// quarter (all four use it, it is read once), of the left one its own rows.
std::uint32_t wgmma_shared_bytes(const MmaShape& shape);

/// What is wrong with a matrix instruction's shape, or "".
const char* shape_problem(Opcode op, const MmaShape& shape);

/// The tensor core of a sub-core, as timestamps: one instruction after another. A wgmma waits for
/// its turn in a short queue while its warp goes on; an mma.sync holds its warp until the core
/// takes it. Left out: the fetch of operands from the register file and its banks, accumulators'
/// read and write, sparsity, and that the four warps of a warpgroup begin a wgmma together (they
/// meet at WARPGROUP.ARRIVE, then each sub-core goes by its own queue).
class TensorCore {
 public:
  explicit TensorCore(const TensorParams& p) : ends_(static_cast<std::size_t>(p.wgmma_queue), 0) {}

  /// When it can begin an instruction that is issued at `now`.
  std::uint32_t start(std::uint32_t now) const { return std::max(now, free_); }
  void take_until(std::uint32_t end) { free_ = end; }
  /// As take_until; returns the first cycle at which the queue takes another wgmma.
  std::uint32_t queue_until(std::uint32_t end) {
    free_ = end;
    ends_[next_] = end;
    if (++next_ == ends_.size()) next_ = 0;
    return ends_[next_];
  }

 private:
  std::uint32_t free_ = 0;
  std::vector<std::uint32_t> ends_;  // of the last wgmmas
  std::uint32_t next_ = 0;
};

}  // namespace xpusim::gpu
