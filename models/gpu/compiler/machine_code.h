#pragma once

// The compiler's own form of a warp program, between lowering and the assembler's passes:
// instructions over virtual registers, in basic blocks. Mostly in static single assignment; a
// guarded instruction redefines its destination (the old value stays in the lanes that it is off
// for).

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/gpu/program/program.h"

namespace xpusim::gpu {

using VReg = std::uint32_t;  ///< number of a virtual register, over all files
inline constexpr VReg kNoVReg = ~0u;

/// Constant-bank offsets that every kernel loads from, as immediates of LDC and ULDC. Parameters
/// are told apart by their numbers, which are smaller than these.
inline constexpr std::uint32_t kStackPointerParameter = 0x10028;
inline constexpr std::uint32_t kDescriptorParameter = 0x10208;
inline constexpr std::uint32_t kGridParameter = 0x10300;
inline constexpr std::uint32_t kParameterAddress = 0x10198;  ///< of the parameters themselves

enum class RegFile : std::uint8_t { kGeneral, kUniform, kPredicate };

/// What an instruction orders itself against.
enum class MemoryEffect : std::uint8_t {
  kNone,
  kGlobalLoad,
  kGlobalStore,  ///< stores and atomics
  kSharedLoad,
  kSharedStore,
  kBarrier,  ///< against every access to memory
  kEnd,      ///< kExit, kBra: against everything with an effect
};

using VRegList = boost::container::small_vector<VReg, 4>;

struct MachineInstruction {
  Opcode op = Opcode::kNop;
  std::string_view mnemonic;  ///< a literal
  VRegList defs, uses;        ///< a redefined register stands in both
  VReg guard = kNoVReg;
  bool guard_negated = false;
  bool guards_early_exit = false;  ///< a guarded store (or part of an atomic) that idle warps skip
  bool hands_on = false;  ///< a copy for another block: nothing if both lie in one register
  bool pinned = false;    ///< made where it stands: neither hoisted nor shared with its like
  MemoryEffect effect = MemoryEffect::kNone;
  Branch branch = Branch::kAlways;
  std::uint8_t active_warps = 0, active_lanes = 0;
  std::uint8_t barrier = 0, meeting = 0;  ///< as in Instruction
  std::uint16_t vector = 0, width = 0, copy = 0;
  std::uint32_t site = kNoSite;
  std::uint32_t line = 0;
  std::uint32_t immediate = 0;  ///< distinguishes instructions that differ in a constant only
  std::int32_t target = -1;     ///< kBra: block
  std::uint8_t extra_passes = 0, pending = 0;                ///< as in Instruction
  std::uint32_t shared_lanes = kNoLanes, shared_offset = 0;  ///< as in Instruction
  MmaShape mma;
};

/// Registers that an instruction needs side by side, aligned to their number (2 or 4).
using Tuple = std::vector<VReg>;

struct MachineBlock {
  std::vector<MachineInstruction> code;
  int loop_begin = -1;  ///< of a block that ends in a back edge: the loop's first block
};

struct MachineCode {
  std::vector<MachineBlock> blocks;
  std::vector<RegFile> registers;      ///< [vreg] its file
  std::vector<std::int32_t> tuple_of;  ///< [vreg] its tuple, or -1
  std::vector<Tuple> tuples;

  VReg add(RegFile file) {
    registers.push_back(file);
    tuple_of.push_back(-1);
    return static_cast<VReg>(registers.size() - 1);
  }
  /// Asks for these registers side by side. False when one already is in another tuple.
  bool tie(const Tuple& tuple);
};

}  // namespace xpusim::gpu
