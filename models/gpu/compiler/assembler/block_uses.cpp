#include "models/gpu/compiler/assembler/block_uses.h"

#include <algorithm>
#include <utility>

namespace xpusim::gpu {

BlockUses::BlockUses(const MachineCode& code, std::size_t block)
    : writes(code.registers.size()),
      maker(code.registers.size(), kNowhere),
      readers(code.registers.size()),
      read_elsewhere(code.registers.size()) {
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    const auto& list = code.blocks[b].code;
    for (std::size_t at = 0; at < list.size(); ++at) {
      for (VReg r : list[at].defs) {
        ++writes[r];
        if (b == block) maker[r] = at;
      }
      for (VReg r : list[at].uses) {
        if (b == block) {
          readers[r].push_back(at);
        } else {
          read_elsewhere[r] = true;
        }
      }
      if (list[at].guard != kNoVReg) read_elsewhere[list[at].guard] = true;
    }
  }
}

bool BlockUses::is_plain(const MachineInstruction& i) const {
  return i.guard == kNoVReg && i.defs.size() == 1 && writes[i.defs[0]] == 1 &&
         std::all_of(i.uses.begin(), i.uses.end(), [&](VReg r) { return writes[r] <= 1; });
}

void remove(MachineBlock& block, const std::set<std::size_t>& places) {
  std::vector<MachineInstruction> kept;
  for (std::size_t at = 0; at < block.code.size(); ++at) {
    if (places.count(at) == 0) kept.push_back(std::move(block.code[at]));
  }
  block.code = std::move(kept);
}

}  // namespace xpusim::gpu
