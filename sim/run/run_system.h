#pragma once

#include "sim/run/runner.h"

namespace xpusim::run {

/// A report of a machine that has run nothing yet.
Report new_report(const Workload& workload, const LoadedMachine& machine);
/// What the simulation of a launch took of this process's time and memory.
HostStats host_stats(const LaunchReport& report, double wall_s);

/// What a report says of a kernel's launch beyond what the machine told.
LaunchResult result_of(const exec::Launch& launch, LaunchReport done, double wall_s,
                       const Report& report);

/// Runs a workload on a machine of several chips: kernels on all of them at once, and collectives,
/// one after another.
Expected<Report> run_on_system(const Workload& workload, const LoadedMachine& machine,
                               const RunSettings& settings);

}  // namespace xpusim::run
