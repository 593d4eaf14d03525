#include "models/gpu/compiler/lowering/builder.h"

namespace xpusim::gpu {

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
