#include <algorithm>
#include <set>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

using Code = std::vector<MachineInstruction>;

/// The last instruction with an effect, if it is a guarded store just before the end, else
/// code.size().
std::size_t last_store(const Code& code) {
  if (code.empty() || code.back().op != Opcode::kExit) return code.size();
  for (std::size_t at = code.size() - 1; at-- > 0;) {
    if (code[at].effect == MemoryEffect::kNone) continue;
    return code[at].guards_early_exit && code[at].guard != kNoVReg ? at : code.size();
  }
  return code.size();
}

bool only_fetches(const MachineInstruction& i) {
  return i.op == Opcode::kLds || i.op == Opcode::kLdc || i.mnemonic == "MOV" ||
         i.mnemonic == "IMAD.MOV.U32";
}

/// Instructions after the last other effect that only fetch what the store needs: they can wait
/// until the idle warps have gone.
std::vector<std::size_t> fetches_for(const Code& code, std::size_t store) {
  std::set<VReg> wanted(code[store].uses.begin(), code[store].uses.end());
  std::vector<std::size_t> found;
  for (std::size_t at = store; at-- > 0;) {
    const MachineInstruction& i = code[at];
    const bool effect = i.effect != MemoryEffect::kNone && i.effect != MemoryEffect::kSharedLoad;
    if (effect) break;
    bool exclusive = only_fetches(i) && i.guard == kNoVReg;
    for (VReg d : i.defs) {
      exclusive = exclusive && wanted.count(d) != 0;
      for (std::size_t later = at + 1; later < code.size(); ++later) {
        const bool is_tail = later == store || std::count(found.begin(), found.end(), later) != 0;
        const auto& uses = code[later].uses;
        if (!is_tail && std::count(uses.begin(), uses.end(), d) != 0) exclusive = false;
      }
    }
    if (!exclusive) continue;
    found.push_back(at);
    wanted.insert(i.uses.begin(), i.uses.end());
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace

void exit_early(MachineCode& code) {
  Code& last = code.blocks.back().code;
  const std::size_t store = last_store(last);
  if (store == last.size()) return;
  MachineInstruction exit;
  exit.op = Opcode::kExit;
  exit.mnemonic = "EXIT";
  exit.effect = MemoryEffect::kEnd;
  exit.guard = last[store].guard;
  exit.guard_negated = !last[store].guard_negated;
  exit.site = last[store].site;
  exit.vector = last[store].vector;
  exit.line = last[store].line;
  const auto tail = fetches_for(last, store);
  Code result;
  for (std::size_t at = 0; at < last.size(); ++at) {
    if (at == store || std::count(tail.begin(), tail.end(), at) != 0) continue;
    if (at == last.size() - 1) {
      result.push_back(exit);
      for (std::size_t t : tail) result.push_back(last[t]);
      result.push_back(last[store]);
      result.back().guard = kNoVReg;
    }
    result.push_back(last[at]);
  }
  last = std::move(result);
}

}  // namespace xpusim::gpu
