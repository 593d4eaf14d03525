#pragma once

// One launch on a simulated chip: the modules, their links, and the run.

#include <cstdint>
#include <span>

#include "models/memory/hbm_channel.h"
#include "models/tpu/core/activity.h"
#include "models/tpu/core/kernel_body.h"
#include "models/tpu/core/windows.h"
#include "models/tpu/params.h"
#include "models/tpu/program/program.h"
#include "sim/engine/scheduler.h"
#include "sim/trace/sink.h"

namespace xpusim::tpu {

struct SimulationOptions {
  engine::Scheduler::Mode mode = engine::Scheduler::Mode::kSkip;
  bool leap = true;  ///< the core adds alike loop trips and steps
  std::uint64_t clock_hz = 0;
  trace::Sink* trace = nullptr;
  std::uint64_t trace_start_fs = 0;
  CoreRecorder* recorder = nullptr;  ///< of what one core does ...
  std::uint32_t recorded_core = 0;   ///< ... this one
};

/// What one core runs: its steps of the grid, and their body (null: nothing is executed).
struct CoreWork {
  WindowSet* windows = nullptr;
  KernelBody* body = nullptr;
};

/// What the chip did.
struct SimulationResult {
  std::uint64_t cycles = 0;
  Activity activity;  ///< of all cores; each lives as long as the launch
  std::uint64_t dma_read_bytes = 0, dma_write_bytes = 0, dma_requests = 0, dma_busy_cycles = 0;
  memory::HbmCounters hbm;
  std::array<std::uint64_t, static_cast<std::size_t>(memory::HbmReason::kCount)> hbm_cycles{};
  std::uint64_t messages = 0, activations = 0, stepped_bundles = 0;
};

/// Makes a chip (cores with DMA engines of their own, one HBM) and runs the program on it, on as
/// many cores as there is work for. A kernel's error and a deadlock are failures.
Expected<SimulationResult> simulate(const TpuParams& params, const Program& program,
                                    std::span<const CoreWork> work,
                                    const SimulationOptions& options);

/// Nanoseconds in whole cycles of a clock, at least `least`.
std::uint64_t to_cycles(double ns, double hz, std::uint64_t least);

}  // namespace xpusim::tpu
