#pragma once

#include <vector>

#include "models/gpu/compiler/machine_code.h"

namespace xpusim::gpu {

/// Which registers hold a value that is still read, where a block begins and where it ends. A
/// guarded definition does not end the life of the value before it.
struct Liveness {
  std::vector<std::vector<bool>> in, out;  ///< [block][vreg]
};
Liveness find_liveness(const MachineCode& code);

}  // namespace xpusim::gpu
