#pragma once

// One launch on a simulated chip: the modules, their links, and the run.

#include <cstdint>
#include <span>
#include <vector>

#include "models/memory/hbm_channel.h"
#include "models/network/fabric.h"
#include "models/tpu/core/activity.h"
#include "models/tpu/core/kernel_body.h"
#include "models/tpu/core/windows.h"
#include "models/tpu/params.h"
#include "models/tpu/program/program.h"
#include "sim/engine/scheduler.h"
#include "sim/run/machine.h"
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
  std::uint32_t device = 0;  ///< the chip that the core is of
};

/// What a chip did.
struct ChipResult {
  std::uint64_t cycles = 0;  ///< until its last core was through
  Activity activity;         ///< of its cores; each lives as long as the launch
  std::uint64_t dma_read_bytes = 0, dma_write_bytes = 0, dma_requests = 0, dma_busy_cycles = 0;
  memory::HbmCounters hbm;
  std::array<std::uint64_t, static_cast<std::size_t>(memory::HbmReason::kCount)> hbm_cycles{};
  std::uint64_t stepped_bundles = 0;
  std::uint64_t sent_bytes = 0, received_bytes = 0;               ///< to and from other chips
  std::uint64_t remote_copies = 0, remote_signals = 0, hops = 0;  ///< of what it sent

  void add(const ChipResult& other);  ///< `cycles`: the larger of both
};

/// What all chips did, together and each, and what crossed each wire between them.
struct SimulationResult : ChipResult {
  std::vector<ChipResult> chips;  ///< by device; of a chip alone: one
  std::vector<network::WireCounters> wires;
  std::uint64_t messages = 0, activations = 0;
};

/// Makes a chip (cores with DMA engines of their own, one HBM), or several and the network
/// between them, and runs the program on all of them, on as many cores as there is work for. The
/// chips begin together and go by one clock, which the network's events follow too. A kernel's
/// error and a deadlock are failures.
Expected<SimulationResult> simulate(const TpuParams& params, const Program& program,
                                    std::span<const CoreWork> work,
                                    const SimulationOptions& options,
                                    const run::Interconnect* joined = nullptr);

/// Nanoseconds in whole cycles of a clock, at least `least`.
std::uint64_t to_cycles(double ns, double hz, std::uint64_t least);

}  // namespace xpusim::tpu
