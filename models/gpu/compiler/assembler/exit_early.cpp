#include <algorithm>
#include <set>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

using Code = std::vector<MachineInstruction>;

bool has_effect(const MachineInstruction& i) { return i.effect != MemoryEffect::kNone; }

/// The last instructions with an effect, ascending: a guarded store just before the end, or an
/// atomic with its fences. None if something else comes last.
std::vector<std::size_t> last_store(const Code& code) {
  std::vector<std::size_t> found;
  if (code.empty() || code.back().op != Opcode::kExit) return found;
  bool store = false;
  for (std::size_t at = code.size() - 1; at-- > 0;) {
    const MachineInstruction& i = code[at];
    if (!has_effect(i)) continue;
    const bool fence = i.site == kNoSite;
    if (!i.guards_early_exit || (store && !fence)) break;
    if (!found.empty() && i.guard != code[found.back()].guard) break;
    store = store || !fence;
    found.push_back(at);
  }
  if (!store) found.clear();
  std::reverse(found.begin(), found.end());
  return found;
}

bool contains(const std::vector<std::size_t>& list, std::size_t at) {
  return std::find(list.begin(), list.end(), at) != list.end();
}

bool only_fetches(const MachineInstruction& i) {
  return i.op == Opcode::kLds || i.op == Opcode::kLdc || i.mnemonic == "MOV" ||
         i.mnemonic == "IMAD.MOV.U32";
}

/// Instructions after the last other effect that only fetch what the store needs: they can wait
/// until the idle warps have gone.
std::vector<std::size_t> fetches_for(const Code& code, const std::vector<std::size_t>& store) {
  std::set<VReg> wanted;
  for (std::size_t s : store) wanted.insert(code[s].uses.begin(), code[s].uses.end());
  std::vector<std::size_t> found;
  for (std::size_t at = store.back(); at-- > 0;) {
    const MachineInstruction& i = code[at];
    if (contains(store, at)) continue;
    if (has_effect(i) && i.effect != MemoryEffect::kSharedLoad) break;
    bool exclusive = only_fetches(i) && i.guard == kNoVReg;
    for (VReg d : i.defs) {
      exclusive = exclusive && wanted.count(d) != 0;
      for (std::size_t later = at + 1; later < code.size(); ++later) {
        const bool is_tail = contains(store, later) || contains(found, later);
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

void leave_before_store(Code& last) {
  const std::vector<std::size_t> store = last_store(last);
  if (store.empty()) return;
  const std::size_t access = *std::find_if(store.begin(), store.end(),
                                           [&](std::size_t s) { return last[s].site != kNoSite; });
  MachineInstruction exit;
  exit.op = Opcode::kExit;
  exit.mnemonic = "EXIT";
  exit.effect = MemoryEffect::kEnd;
  exit.guard = last[access].guard;
  exit.guard_negated = !last[access].guard_negated;
  exit.site = last[access].site;
  exit.vector = last[access].vector;
  exit.copy = last[access].copy;
  exit.line = last[access].line;
  const auto tail = fetches_for(last, store);
  Code result;
  for (std::size_t at = 0; at + 1 < last.size(); ++at) {
    if (!contains(store, at) && !contains(tail, at)) result.push_back(last[at]);
  }
  result.push_back(exit);
  for (std::size_t t : tail) result.push_back(last[t]);
  for (std::size_t s : store) {
    result.push_back(last[s]);
    result.back().guard = kNoVReg;
  }
  result.push_back(last.back());
  last = std::move(result);
}

}  // namespace

void exit_early(MachineCode& code) {
  for (MachineBlock& block : code.blocks) leave_before_store(block.code);
}

}  // namespace xpusim::gpu
