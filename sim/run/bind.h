#pragma once

// From a launch as written to a launch that a machine runs: tensors get memory, arguments find
// their parameters, the grid gets numbers.

#include <memory>
#include <string>

#include "sim/exec/interpreter.h"
#include "sim/exec/memory.h"
#include "sim/run/shard.h"
#include "sim/run/workload.h"

namespace xpusim::run {

/// Puts the workload's tensors into device memory: what a device has of them.
Expected<void> allocate_tensors(const Workload& workload, exec::DeviceMemory& memory,
                                const Place& place = {});

/// Binds a launch: Triton arguments by the parameter's name, Mosaic operands by position. Says
/// every missing, surplus or unfitting argument, a broken tt.divisibility, a grid that is no grid.
Expected<exec::Launch> bind_launch(const LaunchSpec& spec,
                                   std::shared_ptr<const kernel::Module> module,
                                   const exec::DeviceMemory& memory,
                                   const std::string& workload_name);

}  // namespace xpusim::run
