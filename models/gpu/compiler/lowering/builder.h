#pragma once

#include <initializer_list>
#include <string_view>

#include "models/gpu/compiler/machine_code.h"

namespace xpusim::gpu {

/// The mnemonic of a load or store of 1, 2, 4, 8 or 16 bytes a lane.
std::string_view memory_mnemonic(Opcode op, std::uint32_t bytes);

/// Appends instructions to the current block of a program under construction.
class Builder {
 public:
  explicit Builder(MachineCode& code) : code_(code) { code_.blocks.emplace_back(); }

  MachineCode& code() { return code_; }
  void set_line(std::uint32_t line) { line_ = line; }
  VReg general() { return code_.add(RegFile::kGeneral); }
  VReg uniform() { return code_.add(RegFile::kUniform); }
  VReg predicate() { return code_.add(RegFile::kPredicate); }

  /// Appends an instruction; the reference is good until the next one.
  MachineInstruction& emit(Opcode op, std::string_view mnemonic, std::initializer_list<VReg> defs,
                           std::initializer_list<VReg> uses, std::uint32_t immediate = 0);
  /// The same with a fresh lane register as its result.
  VReg value(Opcode op, std::string_view mnemonic, std::initializer_list<VReg> uses,
             std::uint32_t immediate = 0);
  /// Redefines `reg` where the predicate holds.
  void redefine(Opcode op, std::string_view mnemonic, VReg reg, VReg guard, bool negated,
                std::initializer_list<VReg> uses, std::uint32_t immediate = 0);
  VReg move(VReg from) { return value(Opcode::kAlu, "MOV", {from}); }
  VReg constant(std::uint32_t bits) { return value(Opcode::kAlu, "MOV", {}, bits); }

 private:
  MachineCode& code_;
  std::uint32_t line_ = 0;
};

}  // namespace xpusim::gpu
