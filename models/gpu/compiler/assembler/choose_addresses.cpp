#include <map>
#include <utility>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

/// An index and the size of what it counts.
using Scaled = std::pair<VReg, std::uint32_t>;

bool is_address(const MachineInstruction& i) {
  return i.mnemonic == "IMAD.WIDE" && i.guard == kNoVReg && i.uses.size() == 3;
}

/// Pointers among the parameters: [low half] the number of the parameter.
std::map<VReg, std::uint32_t> find_parameters(const MachineCode& code) {
  std::map<VReg, std::uint32_t> found;
  for (const auto& block : code.blocks) {
    for (const auto& i : block.code) {
      if (i.mnemonic == "LDC.64" && i.uses.empty()) found[i.defs[0]] = i.immediate;
    }
  }
  return found;
}

/// In how many addresses each index is scaled by so much.
std::map<Scaled, int> count_scaled(const MachineCode& code) {
  std::map<Scaled, int> count;
  for (const auto& block : code.blocks) {
    for (const auto& i : block.code) {
      if (is_address(i)) ++count[{i.uses[0], i.immediate}];
    }
  }
  return count;
}

/// The two halves of the sum by themselves, of a pointer on the uniform datapath.
void emit_halves(MachineCode& code, const MachineInstruction& wide, std::uint32_t parameter,
                 std::vector<MachineInstruction>& to) {
  const VReg index = wide.uses[0], low = wide.defs[0], high = wide.defs[1];
  MachineInstruction pointer, first = wide, second = wide;
  pointer.op = Opcode::kUniform;
  pointer.mnemonic = "ULDC.64";
  pointer.defs = {code.add(RegFile::kUniform)};
  pointer.immediate = parameter;
  pointer.line = wide.line;
  first.op = second.op = Opcode::kAlu;
  first.mnemonic = wide.immediate == 1 ? "IADD3.CO" : "LEA.CO";
  first.defs = {low};
  first.uses = {index, pointer.defs[0]};
  second.mnemonic = "LEA.HI.X.SX32";
  second.defs = {high};
  second.uses = {index, pointer.defs[0], low};
  to.insert(to.end(), {pointer, first, second});
}

}  // namespace

void choose_addresses(MachineCode& code) {
  const auto parameters = find_parameters(code);
  const auto count = count_scaled(code);
  for (auto& block : code.blocks) {
    std::vector<MachineInstruction> result;
    for (auto& i : block.code) {
      const auto parameter = is_address(i) ? parameters.find(i.uses[1]) : parameters.end();
      if (parameter != parameters.end() && count.at({i.uses[0], i.immediate}) == 1) {
        emit_halves(code, i, parameter->second, result);
      } else {
        result.push_back(std::move(i));
      }
    }
    block.code = std::move(result);
  }
}

}  // namespace xpusim::gpu
