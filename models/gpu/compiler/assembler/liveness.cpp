#include "models/gpu/compiler/assembler/liveness.h"

#include <algorithm>
#include <cstddef>

namespace xpusim::gpu {
namespace {

using Set = std::vector<bool>;

/// What a block reads before it writes it, and what it writes whatever was there.
struct Local {
  Set reads, writes;
};

Local look_at(const MachineBlock& block, std::size_t registers) {
  Local local{Set(registers), Set(registers)};
  for (const MachineInstruction& i : block.code) {
    const auto read = [&](VReg r) {
      if (r != kNoVReg && !local.writes[r]) local.reads[r] = true;
    };
    for (VReg r : i.uses) read(r);
    read(i.guard);
    for (VReg r : i.defs) {
      if (i.guard == kNoVReg) local.writes[r] = true;
    }
  }
  return local;
}

/// The blocks that may follow a block.
std::vector<std::size_t> followers(const MachineCode& code, std::size_t b) {
  std::vector<std::size_t> list;
  bool falls_through = true;
  for (const MachineInstruction& i : code.blocks[b].code) {
    if (i.op == Opcode::kBra) list.push_back(static_cast<std::size_t>(i.target));
    const bool always = i.guard == kNoVReg && i.branch == Branch::kAlways;
    if ((i.op == Opcode::kBra || i.op == Opcode::kExit) && always) falls_through = false;
  }
  if (falls_through && b + 1 < code.blocks.size()) list.push_back(b + 1);
  return list;
}

}  // namespace

Liveness find_liveness(const MachineCode& code) {
  const std::size_t blocks = code.blocks.size(), registers = code.registers.size();
  Liveness live{std::vector<Set>(blocks, Set(registers)), std::vector<Set>(blocks, Set(registers))};
  std::vector<Local> local;
  for (const MachineBlock& block : code.blocks) local.push_back(look_at(block, registers));
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::size_t b = blocks; b-- > 0;) {
      for (std::size_t next : followers(code, b)) {
        for (std::size_t r = 0; r < registers; ++r) {
          if (live.in[next][r]) live.out[b][r] = true;
        }
      }
      for (std::size_t r = 0; r < registers; ++r) {
        const bool in = local[b].reads[r] || (live.out[b][r] && !local[b].writes[r]);
        if (in != live.in[b][r]) changed = live.in[b][r] = true;
      }
    }
  }
  return live;
}

}  // namespace xpusim::gpu
