#pragma once

#include <vector>

#include "sim/run/runner.h"

namespace xpusim::run {

/// Reads the kernel of a launch and binds it: a launch, or several of a StableHLO module, whose
/// temporaries are allocated in `memory`. Says what the machine cannot run of it.
Expected<std::vector<exec::Launch>> bind_kernel(const Workload& workload, LaunchSpec spec,
                                                const Machine& machine, const Family& family,
                                                const RunSettings& settings,
                                                exec::DeviceMemory& memory);

}  // namespace xpusim::run
