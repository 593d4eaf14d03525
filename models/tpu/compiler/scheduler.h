#pragma once

// List scheduling of straight-line vector code into bundles, with register allocation.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/tpu/params.h"
#include "models/tpu/program/program.h"

namespace xpusim::tpu {

/// A register before allocation: an index into DraftBlock::files.
using Virtual = std::int32_t;
inline constexpr Virtual kNoVirtual = -1;

enum class RegisterFile : std::uint8_t { kVector, kMask, kScalar };

/// An instruction before scheduling.
struct Draft {
  Opcode op = Opcode::kVMove;
  Element element = Element::kNone;
  bool masked = false;
  bool transposed = false;         ///< weights
  bool keep = false;               ///< rows: their sums stay in the unit
  std::uint8_t unit = 0, set = 0;  ///< of what goes to or comes from a matrix unit
  Virtual dst = kNoVirtual;
  std::array<Virtual, 3> src = {kNoVirtual, kNoVirtual, kNoVirtual};
  Address address;
  std::uint32_t line = 0;
};

/// Straight-line code in a legal order. Each virtual register is written once.
struct DraftBlock {
  std::vector<Draft> code;
  std::vector<RegisterFile> files;  ///< of each virtual register

  Virtual fresh(RegisterFile file) {
    files.push_back(file);
    return static_cast<Virtual>(files.size()) - 1;
  }
};

struct ScheduledBundle {
  std::vector<Instruction> instructions;
  std::uint32_t line = 0;  ///< of its oldest instruction
};

/// Packs the block into bundles: each cycle takes the oldest instructions whose operands are ready,
/// as far as slots, units and free registers allow. Cycles in which nothing can issue are left out:
/// the core interlocks. What a matrix unit takes and gives keeps its order, one instruction of a
/// kind a unit and bundle; no more results are asked for than the unit holds. It does not move code
/// across blocks, and it does not spill: when the block needs more registers than there are, there
/// is no result.
std::optional<std::vector<ScheduledBundle>> schedule(const DraftBlock& block,
                                                     const CoreParams& core);

}  // namespace xpusim::tpu
