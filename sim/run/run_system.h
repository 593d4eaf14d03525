#pragma once

#include "sim/run/runner.h"

namespace xpusim::run {

/// A report of a machine that has run nothing yet.
Report new_report(const Workload& workload, const LoadedMachine& machine);
/// What the simulation of a launch took of this process's time and memory.
HostStats host_stats(const LaunchReport& report, double wall_s);

/// Runs a workload on a machine of several chips: collectives only, one after another. Chip c's
/// tensors begin as those of seed + c * 2^32.
Expected<Report> run_on_system(const Workload& workload, const LoadedMachine& machine,
                               const RunSettings& settings);

}  // namespace xpusim::run
