#include <algorithm>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

/// Predicates that may wait through a loop: the others are computed where they are needed. Assumed,
/// so that four of the seven are left for the body.
constexpr int kHoistedPredicates = 3;

std::vector<int> count_writes(const MachineCode& code, std::size_t first, std::size_t last) {
  std::vector<int> writes(code.registers.size());
  for (std::size_t b = first; b <= last; ++b) {
    for (const auto& i : code.blocks[b].code) {
      for (VReg r : i.defs) ++writes[r];
    }
  }
  return writes;
}

bool may_move(const MachineCode& code, const MachineInstruction& i, const std::vector<int>& inside,
              const std::vector<int>& everywhere) {
  if (!(is_pure(i) || i.op == Opcode::kS2r) || i.pinned) return false;
  if (i.guard != kNoVReg || i.defs.empty()) return false;
  for (VReg r : i.defs) {
    const std::int32_t tuple = code.tuple_of[r];
    const bool partly =
        tuple >= 0 && code.tuples[static_cast<std::size_t>(tuple)].size() != i.defs.size();
    if (everywhere[r] != 1 || partly) return false;
  }
  return std::all_of(i.uses.begin(), i.uses.end(), [&](VReg r) { return inside[r] == 0; });
}

/// Moves what a loop computes anew though nothing of it changes to the block before the loop.
bool hoist_from(MachineCode& code, std::size_t first, std::size_t last) {
  const std::vector<int> everywhere = count_writes(code, 0, code.blocks.size() - 1);
  std::vector<int> inside = count_writes(code, first, last);
  auto& before = code.blocks[first - 1].code;
  const bool ends_in_branch = !before.empty() && before.back().op == Opcode::kBra;
  std::vector<MachineInstruction> moved;
  int predicates = 0;
  for (std::size_t b = first; b <= last; ++b) {
    std::vector<MachineInstruction> kept;
    for (auto& i : code.blocks[b].code) {
      const bool holds_predicate =
          !i.defs.empty() && code.registers[i.defs[0]] == RegFile::kPredicate;
      if (!may_move(code, i, inside, everywhere) ||
          (holds_predicate && predicates == kHoistedPredicates)) {
        kept.push_back(std::move(i));
        continue;
      }
      predicates += holds_predicate;
      for (VReg r : i.defs) inside[r] = 0;
      moved.push_back(std::move(i));
    }
    code.blocks[b].code = std::move(kept);
  }
  before.insert(before.end() - (ends_in_branch ? 1 : 0), moved.begin(), moved.end());
  return !moved.empty();
}

}  // namespace

void hoist(MachineCode& code) {
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    if (code.blocks[b].loop_begin <= 0) continue;
    hoist_from(code, static_cast<std::size_t>(code.blocks[b].loop_begin), b);
  }
}

}  // namespace xpusim::gpu
