#pragma once

// How many blocks of a kernel an SM can hold, and what limits it.

#include <cstdint>

#include "models/gpu/core/params.h"
#include "models/gpu/program/program.h"

namespace xpusim::gpu {

/// Blocks an SM by each limit; `blocks` is their minimum. Registers are allocated to a warp in
/// units of 256, at least 16 a thread, and a warp's registers lie in one sub-core (this gives the
/// measured limit in all 179 reference cases); shared memory in units of 128 bytes, the system's
/// reserve of each block included. Clusters are not modelled.
struct Occupancy {
  std::int64_t registers_per_thread = 0;  ///< as allocated at least
  std::int64_t by_registers = 0, by_shared = 0, by_warps = 0, by_slots = 0;
  std::int64_t blocks = 0;
  std::int64_t shared_bytes_per_block = 0;  ///< with the reserve, not rounded
  /// Shared memory that the L1 gives up: the smallest carve-out on offer (0, 8, 16, 32, 64, 100,
  /// 132, 164, 196, 228 KiB) that holds `blocks`. The driver often takes one or two steps more; its
  /// rule is not public and not modelled.
  std::int64_t carve_out_bytes = 0;
};
Occupancy occupancy(const SmParams& sm, const Program& program);

}  // namespace xpusim::gpu
