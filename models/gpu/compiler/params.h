#pragma once

#include <cstdint>
#include <tuple>

#include "sim/config/param.h"

namespace xpusim::gpu {

/// What the assembler model knows of the core. Fixed latencies become stall counts, so they must
/// not be shorter than the core's own; the scheduler's are only its guesses of what it cannot know.
/// Sources: latencies and intervals, the stall counts that the vendor's assembler for sm_90 sets in
/// the control words of the measured kernels (smallest distance of each kind of pair; layout of
/// the words: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
/// 2018), where FP32 and integer results are read 4 cycles later, as dependent-issue
/// microbenchmarks also say; mma.sync m16n8k16 is measured (traces/h200/microbench_sm.json);
/// scheduling guesses chosen so that registers and the order of loads agree with the vendor's on
/// measured kernels.
struct CompilerParams {
  std::int64_t alu_latency = 4;
  std::int64_t fma_latency = 4;
  std::int64_t predicate_latency = 13;
  std::int64_t crossing_latency = 1;
  std::int64_t uniform_latency = 4;
  std::int64_t uniform_to_vector_latency = 6;
  std::int64_t uniform_to_memory_latency = 11;
  std::int64_t fp64_latency = 8;
  std::int64_t mma_latency = 24;
  std::int64_t alu_interval = 2;
  std::int64_t xu_interval = 8;
  std::int64_t constant_interval = 8;
  std::int64_t memory_interval = 4;
  std::int64_t branch_interval = 5;
  std::int64_t barrier_interval = 6;
  std::int64_t group_interval = 4;
  std::int64_t max_stall = 15;
  std::int64_t load_guess = 48;
  std::int64_t memory_guess = 160;
  std::int64_t shared_guess = 30;
  std::int64_t mufu_guess = 20;
  std::int64_t occupancy_registers = 32;
  double longest_trade = 1.4;
  std::int64_t reserved_registers = 2;

  static constexpr auto schema() {
    using config::field;
    using config::Unit;
    using P = CompilerParams;
    return std::tuple{
        field("alu_latency", &P::alu_latency, Unit::kCycles, "result of the ALU pipe", 1, 15),
        field("fma_latency", &P::fma_latency, Unit::kCycles, "result of the FMA pipe", 1, 15),
        field("predicate_latency", &P::predicate_latency, Unit::kCycles,
              "predicate that guards an instruction", 1, 15),
        field("crossing_latency", &P::crossing_latency, Unit::kCycles,
              "added where a result is used by another pipe", 0, 8),
        field("uniform_latency", &P::uniform_latency, Unit::kCycles,
              "result of the uniform datapath, used there", 1, 15),
        field("uniform_to_vector_latency", &P::uniform_to_vector_latency, Unit::kCycles,
              "result of the uniform datapath, used by a lane instruction", 1, 15),
        field("uniform_to_memory_latency", &P::uniform_to_memory_latency, Unit::kCycles,
              "result of the uniform datapath, used by an access to memory", 1, 15),
        field("fp64_latency", &P::fp64_latency, Unit::kCycles, "result of the FP64 pipe", 1, 15),
        field("mma_latency", &P::mma_latency, Unit::kCycles, "result of mma.sync", 1, 60),
        field("alu_interval", &P::alu_interval, Unit::kCycles,
              "between a warp's ALU instructions, or integer multiply-adds (twice for wide ones)",
              1, 8),
        field("xu_interval", &P::xu_interval, Unit::kCycles, "between a warp's special functions",
              1, 15),
        field("constant_interval", &P::constant_interval, Unit::kCycles,
              "from LDC to the next LDC or S2UR", 1, 15),
        field("memory_interval", &P::memory_interval, Unit::kCycles,
              "between a warp's accesses to memory, of any kind, and shuffles", 1, 15),
        field("branch_interval", &P::branch_interval, Unit::kCycles,
              "after a branch or an exit not taken, and where ways meet", 1, 15),
        field("barrier_interval", &P::barrier_interval, Unit::kCycles,
              "from a barrier to the next access to memory, mbarrier or branch; after a fence", 1,
              15),
        field("group_interval", &P::group_interval, Unit::kCycles,
              "after a wait for groups of asynchronous copies", 1, 15),
        field("max_stall", &P::max_stall, Unit::kCycles, "largest stall a control word holds", 1,
              15),
        field("load_guess", &P::load_guess, Unit::kCycles,
              "global load, as the scheduler guesses it", 1, 1000),
        field("memory_guess", &P::memory_guess, Unit::kCycles,
              "global load from memory, as guessed where loads may flow", 1, 1000),
        field("shared_guess", &P::shared_guess, Unit::kCycles,
              "shared memory, shuffles and constants, as guessed", 1, 1000),
        field("mufu_guess", &P::mufu_guess, Unit::kCycles, "special functions, as guessed", 1,
              1000),
        field("occupancy_registers", &P::occupancy_registers, Unit::kCount,
              "registers a thread at which every warp slot can be filled", 16, 255),
        field("longest_trade", &P::longest_trade, Unit::kRatio,
              "how much longer a block may get for the sake of occupancy", 1, 10),
        field("reserved_registers", &P::reserved_registers, Unit::kCount,
              "added to what the code uses", 0, 8)};
  }
};

}  // namespace xpusim::gpu
