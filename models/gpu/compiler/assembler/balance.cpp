#include <algorithm>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

/// The ALU pipe counts as clearly busier from this ratio on: kernels whose listings have 14 to 11
/// keep their ALU forms, those with 9 to 6 do not.
constexpr int kBusierNumerator = 13, kBusierDenominator = 10;

/// Whether a guarded instruction leaves its result as it was where it is off.
bool redefines(const MachineInstruction& i) {
  return i.guard != kNoVReg &&
         (i.defs.empty() || std::count(i.uses.begin(), i.uses.end(), i.defs[0]) != 0);
}

/// The FMA pipe's form of an ALU instruction, or "".
std::string_view fma_form(const MachineInstruction& i) {
  if (i.op != Opcode::kAlu || redefines(i)) return "";
  if (i.mnemonic == "IADD3.X" && i.uses.size() == 2) return "IMAD.X";
  if (i.mnemonic == "SHF.L") return "IMAD.SHL.U32";
  if (i.mnemonic == "LEA") return "IMAD";
  if (i.mnemonic == "MOV") return "IMAD.MOV.U32";
  if (i.mnemonic == "IADD3" && i.uses.size() == 1) return "VIADD";
  if (i.mnemonic == "IADD3" && i.uses.size() == 2) return "IMAD.IADD";
  return "";
}

}  // namespace

void balance_pipes(MachineCode& code) {
  int alu = 0, fma = 0;
  for (const auto& block : code.blocks) {
    for (const auto& i : block.code) {
      alu += pipe_of(i.op) == Pipe::kAlu;
      fma += pipe_of(i.op) == Pipe::kFma;
    }
  }
  for (auto& block : code.blocks) {
    for (auto& i : block.code) {
      if (alu * kBusierDenominator <= fma * kBusierNumerator) return;
      const std::string_view form = fma_form(i);
      if (form.empty()) continue;
      i.op = Opcode::kFma;
      i.mnemonic = form;
      --alu;
      ++fma;
    }
  }
}

}  // namespace xpusim::gpu
