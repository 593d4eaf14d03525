#pragma once

// From TTIR to TTGIR: what layouts, matrix instructions and software pipelines a kernel gets, for
// any number of warps and stages, without Triton.

#include <cstdint>

#include "sim/kernel/ir.h"

namespace xpusim::gpu::passes {

/// What a kernel in TTIR form leaves open.
struct Target {
  std::int64_t num_warps = 4;   ///< of a block; a power of two
  std::int64_t num_stages = 3;  ///< buffers of a pipelined loop
  std::int64_t capability = 90;
};

/// A copy of a TTIR module in TTGIR form. Rules and heuristics are those that Triton documents by
/// its behaviour: accesses to global memory get the layouts that coalesce them, products of
/// matrices become matrix instructions, loops that load for them become software pipelines, and
/// layouts are converted where these meet. Left out: warp specialisation, clusters of blocks,
/// tensor descriptors, floats of 4 and 6 bits. An op that no pass can place is an error at its
/// line.
Expected<kernel::Module> to_ttgir(const kernel::Module& ttir, const Target& target);

}  // namespace xpusim::gpu::passes
