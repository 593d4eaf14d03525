#include <algorithm>
#include <set>
#include <string_view>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/assembler/block_uses.h"

namespace xpusim::gpu {
namespace {

constexpr std::size_t kMostInputs = 3;  ///< of LOP3 and PLOP3
constexpr std::uint32_t kVariantBits = 30;

bool contains(const VRegList& list, VReg r) {
  return std::find(list.begin(), list.end(), r) != list.end();
}

/// A comparison of numbers that does not yet take a predicate.
bool is_comparison(const MachineCode& code, const MachineInstruction& i) {
  return (i.mnemonic == "FSETP" || i.mnemonic == "ISETP") &&
         std::none_of(i.uses.begin(), i.uses.end(),
                      [&](VReg r) { return code.registers[r] == RegFile::kPredicate; });
}

/// Comparisons take a second predicate, to which they add their result by and or or: logic of two
/// predicates becomes part of a comparison that nothing else reads.
void into_comparisons(MachineCode& code, std::size_t block) {
  auto& list = code.blocks[block].code;
  const BlockUses u(code, block);
  std::set<std::size_t> gone, changed;
  for (std::size_t at = 0; at < list.size(); ++at) {
    const MachineInstruction comparison = list[at];
    if (!u.is_plain(comparison) || !is_comparison(code, comparison)) continue;
    const VReg p = comparison.defs[0];
    const bool absorbed = !u.readers[p].empty() && !u.read_elsewhere[p] &&
                          std::all_of(u.readers[p].begin(), u.readers[p].end(), [&](std::size_t r) {
                            const MachineInstruction& logic = list[r];
                            return logic.mnemonic == "PLOP3" && u.is_plain(logic) &&
                                   logic.uses.size() == 2 && logic.uses[0] != logic.uses[1] &&
                                   changed.count(r) == 0;
                          });
    if (!absorbed) continue;
    for (std::size_t r : u.readers[p]) {
      MachineInstruction& logic = list[r];
      const VReg other = logic.uses[0] == p ? logic.uses[1] : logic.uses[0];
      logic.mnemonic = comparison.mnemonic;
      logic.uses = comparison.uses;
      logic.uses.push_back(other);
      logic.immediate ^= comparison.immediate;
      changed.insert(r);
    }
    gone.insert(at);
  }
  remove(code.blocks[block], gone);
}

bool is_logic(const MachineCode& code, const MachineInstruction& i) {
  const bool predicate = !i.defs.empty() && code.registers[i.defs[0]] == RegFile::kPredicate;
  return (i.mnemonic == "LOP3" && !predicate) || (i.mnemonic == "PLOP3" && predicate);
}

/// A constant is a source of its own, but for predicates.
bool has_constant(const MachineInstruction& i) {
  if (i.mnemonic == "PLOP3") return false;
  return i.uses.size() == 1 || (i.immediate & ((1u << kVariantBits) - 1)) != 0;
}

/// Bitwise operations that only one other one reads become part of it while it has room.
void into_one(MachineCode& code, std::size_t block) {
  auto& list = code.blocks[block].code;
  const BlockUses u(code, block);
  std::set<std::size_t> gone;
  for (std::size_t at = 0; at < list.size(); ++at) {
    MachineInstruction& outer = list[at];
    if (!u.is_plain(outer) || !is_logic(code, outer)) continue;
    for (std::size_t n = 0; n < outer.uses.size(); ++n) {
      const VReg r = outer.uses[n];
      const std::size_t maker = u.maker[r];
      if (maker >= at || !u.read_once(r)) continue;
      const MachineInstruction& inner = list[maker];
      if (inner.mnemonic != outer.mnemonic || !u.is_plain(inner)) continue;
      VRegList sources;
      for (VReg s : inner.uses) {
        if (!contains(sources, s)) sources.push_back(s);
      }
      for (VReg s : outer.uses) {
        if (s != r && !contains(sources, s)) sources.push_back(s);
      }
      if (sources.size() + has_constant(inner) + has_constant(outer) > kMostInputs) continue;
      outer.uses = sources;
      outer.immediate = (outer.immediate ^ inner.immediate * 3) | 1;
      gone.insert(maker);
      break;
    }
  }
  remove(code.blocks[block], gone);
}

}  // namespace

void combine_logic(MachineCode& code) {
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    into_comparisons(code, b);
    into_one(code, b);
  }
}

}  // namespace xpusim::gpu
