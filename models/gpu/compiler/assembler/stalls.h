#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

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
  kBarrier,    ///< what may not come close behind a barrier: memory, TMA, branches
  kAny,        ///< every instruction
  kCount
};

/// What an instruction asks of the units.
struct UnitUse {
  std::uint8_t needs = 0;    ///< a bit a unit that has to be free
  Unit claims = Unit::kAny;  ///< of which no other instruction may follow ...
  std::int64_t cycles = 0;   ///< ... sooner than this
};
UnitUse unit_use(Opcode op, std::string_view mnemonic, const CompilerParams& params);

/// When each unit takes the next instruction of a warp.
class Units {
 public:
  /// The first cycle at which no unit is in the way.
  std::int64_t free_for(const UnitUse& use) const {
    std::int64_t from = 0;
    for (std::size_t u = 0; u < free_.size(); ++u) {
      if ((use.needs >> u & 1) != 0) from = std::max(from, free_[u]);
    }
    return from;
  }
  void take(const UnitUse& use, std::int64_t at) {
    auto& free = free_[static_cast<std::size_t>(use.claims)];
    free = std::max(free, at + use.cycles);
  }

 private:
  std::array<std::int64_t, static_cast<std::size_t>(Unit::kCount)> free_{};
};

}  // namespace xpusim::gpu
