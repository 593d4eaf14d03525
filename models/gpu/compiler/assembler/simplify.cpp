#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

/// How often each virtual register is written.
std::vector<int> count_writes(const MachineCode& code) {
  std::vector<int> writes(code.registers.size());
  for (const auto& block : code.blocks) {
    for (const auto& i : block.code) {
      for (VReg r : i.defs) ++writes[r];
    }
  }
  return writes;
}

/// Written once, so that the same again, of the same sources, may be left out. A load too, as long
/// as nothing is stored.
bool is_plain(const MachineCode& code, const MachineInstruction& i,
              const std::vector<int>& writes) {
  const bool load = i.op == Opcode::kLdg && i.effect == MemoryEffect::kGlobalLoad;
  if ((!is_pure(i) && !load) || i.pinned || i.guard != kNoVReg || i.defs.empty()) return false;
  for (VReg r : i.defs) {
    if (writes[r] != 1) return false;
    if (i.defs.size() == 1 && code.tuple_of[r] >= 0) return false;  // has its own place
  }
  return true;
}

/// A source, and how often the block has written it before.
using Source = std::pair<VReg, int>;

void share(MachineCode& code, MachineBlock& block, const std::vector<int>& writes,
           std::vector<VReg>& instead) {
  using Key = std::tuple<Opcode, std::string_view, std::vector<Source>, std::uint32_t, std::size_t,
                         RegFile, int>;
  std::map<VReg, int> written;
  int stores = 0;  // and whatever else orders memory, so far
  std::map<Key, std::size_t> seen;
  std::vector<MachineInstruction> kept;
  for (auto& i : block.code) {
    for (VReg& r : i.uses) r = instead[r];
    if (i.guard != kNoVReg) i.guard = instead[i.guard];
    if (is_plain(code, i, writes)) {
      std::vector<Source> sources;
      for (VReg r : i.uses) {
        const auto known = written.find(r);
        sources.emplace_back(r, known == written.end() ? 0 : known->second);
      }
      Key key{i.op,
              i.mnemonic,
              std::move(sources),
              i.immediate,
              i.defs.size(),
              code.registers[i.defs[0]],
              i.op == Opcode::kLdg ? stores : 0};
      const auto [it, fresh] = seen.try_emplace(key, kept.size());
      if (!fresh) {
        for (std::size_t d = 0; d < i.defs.size(); ++d) {
          instead[i.defs[d]] = kept[it->second].defs[d];
        }
        continue;
      }
    }
    for (VReg r : i.defs) {
      if (writes[r] > 1) ++written[r];
    }
    const MemoryEffect e = i.effect;
    if (e == MemoryEffect::kGlobalStore || e == MemoryEffect::kBarrier || e == MemoryEffect::kEnd) {
      ++stores;
    }
    kept.push_back(std::move(i));
  }
  block.code = std::move(kept);
}

bool is_needed(const MachineInstruction& i, const std::vector<int>& reads) {
  if (i.op == Opcode::kS2r) return reads[i.defs[0]] != 0;
  if (!is_pure(i)) return true;
  for (VReg r : i.defs) {
    if (reads[r] != 0) return true;
  }
  return i.defs.empty();
}

bool drop_unread(MachineCode& code) {
  std::vector<int> reads(code.registers.size());
  for (const auto& block : code.blocks) {
    for (const auto& i : block.code) {
      for (VReg r : i.uses) {
        bool own = false;  // a redefinition reads its own result
        for (VReg d : i.defs) own = own || d == r;
        if (!own || i.effect != MemoryEffect::kNone) ++reads[r];
      }
      if (i.guard != kNoVReg) ++reads[i.guard];
    }
  }
  bool changed = false;
  for (auto& block : code.blocks) {
    changed |= std::erase_if(block.code, [&](const auto& i) { return !is_needed(i, reads); }) != 0;
  }
  return changed;
}

}  // namespace

bool is_pure(const MachineInstruction& i) {
  switch (i.op) {
    case Opcode::kAlu:
    case Opcode::kFma:
    case Opcode::kHfma2:
    case Opcode::kFp64:
    case Opcode::kMufu:
    case Opcode::kUniform:
    case Opcode::kLdc:
    case Opcode::kS2ur:
      return i.effect == MemoryEffect::kNone;
    default:
      return false;
  }
}

void simplify(MachineCode& code) {
  const std::vector<int> writes = count_writes(code);
  std::vector<VReg> instead(code.registers.size());
  for (VReg r = 0; r < instead.size(); ++r) instead[r] = r;
  for (auto& block : code.blocks) share(code, block, writes, instead);
  while (drop_unread(code)) {
  }
}

}  // namespace xpusim::gpu
