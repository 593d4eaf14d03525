#pragma once

#include <cstdint>
#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// Warps of a block that run code of their own.
struct WarpGroup {
  const kernel::Region* region = nullptr;  ///< a partition; null: the function and its default
                                           ///< region, or nothing (see is_idle)
  int first = 0, warps = 0;
  int barrier = 0;    ///< the named barrier at which they meet
  int registers = 0;  ///< a thread, while the partitions run; 0: those of the launch
  bool is_idle = false;
};

/// Which warps of a block run what: all of them the function, or in a kernel with one
/// ttg.warp_specialize the default region and each partition warps of their own, as Triton's
/// AllocateWarpGroups gives out warps, named barriers and registers: partitions with more warps
/// come first, the further warps are filled up to whole warpgroups, and what a warpgroup does not
/// ask for goes to the default region's warps. Left out (errors): several ttg.warp_specialize,
/// one in a loop or a branch, thread-block clusters.
struct WarpGroups {
  static constexpr int kAllBarrier = 1;  ///< the named barrier of all warps of the block

  const kernel::Op* specialize = nullptr;  ///< null: one group
  std::vector<WarpGroup> groups;           ///< the function's first, partitions as in the text
  int warps = 0;                           ///< of a block
  /// Registers a thread, if the partitions ask for some (else 0): at launch, of warps that wait for
  /// a partition, and of the function's warps meanwhile.
  int launch_registers = 0, waiting_registers = 0, function_registers = 0;

  static Expected<WarpGroups> make(const kernel::Module& module, const kernel::Function& function);
  /// Warps beyond the function's own.
  static int further_warps(const kernel::Op& specialize);
};

}  // namespace xpusim::gpu
