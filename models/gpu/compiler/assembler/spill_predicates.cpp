#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

/// Predicates that several blocks share. So many keep a predicate register through the whole code;
/// the others wait in lane registers, into which each definition puts them.
struct Shared {
  static constexpr std::size_t kKept = 4;
  std::set<VReg> kept;
  std::map<VReg, VReg> in_lanes;  ///< predicate -> lane register
};

Shared find_shared(MachineCode& code) {
  std::map<VReg, std::size_t> first_block;
  std::vector<VReg> order;
  std::set<VReg> several;
  auto touch = [&](VReg r, std::size_t block) {
    if (r == kNoVReg || code.registers[r] != RegFile::kPredicate) return;
    const auto [it, fresh] = first_block.try_emplace(r, block);
    if (!fresh && it->second != block && several.insert(r).second) order.push_back(r);
  };
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    for (const MachineInstruction& i : code.blocks[b].code) {
      for (VReg r : i.uses) touch(r, b);
      touch(i.guard, b);
      for (VReg r : i.defs) touch(r, b);
    }
  }
  Shared shared;
  for (VReg r : order) {
    if (shared.kept.size() < Shared::kKept) {
      shared.kept.insert(r);
    } else {
      shared.in_lanes[r] = code.add(RegFile::kGeneral);
    }
  }
  return shared;
}

/// One pass over a block with the predicate registers that are left; the value whose next use is
/// farthest yields.
class Spiller {
 public:
  Spiller(MachineCode& code, MachineBlock& block, const Shared& shared)
      : code_(code),
        block_(block),
        shared_(shared),
        limit_(static_cast<std::size_t>(kPredicates) - shared.kept.size()),
        spilled_(shared.in_lanes) {
    for (std::size_t at = 0; at < block.code.size(); ++at) {
      for_each_read(block.code[at], [&](VReg& r) { reads_[r].push_back(at); });
    }
  }

  void run() {
    for (at_ = 0; at_ < block_.code.size(); ++at_) {
      MachineInstruction i = block_.code[at_];
      pinned_.clear();
      for_each_read(i, [&](VReg& r) { r = fetch(r); });
      for (auto it = held_.begin(); it != held_.end();) {
        it = next_read(it->first) == kNever ? held_.erase(it) : std::next(it);
      }
      for (VReg d : i.defs) {
        if (code_.registers[d] != RegFile::kPredicate || held_.count(d) != 0) continue;
        if (shared_.kept.count(d) != 0) continue;
        make_room();
        held_[d] = d;
        pinned_.insert(d);
      }
      const VRegList defs = i.defs;
      result_.push_back(std::move(i));
      for (VReg d : defs) {
        const auto lanes = shared_.in_lanes.find(d);
        if (lanes != shared_.in_lanes.end()) emit("P2R", lanes->second, d);
      }
    }
    block_.code = std::move(result_);
  }

 private:
  static constexpr std::size_t kNever = ~std::size_t{0};

  template <class F>
  void for_each_read(MachineInstruction& i, F&& f) {
    if (i.guard != kNoVReg) f(i.guard);
    for (VReg& r : i.uses) {
      if (code_.registers[r] == RegFile::kPredicate) f(r);
    }
  }
  /// After the current instruction.
  std::size_t next_read(VReg original) const {
    const auto it = reads_.find(original);
    if (it == reads_.end()) return kNever;
    const auto next = std::upper_bound(it->second.begin(), it->second.end(), at_);
    return next == it->second.end() ? kNever : *next;
  }
  void make_room() {
    if (held_.size() < limit_) return;
    VReg victim = kNoVReg;
    std::size_t farthest = 0;
    for (const auto& [original, now] : held_) {
      if (pinned_.count(original) != 0) continue;
      const std::size_t next = next_read(original);
      if (victim == kNoVReg || next > farthest) {
        victim = original;
        farthest = next;
      }
    }
    if (spilled_.count(victim) == 0) {
      const VReg to = code_.add(RegFile::kGeneral);
      emit("P2R", to, held_[victim]);
      spilled_[victim] = to;
    }
    held_.erase(victim);
  }
  VReg fetch(VReg original) {
    pinned_.insert(original);
    if (const auto it = held_.find(original); it != held_.end()) return it->second;
    const auto from = spilled_.find(original);
    if (from == spilled_.end()) return original;  // from another block
    make_room();
    const VReg now = code_.add(RegFile::kPredicate);
    emit("ISETP", now, from->second);
    return held_[original] = now;
  }
  void emit(std::string_view mnemonic, VReg to, VReg from) {
    MachineInstruction i;
    i.op = Opcode::kAlu;
    i.mnemonic = mnemonic;
    i.defs = {to};
    i.uses = {from};
    i.line = block_.code[at_].line;
    result_.push_back(std::move(i));
  }

  MachineCode& code_;
  MachineBlock& block_;
  const Shared& shared_;
  std::size_t limit_;
  std::map<VReg, std::vector<std::size_t>> reads_;  // positions, ascending
  std::map<VReg, VReg> spilled_;                    // original -> lane register
  std::map<VReg, VReg> held_;                       // original -> where it is now
  std::set<VReg> pinned_;                           // read or written by the current instruction
  std::size_t at_ = 0;
  std::vector<MachineInstruction> result_;
};

}  // namespace

void spill_predicates(MachineCode& code) {
  const Shared shared = find_shared(code);
  for (auto& block : code.blocks) Spiller(code, block, shared).run();
}

}  // namespace xpusim::gpu
