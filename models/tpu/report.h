#pragma once

#include "models/tpu/core/simulate.h"
#include "models/tpu/launch.h"
#include "sim/run/machine.h"

namespace xpusim::tpu {

/// What a launch did, in the terms of the report: counters, ledgers, source lines, energy.
run::LaunchReport make_report(const exec::Launch& launch, const TpuParams& params,
                              const PreparedLaunch& ready, const SimulationResult& result,
                              std::uint64_t clock_hz, const run::Interconnect* joined);

}  // namespace xpusim::tpu
