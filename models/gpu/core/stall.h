#pragma once

// Why a sub-core's cycle passed, and why a warp did not issue: the vendor's names.

#include <cstdint>
#include <string_view>

namespace xpusim::gpu {

/// The reasons of the cycle ledger of a sub-core, and of the stalls of a warp. Where the vendor's
/// profiler has the reason, it has the profiler's name.
enum class Stall : std::uint8_t {
  kIssued,           ///< an instruction was issued (profiler: selected)
  kLongScoreboard,   ///< waits for a result of the L1 or of what is behind it
  kShortScoreboard,  ///< waits for a result of the MIO: shared memory, shuffle, special function
  kWait,             ///< the fixed latency that the instruction's stall count states
  kBarrier,          ///< waits for the other warps of the block
  kMathPipe,         ///< the arithmetic pipe is taken
  kGmma,             ///< the tensor core's queue of wgmmas is full, with another warpgroup's last
  kWarpgroup,        ///< waits for its warpgroup or for its wgmmas (profiler: warpgroup_arrive)
  kLgThrottle,       ///< the queue for global memory instructions is full
  kMioThrottle,      ///< the MIO's instruction queue is full or its port is taken
  kNoInstruction,    ///< the instruction cache has not got the line yet
  kImcMiss,          ///< the constant cache has not got the line yet
  kBranch,           ///< the branch target is being fetched
  kMembar,           ///< waits at a memory fence
  kDrain,            ///< has exited, but its stores have not left the SM
  kNotSelected,      ///< could issue, but another warp was picked (of warps only)
  kLaunch,           ///< before the first warp: the launch of the kernel and of the block
  kNoWarp,           ///< no warp is resident
  kNoWork,           ///< of the whole grid, it gets no warp: too few blocks, or warps a block
  kTail,             ///< after the last block of the grid
  kCount
};
std::string_view name(Stall reason);
std::string_view meaning(Stall reason);  ///< in a few words, for people

}  // namespace xpusim::gpu
