#include <algorithm>
#include <map>
#include <set>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/assembler/block_uses.h"

namespace xpusim::gpu {

/// Only first writes are cleared so: what reads or writes the registers comes later.
void pair_zeros(MachineCode& code) {
  for (MachineBlock& block : code.blocks) {
    std::map<VReg, std::size_t> cleared;
    for (std::size_t at = 0; at < block.code.size(); ++at) {
      const MachineInstruction& i = block.code[at];
      if (i.mnemonic == "CS2R.32" && i.guard == kNoVReg) cleared.try_emplace(i.defs[0], at);
    }
    std::set<std::size_t> gone;
    for (const Tuple& tuple : code.tuples) {
      for (std::size_t n = 0; n + 1 < tuple.size(); n += 2) {
        const auto low = cleared.find(tuple[n]), high = cleared.find(tuple[n + 1]);
        if (low == cleared.end() || high == cleared.end()) continue;
        const std::size_t first = std::min(low->second, high->second);
        block.code[first].mnemonic = "CS2R";
        block.code[first].defs = {tuple[n], tuple[n + 1]};
        gone.insert(std::max(low->second, high->second));
      }
    }
    remove(block, gone);
  }
}

}  // namespace xpusim::gpu
