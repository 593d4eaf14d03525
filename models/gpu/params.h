#pragma once

#include <cstdint>
#include <tuple>

#include "models/energy/gpu_events.h"
#include "models/gpu/compiler/params.h"
#include "models/gpu/core/params.h"
#include "models/memory/l2_params.h"
#include "sim/config/param.h"

namespace xpusim::gpu {

/// Everything about a GPU that an architect may vary: the map `gpu:` of a configuration.
struct GpuParams {
  double clock_hz = 1.98e9;
  double tensor_flops_per_cycle = 4096;
  SmParams sm;
  LaunchParams launch;
  memory::MemoryParams memory;
  CompilerParams compiler;
  energy::GpuEnergyParams energy;

  static constexpr auto schema() {
    using config::field, config::group, config::Unit;
    using P = GpuParams;
    return std::tuple{
        field("clock", &P::clock_hz, Unit::kHertz,
              "clock of the SMs; the L2 keeps its own rates where a run has another", 1e8, 1e10),
        field("tensor_flops_per_cycle", &P::tensor_flops_per_cycle, Unit::kCount,
              "dense bf16 operations of an SM's tensor cores a cycle, for the peak", 0, 1e6),
        group("sm", &P::sm, "streaming multiprocessor"),
        group("launch", &P::launch, "launch of a grid"),
        group("memory", &P::memory, "networks, L2 and HBM"),
        group("compiler", &P::compiler, "model of the vendor's assembler"),
        group("energy", &P::energy, "energy per event and standing power"),
    };
  }
};

}  // namespace xpusim::gpu
