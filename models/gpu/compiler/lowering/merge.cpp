#include "models/gpu/compiler/lowering/merge.h"

#include <algorithm>
#include <map>
#include <set>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

bool contains(const VRegList& list, VReg r) {
  return std::find(list.begin(), list.end(), r) != list.end();
}

/// Lets the one instruction of the path that makes `value` write `to`, if nothing before the path
/// made it and `to` is not read between.
bool write_in_place(MachineCode& code, std::size_t first_block, VReg value, VReg to) {
  if (code.tuple_of[value] >= 0 || code.registers[value] != code.registers[to]) return false;
  MachineInstruction* writer = nullptr;
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    for (MachineInstruction& i : code.blocks[b].code) {
      if (contains(i.defs, value)) {
        if (b < first_block || writer != nullptr || i.guard != kNoVReg) return false;
        writer = &i;
      } else if (writer != nullptr && (contains(i.uses, to) || i.guard == to)) {
        return false;
      }
    }
  }
  if (writer == nullptr) return false;
  for (std::size_t b = first_block; b < code.blocks.size(); ++b) {
    for (MachineInstruction& i : code.blocks[b].code) {
      std::replace(i.defs.begin(), i.defs.end(), value, to);
      std::replace(i.uses.begin(), i.uses.end(), value, to);
      if (i.guard == value) i.guard = to;
    }
  }
  return true;
}

void copy(Lowering& l, VReg to, VReg from, std::uint32_t constant) {
  const bool predicate = l.builder().code().registers[to] == RegFile::kPredicate;
  l.builder().emit(Opcode::kAlu, predicate ? "PLOP3" : "MOV", {to}, {from}, constant).hands_on =
      from != kNoVReg;
}

}  // namespace

std::optional<Merge> Merge::make(Lowering& l, const kernel::Op& op, const kernel::Value& value) {
  if (value.type->is_pointer_like()) {
    l.error(op, "pointers that come from several paths are not yet lowered for the GPU");
    return std::nullopt;
  }
  Merge merge;
  std::uint32_t count = 1, copies = 0;
  if (value.type->kind == kernel::TypeKind::kTensor) {
    merge.layout_ = l.layout(value.type, op);
    if (!merge.layout_) return std::nullopt;
    count = merge.layout_->register_count();
    copies = merge.layout_->copy_registers();
  }
  Builder& b = l.builder();
  for (std::uint32_t r = 0; r < count; ++r) {
    if (r > 0 && l.is_even(value)) {
      merge.elements_.push_back(merge.elements_[0]);
      continue;
    }
    if ((r & copies) != 0) {
      merge.elements_.push_back(merge.elements_[r & ~copies]);
      continue;
    }
    Element e{value.type->dtype == kernel::DType::kI1 ? b.predicate() : b.general()};
    if (kernel::bit_width(value.type->dtype) > 32) e.high = b.general();
    merge.elements_.push_back(e);
  }
  return merge;
}

bool Merge::arrive(Lowering& l, const kernel::Op& op, const kernel::Value& value,
                   std::size_t first_block) {
  std::vector<Element> from = l.elements(value);
  if (from.empty()) return l.error(op, "a path hands on a value that has no registers");
  from.resize(elements_.size(), from[0]);
  std::set<VReg> written, moved;
  for (std::size_t r = 0; r < elements_.size(); ++r) {
    const Element& to = elements_[r];
    const Element e = l.whole(from[r]);
    if (e == to || !written.insert(to.reg).second) continue;
    if (to.high != kNoVReg) copy(l, to.high, l.high_half(e), 0);
    const bool in_place = !e.is_constant() && moved.insert(e.reg).second &&
                          write_in_place(l.builder().code(), first_block, e.reg, to.reg);
    if (!in_place) copy(l, to.reg, e.reg, e.bits);
  }
  return true;
}

void Merge::set(Lowering& l, const kernel::Value& value) const {
  l.set_elements(value, layout_, elements_);
  l.state(value).alias = true;
}

namespace {

/// Registers that instructions outside the blocks read, and those that they write.
void look_outside(const MachineCode& code, const ConditionalBlocks& region, std::set<VReg>& read,
                  std::set<VReg>& written) {
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    if (b >= region.first && b <= region.last) continue;
    for (const MachineInstruction& i : code.blocks[b].code) {
      read.insert(i.uses.begin(), i.uses.end());
      if (i.guard != kNoVReg) read.insert(i.guard);
      written.insert(i.defs.begin(), i.defs.end());
    }
  }
}

bool movable(const MachineInstruction& i) {
  return (is_pure(i) || i.op == Opcode::kS2r) && !i.pinned;
}

void lift(MachineCode& code, const ConditionalBlocks& region) {
  std::set<VReg> wanted, outside;
  look_outside(code, region, wanted, outside);
  std::set<std::pair<std::size_t, std::size_t>> moving;  // block, place
  for (std::size_t b = region.last + 1; b-- > region.first;) {
    const auto& block = code.blocks[b].code;
    for (std::size_t at = block.size(); at-- > 0;) {
      const MachineInstruction& i = block[at];
      bool needed = false, own = true;
      for (VReg d : i.defs) {
        needed = needed || wanted.count(d) != 0;
        own = own && outside.count(d) == 0;
      }
      if (!needed || !own || !movable(i)) continue;
      moving.insert({b, at});
      wanted.insert(i.uses.begin(), i.uses.end());
      if (i.guard != kNoVReg) wanted.insert(i.guard);
    }
  }
  std::vector<MachineInstruction> lifted;
  for (std::size_t b = region.first; b <= region.last; ++b) {
    std::vector<MachineInstruction> kept;
    auto& block = code.blocks[b].code;
    for (std::size_t at = 0; at < block.size(); ++at) {
      (moving.count({b, at}) != 0 ? lifted : kept).push_back(std::move(block[at]));
    }
    block = std::move(kept);
  }
  auto& before = code.blocks[region.before].code;
  const auto end = before.end() - (!before.empty() && before.back().op == Opcode::kBra ? 1 : 0);
  before.insert(end, lifted.begin(), lifted.end());
}

}  // namespace

void lift_shared_values(MachineCode& code, const std::vector<ConditionalBlocks>& regions) {
  for (const ConditionalBlocks& region : regions) lift(code, region);
}

}  // namespace xpusim::gpu
