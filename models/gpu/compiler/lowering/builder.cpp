#include "models/gpu/compiler/lowering/builder.h"

#include <array>
#include <bit>

namespace xpusim::gpu {

std::string_view memory_mnemonic(Opcode op, std::uint32_t bytes) {
  using Widths = std::array<std::string_view, 5>;
  static constexpr Widths kLds{"LDS.U8", "LDS.U16", "LDS", "LDS.64", "LDS.128"};
  static constexpr Widths kSts{"STS.U8", "STS.U16", "STS", "STS.64", "STS.128"};
  static constexpr Widths kLdg{"LDG.E.U8", "LDG.E.U16", "LDG.E", "LDG.E.64", "LDG.E.128"};
  static constexpr Widths kStg{"STG.E.U8", "STG.E.U16", "STG.E", "STG.E.64", "STG.E.128"};
  const Widths& widths = op == Opcode::kLds   ? kLds
                         : op == Opcode::kSts ? kSts
                         : op == Opcode::kLdg ? kLdg
                                              : kStg;
  return widths.at(static_cast<std::size_t>(std::countr_zero(bytes)));
}

MachineInstruction& Builder::emit(Opcode op, std::string_view mnemonic,
                                  std::initializer_list<VReg> defs,
                                  std::initializer_list<VReg> uses, std::uint32_t immediate) {
  auto& code = code_.blocks.back().code;
  MachineInstruction& i = code.emplace_back();
  i.op = op;
  i.mnemonic = mnemonic;
  i.defs.assign(defs.begin(), defs.end());
  for (VReg r : uses) {
    if (r != kNoVReg) i.uses.push_back(r);
  }
  i.line = line_;
  i.immediate = immediate;
  return i;
}

VReg Builder::value(Opcode op, std::string_view mnemonic, std::initializer_list<VReg> uses,
                    std::uint32_t immediate) {
  const VReg result = general();
  emit(op, mnemonic, {result}, uses, immediate);
  return result;
}

void Builder::redefine(Opcode op, std::string_view mnemonic, VReg reg, VReg guard, bool negated,
                       std::initializer_list<VReg> uses, std::uint32_t immediate) {
  MachineInstruction& i = emit(op, mnemonic, {reg}, uses, immediate);
  i.uses.push_back(reg);
  i.guard = guard;
  i.guard_negated = negated;
}

}  // namespace xpusim::gpu
