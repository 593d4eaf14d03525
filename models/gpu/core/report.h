#pragma once

// From what a launch left in the chip's counters to its report.

#include "models/gpu/core/chip.h"
#include "models/gpu/core/occupancy.h"
#include "sim/run/machine.h"

namespace xpusim::gpu {

/// The sums over all SMs of a launch.
struct ChipTotals {
  std::uint64_t issued = 0, warp_cycles = 0, sub_core_active = 0, sm_active = 0;
  stats::LedgerSum<Stall> ledger;
  std::array<std::uint64_t, static_cast<std::size_t>(Stall::kCount)> warp_stalls{};
  LsuCounters lsu;
};
ChipTotals totals(const Chip& chip);

/// Whether a program has products that run at the clock's ceiling for tensor work: all but f64.
bool has_tensor_work(const Program& program, const KernelImage& image);

/// Fills the counters (names of the cases files), the ledger, the lines and the energy of a report
/// whose cycles and time are known; `voltage_clock_hz`: see energy::Operation.
void fill_report(Chip& chip, const GpuParams& params, const Program& program,
                 const KernelImage& image, const LaunchProfile& profile, const Occupancy& occupancy,
                 double voltage_clock_hz, run::LaunchReport& report);

}  // namespace xpusim::gpu
