// Pointers: a base that all threads share, and what is added to it, in closed form or in registers.

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/index_forms.h"

namespace xpusim::gpu {
namespace {

/// An index in registers added to another one.
Element add_indices(Lowering& l, const Element& a, const Element& b) {
  Builder& builder = l.builder();
  const VReg low = builder.value(Opcode::kAlu, "IADD3", {l.in_register(a), l.in_register(b)});
  if (a.high == kNoVReg && b.high == kNoVReg) return {low};
  const VReg high = builder.value(Opcode::kAlu, "IADD3.X", {l.high_half(a), l.high_half(b), low});
  return {low, 0, 0, high};
}

/// A pointer in a pair of registers, so many elements on.
Element absolute(Lowering& l, const Element& pointer, const Element& index, std::int64_t bytes) {
  Builder& b = l.builder();
  const VReg low = b.general(), high = b.general();
  b.code().tie({low, high});
  b.emit(Opcode::kFma, "IMAD.WIDE", {low, high}, {index.reg, pointer.reg, pointer.high},
         static_cast<std::uint32_t>(bytes));
  return {low, 0, 0, high};
}

/// The constant that all indices end with, if it changes zero bits only: accesses take it as an
/// immediate. Else 0.
std::uint32_t immediate_of(Lowering& l, const std::vector<Element>& indices) {
  std::uint32_t common = 0;
  for (const Element& e : indices) {
    const auto sum = l.constant_sums.find(e.reg);
    if (e.high != kNoVReg || sum == l.constant_sums.end()) return 0;
    const auto multiple = l.multiples.find(sum->second.rest);
    const std::uint32_t constant = sum->second.constant;
    if (multiple == l.multiples.end() || constant >= multiple->second) return 0;
    if (common != 0 && constant != common) return 0;
    common = constant;
  }
  return common;
}

}  // namespace

bool lower_add_pointer(Lowering& l, const kernel::Op& op) {
  const bool is_tile = op.result()->type->kind == kernel::TypeKind::kTensor;
  const ValueState pointer = l.operand(op, 0);
  const ValueState index = l.operand(op, 1);
  if (pointer.kind != ValueKind::kPointer) return l.error(op, "the pointer is not in closed form");
  ValueState& to = l.state(*op.result());
  to = pointer;
  if (!is_tile && index.kind == ValueKind::kIndex && !pointer.index.layout) {
    to.base = l.scalars().pointer_add(pointer.base, whole_scalar(l, index.index), pointer.bytes);
    return true;
  }
  if (!is_tile) {
    const Element i = l.whole(l.elements(*op.operands[1])[0]);
    const ScalarId id = i.high != kNoVReg ? l.scalars().in_register_pair(i.reg, i.high)
                                          : l.scalars().in_register(l.in_register(i));
    to.base = l.scalars().pointer_add(pointer.base, id, pointer.bytes);
    return true;
  }
  if (index.kind == ValueKind::kIndex && pointer.elements.empty()) {
    to.index = add_forms(l, pointer.index, index.index);
    to.layout = to.index.layout;
    return true;
  }
  // What is the same in all threads moves the base; a constant becomes an immediate.
  if (index.kind == ValueKind::kIndex && pointer.base != kNoScalar && is_scalar_form(index.index)) {
    to.index.offset += index.index.offset;
    if (index.index.scalar != kNoScalar) {
      to.base = l.scalars().pointer_add(pointer.base, index.index.scalar, pointer.bytes);
    }
    return true;
  }
  // An index in registers: added to what the pointer has so far.
  const bool plain = pointer.elements.empty() && is_scalar_form(pointer.index) &&
                     pointer.index.scalar == kNoScalar && pointer.index.offset == 0;
  const auto& indices = l.elements(*op.operands[1]);
  if (pointer.elements.empty()) to.index.offset = 0;  // the elements hold it
  const std::uint32_t common = plain ? immediate_of(l, indices) : 0;
  to.index.offset += common;
  to.elements.clear();
  for (std::uint32_t r = 0; r < indices.size(); ++r) {
    Element i = l.whole(indices[r]);
    if (i.is_constant()) i.reg = l.in_register(i);
    if (pointer.base == kNoScalar) {
      to.elements.push_back(absolute(l, pointer.elements[r], i, pointer.bytes));
      continue;
    }
    if (plain) {
      to.elements.push_back(common != 0 ? Element{l.constant_sums.at(i.reg).rest} : i);
      continue;
    }
    const Element old = pointer.elements.empty() ? Element{l.index_math().index(pointer.index, r)}
                                                 : pointer.elements[r];
    to.elements.push_back(add_indices(l, old, i));
  }
  return true;
}

}  // namespace xpusim::gpu
