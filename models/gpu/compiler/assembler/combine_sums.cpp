#include <algorithm>
#include <set>
#include <string_view>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/assembler/block_uses.h"

namespace xpusim::gpu {
namespace {

constexpr std::size_t kMostInputs = 3;  ///< of IADD3
constexpr std::uint32_t kMinus = 1;     ///< immediate of a difference of two registers

/// How many numbers an addition takes, an immediate too.
std::size_t inputs_of(const MachineInstruction& i) {
  return i.uses.size() + (i.uses.size() == 1 || i.immediate > kMinus ? 1 : 0);
}

/// An addition of lane registers whose carry nobody takes.
bool is_sum(const MachineCode& code, const BlockUses& u, const MachineInstruction& i,
            std::size_t block) {
  if (i.mnemonic != "IADD3" || !u.is_plain(i) || u.read_elsewhere[i.defs[0]]) return false;
  const auto& readers = u.readers[i.defs[0]];
  return std::none_of(readers.begin(), readers.end(), [&](std::size_t r) {
    const std::string_view reader = code.blocks[block].code[r].mnemonic;
    return reader == "IADD3.X" || reader == "IMAD.X";
  });
}

/// What a product becomes with a third source added: none for other instructions.
std::string_view with_addend(const MachineInstruction& i) {
  if (i.mnemonic == "IMAD" && i.uses.size() + (i.immediate != 0 ? 1 : 0) == 2) return "IMAD";
  if (i.mnemonic == "SHF.L" && i.uses.size() == 1) return "LEA";
  return "";
}

/// The place of what makes a register that only this instruction reads, or kNowhere.
std::size_t own_maker(const BlockUses& u, VReg r, std::size_t reader) {
  const std::size_t maker = u.maker[r];
  return maker < reader && u.read_once(r) ? maker : BlockUses::kNowhere;
}

/// Products and shifts that only one sum of two reads.
void multiply_and_add(MachineCode& code, std::size_t block) {
  auto& list = code.blocks[block].code;
  const BlockUses u(code, block);
  std::set<std::size_t> gone;
  for (std::size_t at = 0; at < list.size(); ++at) {
    MachineInstruction& sum = list[at];
    if (!is_sum(code, u, sum, block) || inputs_of(sum) != 2 || sum.uses.size() != 2) continue;
    for (std::size_t n = 0; n < 2; ++n) {
      const std::size_t maker = own_maker(u, sum.uses[n], at);
      if (maker == BlockUses::kNowhere || !u.is_plain(list[maker])) continue;
      const MachineInstruction& product = list[maker];
      const std::string_view fused = with_addend(product);
      if (fused.empty() || (fused == "LEA" && sum.immediate == kMinus)) continue;
      const VReg addend = sum.uses[1 - n];
      sum.op = product.op;
      sum.mnemonic = fused;
      sum.immediate = product.immediate;
      sum.uses = product.uses;
      sum.uses.push_back(addend);
      gone.insert(maker);
      break;
    }
  }
  remove(code.blocks[block], gone);
}

/// Sums that only one other one reads.
void three_at_once(MachineCode& code, std::size_t block) {
  auto& list = code.blocks[block].code;
  const BlockUses u(code, block);
  std::set<std::size_t> gone;
  for (std::size_t at = 0; at < list.size(); ++at) {
    MachineInstruction& outer = list[at];
    if (!is_sum(code, u, outer, block)) continue;
    for (std::size_t n = 0; n < outer.uses.size(); ++n) {
      const std::size_t maker = own_maker(u, outer.uses[n], at);
      if (maker == BlockUses::kNowhere || !is_sum(code, u, list[maker], block)) continue;
      const MachineInstruction& inner = list[maker];
      if (inputs_of(inner) + inputs_of(outer) - 1 > kMostInputs) continue;
      if (inner.uses.size() == 1 && outer.uses.size() == 1) continue;  // two immediates
      VRegList sources = inner.uses;
      for (std::size_t m = 0; m < outer.uses.size(); ++m) {
        if (m != n) sources.push_back(outer.uses[m]);
      }
      outer.uses = sources;
      // Only tells sums apart: signs and constants of both, each at its own place.
      outer.immediate = outer.immediate * 0x9e3779b1u + inner.immediate * 0x85ebca6bu + 1;
      gone.insert(maker);
      break;
    }
  }
  remove(code.blocks[block], gone);
}

}  // namespace

void combine_sums(MachineCode& code) {
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    multiply_and_add(code, b);
    three_at_once(code, b);
  }
}

}  // namespace xpusim::gpu
