#pragma once

// The functional side of resident blocks: what their warps touch and which way they branch.

#include <cstdint>
#include <vector>

#include "sim/exec/interpreter.h"

namespace xpusim::gpu {

/// The execution of one resident block: its trace so far, and where it stopped.
struct BlockRun {
  std::uint64_t index = 0;  ///< linear block number, x fastest
  exec::BlockTrace trace;
  exec::Interpreter* interpreter = nullptr;  ///< while the block is not executed to its end
  /// The visible effect at which execution stopped takes place when the first warp issues the
  /// site's instruction for the `effect_occurrence`-th time.
  std::uint32_t effect_site = ~0u, effect_occurrence = 0;
  std::vector<std::uint32_t> performed;  ///< effects by site so far
};

/// Gives the SMs executed blocks. A failure of the kernel is kept by the source; runs that failed
/// have no further records.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// Executes block `index` up to its first visible effect.
  virtual void begin(std::uint64_t index, BlockRun& run) = 0;
  /// Lets the effect take place and executes on; false when the block had already ended.
  virtual bool advance(BlockRun& run) = 0;
  /// The block's warps have ended.
  virtual void end(BlockRun& run) = 0;
  virtual bool failed() const = 0;
};

}  // namespace xpusim::gpu
