#pragma once

#include "models/gpu/compiler/machine_code.h"
#include "models/gpu/compiler/params.h"
#include "models/gpu/program/program.h"

namespace xpusim::gpu {

/// How a register is read.
enum class Use : std::uint8_t { kOperand, kGuard };

/// Cycles from the issue of a fixed-latency instruction until this one may issue that reads its
/// result: one more where a result of the ALU or FMA pipe leaves it for another one that is not the
/// XU's, thirteen where a predicate guards.
std::int64_t use_latency(const Instruction& producer, const Instruction& consumer, RegFile file,
                         Use use, const CompilerParams& params);

/// What takes new work of a warp only every few cycles, which stall counts keep to.
enum class Unit : std::uint8_t {
  kAlu,
  kMultiplier,  ///< integer multiply-add
  kXu,
  kConstants,  ///< LDC and S2UR
  kMemory,     ///< every access to memory, and shuffles
  kAny,        ///< every instruction
  kCount
};

/// An instruction of that unit may not follow sooner than this.
struct Claim {
  Unit unit;
  std::int64_t cycles;
};
Claim claim_of(const Instruction& i, const CompilerParams& params);
/// Whether an instruction has to wait for that unit.
bool needs(const Instruction& i, Unit unit);

}  // namespace xpusim::gpu
