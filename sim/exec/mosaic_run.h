#pragma once

// A whole launch of a Mosaic kernel, functionally: grid step after grid step, with the windows'
// blocks fetched and written back as the chip's pipeline does, but without time.

#include <cstdint>

#include "sim/exec/interpreter.h"

namespace xpusim::exec {

/// What a launch did.
struct MosaicResult {
  WorkCounts counts;  ///< of the body; load and store bytes: those of its buffers
  std::uint64_t steps = 0;
  std::uint64_t fetches = 0, skipped_fetches = 0;  ///< skipped: the next step needs the same block
  std::uint64_t write_backs = 0;
};

/// Runs all steps in lexicographic order. `launch.args` are the operands in the order of the
/// function's arguments after the grid indices (scalar-prefetch operands, inputs, outputs);
/// `launch.grid` gives the extents that the text leaves open. A window that the body stores to is
/// an output: its block is written back when the next step has another one, and at the end. A
/// double-buffered input's next block is read before a step computes, so what that step writes to
/// the same tensor comes too late for it; a `synchronous` one's is read when its step begins. What
/// lies past a tensor's edge, and what an output's block holds before the first store, is
/// undefined: all bits are set (floats are NaN). Semaphores, scratch and the seed of random bits
/// live through the launch. Leaves out: several cores (all dimensions run in order), windows at
/// element offsets.
Expected<MosaicResult> run_mosaic(const Launch& launch, DeviceMemory& memory,
                                  Interpreter::Options options);

}  // namespace xpusim::exec
