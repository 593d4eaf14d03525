#pragma once

// The launches that a StableHLO module becomes.

#include <memory>
#include <vector>

#include "sim/exec/interpreter.h"
#include "sim/run/machine.h"
#include "sim/run/workload.h"

namespace xpusim::run {

/// Compiles a module to kernels, gives what they hand on to each other memory of its own, and binds
/// them in order. The launch passes the arguments and then the results by position; its constexpr
/// FUSE (1) says whether ops share kernels.
Expected<std::vector<exec::Launch>> bind_stablehlo(const LaunchSpec& spec,
                                                   const kernel::Module& module,
                                                   const Family& family,
                                                   exec::DeviceMemory& memory);

}  // namespace xpusim::run
