// Ops of one or two instructions that belong to no other file.

#include <algorithm>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {

/// A minimum and a maximum.
bool lower_clamp(Lowering& l, const kernel::Op& op) {
  if (kernel::bit_width(op.result()->type->dtype) > 32) {
    return l.error(op, "tt.clampf on 64-bit elements is not yet lowered for the GPU");
  }
  return map_elements(l, op, [&](std::span<const Element> e) {
    Builder& b = l.builder();
    const VReg low = b.value(Opcode::kAlu, "FMNMX", {l.in_register(e[0]), e[1].reg}, e[1].bits);
    return Element{b.value(Opcode::kAlu, "FMNMX", {low, e[2].reg}, e[2].bits ^ 1)};
  });
}

/// A pointer's two registers are the number.
bool lower_pointer_to_int(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* layout = nullptr;
  if (op.result()->type->kind == kernel::TypeKind::kTensor &&
      !(layout = l.layout(op.result()->type, op))) {
    return false;
  }
  std::vector<Element> numbers;
  for (std::uint32_t r = 0; r < (layout ? layout->register_count() : 1); ++r) {
    const Address at = address(l, *op.operands[0], r);
    Element e{at.low, 0, 0, at.high};
    if (at.immediate != 0) {
      const auto offset = static_cast<std::uint32_t>(at.immediate);
      e.reg = l.builder().value(Opcode::kAlu, "IADD3", {at.low}, offset);
      e.high = l.builder().value(Opcode::kAlu, "IADD3.X", {at.high, e.reg});
    }
    numbers.push_back(e);
  }
  l.set_elements(*op.result(), layout, std::move(numbers));
  return true;
}

/// The number's two registers are the pointer.
bool lower_int_to_pointer(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* layout = nullptr;
  if (op.result()->type->kind == kernel::TypeKind::kTensor &&
      !(layout = l.layout(op.result()->type, op))) {
    return false;
  }
  std::vector<Element> whole;
  for (const Element& e : l.elements(*op.operands[0])) {
    whole.push_back({l.in_register(e), 0, 0, l.high_half(e)});
  }
  ValueState s;
  s.kind = ValueKind::kPointer;
  s.bytes = kernel::pointee_bytes(op.result()->type);
  if (layout) {
    s.layout = s.index.layout = layout;
    s.index.factors.assign(layout->shape.size(), 0);
    s.elements = std::move(whole);
  } else {
    l.builder().code().tie({whole[0].reg, whole[0].high});
    s.base = l.scalars().in_register_pair(whole[0].reg, whole[0].high);
  }
  l.state(*op.result()) = std::move(s);
  return true;
}

/// Every statement of the text is an instruction of the ALU pipe: what it really says is not read.
bool lower_inline_assembly(Lowering& l, const kernel::Op& op) {
  const std::string_view text = op.str_attr("asm_string");
  const auto statements = std::max<std::ptrdiff_t>(1, std::count(text.begin(), text.end(), ';'));
  const auto packed =
      static_cast<std::size_t>(std::max<std::int64_t>(1, op.int_attr("packed_element", 1)));
  std::vector<std::vector<Element>> results(op.results.size());
  std::vector<std::vector<Element>> operands;
  for (const kernel::Value* v : op.operands) operands.push_back(l.elements(*v));
  const kernel::Type type = op.result()->type;
  const kernel::LinearLayout* layout = nullptr;
  if (type->kind == kernel::TypeKind::kTensor && !(layout = l.layout(type, op))) return false;
  const std::size_t count = layout ? layout->register_count() : 1;
  std::uint32_t number = 0;
  for (std::size_t r = 0; r < count; r += packed) {
    std::vector<VReg> in;
    for (const auto& o : operands) {
      if (o.empty()) return l.error(op, "an operand has no value in registers");
      in.push_back(l.in_register(l.whole(o[o.size() == 1 ? 0 : r])));
    }
    VReg value = in.empty() ? kNoVReg : in[0];
    for (std::ptrdiff_t s = 0; s < statements; ++s) {
      const VReg other = in.size() > 1 ? in[static_cast<std::size_t>(s) % in.size()] : kNoVReg;
      value = l.builder().value(Opcode::kAlu, "ASM", {value, other}, ++number);
    }
    for (auto& result : results) {
      for (std::size_t n = 0; n < packed && r + n < count; ++n) result.push_back({value});
    }
  }
  for (std::size_t n = 0; n < results.size(); ++n) {
    l.set_elements(*op.result(n), layout, std::move(results[n]));
  }
  return true;
}

/// What is only said to the compiler, and printing, whose calls into the driver are not modelled.
bool lower_to_nothing(Lowering&, const kernel::Op&) { return true; }

}  // namespace xpusim::gpu
