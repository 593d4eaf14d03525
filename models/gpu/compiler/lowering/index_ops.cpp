// Integer ops: in closed form as long as that goes, else element by element.

#include <algorithm>
#include <bit>
#include <utility>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/index_forms.h"

namespace xpusim::gpu {
namespace {

const kernel::LinearLayout* layout_of_result(Lowering& l, const kernel::Op& op) {
  return l.layout(op.result()->type, op);
}

bool is_tile(const kernel::Op& op) { return op.result()->type->kind == kernel::TypeKind::kTensor; }

void set_index(Lowering& l, const kernel::Op& op, IndexForm form) {
  std::int64_t value;
  if (form.scalar != kNoScalar && l.scalars().is_constant(form.scalar, &value)) {
    form.offset += value;
    form.scalar = kNoScalar;
  }
  ValueState& s = l.state(*op.result());
  s.kind = ValueKind::kIndex;
  s.layout = form.layout;
  s.index = std::move(form);
}

bool closed(Lowering& l, const kernel::Op& op) {
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (l.operand(op, i).kind != ValueKind::kIndex) return false;
  }
  return true;
}

/// Whether all registers of a thread hold one number.
bool same_in_registers(const IndexForm& f) {
  if (!f.layout) return true;
  for (const kernel::Basis& basis : f.layout->registers) {
    for (std::size_t d = 0; d < basis.size(); ++d) {
      if (f.factors[d] * basis[d] != 0) return false;
    }
  }
  return true;
}

bool is_wide(const kernel::Value& value) { return kernel::bit_width(value.type->dtype) > 32; }

/// Whether an index in closed form is known not to be negative.
bool is_non_negative(Lowering& l, const ValueState& s) {
  const IndexForm& f = s.index;
  return s.kind == ValueKind::kIndex && f.offset >= 0 &&
         std::all_of(f.factors.begin(), f.factors.end(), [](auto x) { return x >= 0; }) &&
         (f.scalar == kNoScalar || l.scalars().is_counter(f.scalar));
}

/// The register of an operand's upper half; none where it is a constant, or zero for certain.
VReg upper_half(Lowering& l, const kernel::Value& value, const Element& e) {
  return e.is_constant() || is_non_negative(l, l.state(value)) ? kNoVReg : l.high_half(e);
}

/// The low 64 bits of a product: one wide multiply-add for the lower halves and one for each upper
/// half that is not known to be zero; just one where both numbers are 32 bits' sign extended.
Element wide_product(Lowering& l, const Element& x, const Element& y) {
  Builder& b = l.builder();
  if (x.is_constant() && !y.is_constant()) return wide_product(l, y, x);
  const VReg low = b.general(), high = b.general();
  b.code().tie({low, high});
  const VReg left = l.in_register(x),
             right = y.is_constant() && !x.is_constant() ? kNoVReg : l.in_register(y);
  const bool is_short = x.high == kNoVReg && y.is_constant();
  b.emit(Opcode::kFma, is_short ? "IMAD.WIDE" : "IMAD.WIDE.U32", {low, high}, {left, right},
         y.bits);
  if (is_short) return {low, 0, 0, high};
  const VReg cross = b.value(Opcode::kFma, "IMAD", {l.high_half(x), right, high}, y.bits);
  if (y.is_constant() && y.bits >> 31 == 0) return {low, 0, 0, cross};
  return {low, 0, 0, b.value(Opcode::kFma, "IMAD", {left, l.high_half(y), cross})};
}

/// Both halves of a 64-bit result: the upper one by the same instruction again, after the lower
/// one's carry where bits move up.
Element wide_element(Lowering& l, Opcode opcode, std::string_view mnemonic, std::uint32_t variant,
                     std::span<const Element> e) {
  if (opcode == Opcode::kFma) return wide_product(l, e[0], e[1]);
  Builder& b = l.builder();
  const bool constant = e[1].is_constant() && !e[0].is_constant();
  const VReg left = l.in_register(e[0]), right = constant ? kNoVReg : l.in_register(e[1]);
  const VReg low = b.value(opcode, mnemonic, {left, right}, e[1].bits ^ variant);
  const VReg right_high = constant ? kNoVReg : l.high_half(e[1]);
  const std::uint32_t sign = e[1].bits >> 31 != 0 ? ~0u : 0;
  const bool is_sum = mnemonic == "IADD3", is_logic = mnemonic == "LOP3";
  return {low, 0, 0,
          b.value(opcode, is_sum ? "IADD3.X" : mnemonic,
                  {l.high_half(e[0]), right_high, is_logic ? kNoVReg : low}, sign ^ variant)};
}

/// What needs no instruction: bitwise ops on constants, and an exclusive or that undoes another.
std::optional<Element> fold(Lowering& l, const kernel::Op& op, std::span<const Element> e) {
  if (is_wide(*op.result())) return std::nullopt;
  if (e[0].is_constant() && e[1].is_constant()) {
    if (op.name() == "arith.andi") return Element{kNoVReg, e[0].bits & e[1].bits};
    if (op.name() == "arith.ori") return Element{kNoVReg, e[0].bits | e[1].bits};
    if (op.name() == "arith.xori") return Element{kNoVReg, e[0].bits ^ e[1].bits};
    return std::nullopt;
  }
  if (op.name() != "arith.xori") return std::nullopt;
  for (std::size_t n = 0; n < 2; ++n) {
    const auto known = l.exclusive_ors.find(e[n].reg);
    if (known == l.exclusive_ors.end()) continue;
    const auto& [a, b] = known->second;
    if (a == e[1 - n]) return b;
    if (b == e[1 - n]) return a;
  }
  return std::nullopt;
}

/// A number as a register plus a constant: its own, or what it was made of if nothing else reads
/// it.
Lowering::ConstantSum split(Lowering& l, const kernel::Value& value, const Element& e) {
  if (e.is_constant()) return {kNoVReg, e.bits};
  if (l.use_count(value) != 1) return {e.reg, 0};
  if (const auto known = l.constant_sums.find(e.reg); known != l.constant_sums.end()) {
    return known->second;
  }
  const auto [rest, constant] = l.index_math().parts_of(e.reg);
  return {rest, constant};
}

/// A power of two that divides what a register holds.
std::uint32_t multiple_of(Lowering& l, VReg reg) {
  const auto known = l.multiples.find(reg);
  return known == l.multiples.end() ? 1 : known->second;
}

/// Sums and products with constants, which come last (LLVM, InstCombine and Reassociate): what
/// differs in them only is computed once. None for others.
std::optional<Element> constants_last(Lowering& l, const kernel::Op& op,
                                      std::span<const Element> e) {
  const bool product = op.name() == "arith.muli";
  if ((op.name() != "arith.addi" && !product) || (e[0].is_constant() && e[1].is_constant())) {
    return std::nullopt;
  }
  const auto x = split(l, *op.operands[0], e[0]), y = split(l, *op.operands[1], e[1]);
  Builder& b = l.builder();
  VReg rest;
  std::uint32_t constant = x.constant + y.constant, multiple;
  if (product) {
    if (x.rest != kNoVReg && y.rest != kNoVReg) return std::nullopt;
    const std::uint32_t factor = e[0].is_constant() ? e[0].bits : e[1].bits;
    const Lowering::ConstantSum& number = e[0].is_constant() ? y : x;
    rest = b.value(Opcode::kFma, "IMAD", {number.rest}, factor);
    constant = number.constant * factor;
    multiple = multiple_of(l, number.rest) * (factor & -factor);
  } else if (x.rest != kNoVReg && y.rest != kNoVReg) {
    rest = b.value(Opcode::kAlu, "IADD3", {x.rest, y.rest});
    multiple = std::min(multiple_of(l, x.rest), multiple_of(l, y.rest));
  } else {
    rest = x.rest != kNoVReg ? x.rest : y.rest;
    multiple = multiple_of(l, rest);
  }
  l.multiples[rest] = std::max(multiple, multiple_of(l, rest));
  if (constant == 0) return Element{rest};
  const VReg sum = b.value(Opcode::kAlu, "IADD3", {rest}, constant);
  l.constant_sums[sum] = {rest, constant};
  return Element{sum};
}

bool integer_elements(Lowering& l, const kernel::Op& op, Opcode opcode, std::string_view mnemonic,
                      std::uint32_t variant) {
  return map_elements(l, op, [&](std::span<const Element> e) {
    if (const auto known = fold(l, op, e)) return *known;
    if (is_wide(*op.result())) return wide_element(l, opcode, mnemonic, variant, e);
    if (const auto sum = constants_last(l, op, e)) return *sum;
    const VReg first = e[0].is_constant() && e[1].is_constant() ? l.in_register(e[0]) : e[0].reg;
    const Element result{
        l.builder().value(opcode, mnemonic, {first, e[1].reg}, e[0].bits ^ e[1].bits ^ variant)};
    if (op.name() == "arith.xori") l.exclusive_ors[result.reg] = {e[0], e[1]};
    return result;
  });
}

}  // namespace

bool lower_constant(Lowering& l, const kernel::Op& op) {
  const kernel::Value& value = *op.result();
  const kernel::LinearLayout* layout = nullptr;
  if (is_tile(op)) {
    layout = layout_of_result(l, op);
    if (!layout) return false;
  }
  if (kernel::is_integer(value.type->dtype)) {
    const auto c = kernel::integer_constant(value);
    if (!c) return l.error(op, "a dense constant of several values is not yet lowered for the GPU");
    IndexForm form;
    form.offset = *c;
    form.layout = layout;
    if (layout) form.factors.assign(layout->shape.size(), 0);
    set_index(l, op, std::move(form));
    return true;
  }
  const auto c = kernel::float_constant(value);
  if (!c) return l.error(op, "a dense constant of several values is not yet lowered for the GPU");
  Element e{kNoVReg, std::bit_cast<std::uint32_t>(static_cast<float>(*c))};
  if (is_wide(value)) {
    const auto bits = std::bit_cast<std::uint64_t>(*c);
    e = {l.builder().constant(static_cast<std::uint32_t>(bits)), 0, 0,
         l.builder().constant(static_cast<std::uint32_t>(bits >> 32))};
  }
  l.set_elements(value, layout, std::vector<Element>(layout ? layout->register_count() : 1, e));
  return true;
}

/// The block number is uniform where only products and one address use it.
bool lower_program_id(Lowering& l, const kernel::Op& op) {
  IndexForm form;
  form.scalar = l.scalars().program_id(op.int_attr("axis"));
  int addresses = 0;
  bool scaled_by_constant = false;
  for (const kernel::Op* user : l.users(*op.result())) {
    if (user->name() == "tt.addptr") ++addresses;
    if (user->name() == "arith.muli") {
      for (const kernel::Value* v : user->operands) {
        if (kernel::integer_constant(*v)) scaled_by_constant = true;
      }
    }
  }
  if (!scaled_by_constant && addresses < 2) l.scalars().prefer_uniform(form.scalar);
  set_index(l, op, std::move(form));
  return true;
}

bool lower_num_programs(Lowering& l, const kernel::Op& op) {
  IndexForm form;
  form.scalar = l.scalars().grid_size(op.int_attr("axis"));
  set_index(l, op, std::move(form));
  return true;
}

bool lower_make_range(Lowering& l, const kernel::Op& op) {
  IndexForm form;
  form.layout = layout_of_result(l, op);
  if (!form.layout) return false;
  form.factors = {1};
  form.offset = op.int_attr("start");
  set_index(l, op, std::move(form));
  return true;
}

bool lower_splat(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* layout = layout_of_result(l, op);
  if (!layout) return false;
  const ValueState from = l.operand(op, 0);
  ValueState& to = l.state(*op.result());
  to = from;
  to.layout = layout;
  to.index.layout = layout;
  to.index.factors.assign(layout->shape.size(), 0);
  to.alias = true;
  if (from.kind == ValueKind::kMask) {
    to.elements.clear();
  } else if (from.kind == ValueKind::kElements) {
    const Element e = l.elements(*op.operands[0])[0];
    to.kind = ValueKind::kElements;
    to.elements.assign(layout->register_count(), e);
  } else {
    to.elements.clear();
  }
  return true;
}

static bool is_pointer(const ValueState& s) { return s.kind == ValueKind::kPointer; }

/// Gives closed forms a new dimension; registers stay what they are where the layouts agree.
static bool reshape(Lowering& l, const kernel::Op& op, std::ptrdiff_t new_dim) {
  const kernel::LinearLayout* layout = layout_of_result(l, op);
  if (!layout) return false;
  const ValueState from = l.operand(op, 0);
  ValueState& to = l.state(*op.result());
  to = from;
  to.layout = layout;
  to.alias = true;
  auto widen = [&](IndexForm& f) {
    if (!f.layout) return;
    f.layout = layout;
    if (new_dim >= 0) f.factors.insert(f.factors.begin() + new_dim, 0);
  };
  widen(to.index);
  for (Comparison& c : to.comparisons) {
    widen(c.left);
    widen(c.right);
  }
  to.elements.clear();
  if (from.elements.empty() || (from.kind != ValueKind::kElements && !is_pointer(from)))
    return true;
  // Which old register holds the element of each new one: the same coordinates, lane 0 of warp 0.
  for (std::uint32_t r = 0; r < layout->register_count(); ++r) {
    kernel::Basis at = layout->at(r, 0, 0);
    if (new_dim >= 0) at.erase(at.begin() + new_dim);
    std::uint32_t old = 0;
    for (; old < from.elements.size(); ++old) {
      const kernel::Basis b = from.layout->at(old, 0, 0);
      bool same = true;
      for (std::size_t d = 0; d < b.size(); ++d) {
        same = same && (b[d] == at[d] || from.layout->shape[d] == 1);
      }
      if (same) break;
    }
    if (old == from.elements.size())
      return l.error(op, "the layouts do not hold the same elements");
    to.elements.push_back(from.elements[old]);
  }
  return true;
}

bool lower_expand_dims(Lowering& l, const kernel::Op& op) {
  return reshape(l, op, static_cast<std::ptrdiff_t>(op.int_attr("axis")));
}

bool lower_broadcast(Lowering& l, const kernel::Op& op) { return reshape(l, op, -1); }

bool lower_add_int(Lowering& l, const kernel::Op& op) {
  if (!closed(l, op)) return integer_elements(l, op, Opcode::kAlu, "IADD3", 0);
  set_index(l, op, add_forms(l, l.operand(op, 0).index, l.operand(op, 1).index));
  return true;
}

bool lower_sub_int(Lowering& l, const kernel::Op& op) {
  if (!closed(l, op)) return integer_elements(l, op, Opcode::kAlu, "IADD3", 1);
  const IndexForm a = l.operand(op, 0).index, b = l.operand(op, 1).index;
  if (is_scalar_form(a) && is_scalar_form(b) && !a.layout) {
    IndexForm form;
    form.scalar = l.scalars().subtract(whole_scalar(l, a), whole_scalar(l, b));
    set_index(l, op, std::move(form));
    return true;
  }
  if (b.scalar != kNoScalar) return integer_elements(l, op, Opcode::kAlu, "IADD3", 1);
  set_index(l, op, add_forms(l, a, scale_form(l, b, -1)));
  return true;
}

bool lower_mul_int(Lowering& l, const kernel::Op& op) {
  if (!closed(l, op)) return integer_elements(l, op, Opcode::kFma, "IMAD", 0);
  const IndexForm a = l.operand(op, 0).index, b = l.operand(op, 1).index;
  if (const auto c = constant_of(l, b)) {
    set_index(l, op, scale_form(l, a, *c));
  } else if (const auto d = constant_of(l, a)) {
    set_index(l, op, scale_form(l, b, *d));
  } else if (is_scalar_form(a) && is_scalar_form(b)) {
    IndexForm form = a;
    form.offset = 0;
    form.scalar = l.scalars().multiply(whole_scalar(l, a), whole_scalar(l, b));
    if (!a.layout && l.use_count(*op.result()) == 1) l.scalars().prefer_uniform(form.scalar);
    set_index(l, op, std::move(form));
  } else {
    return integer_elements(l, op, Opcode::kFma, "IMAD", 0);
  }
  return true;
}

/// Of numbers on the uniform datapath. False: they are not there.
static bool uniform_bits(Lowering& l, const kernel::Op& op, std::uint32_t variant) {
  const ValueState a = l.operand(op, 0), b = l.operand(op, 1);
  if (!l.is_uniform(*op.result()) || a.kind != ValueKind::kIndex || b.kind != ValueKind::kIndex) {
    return false;
  }
  auto source = [&](const IndexForm& f) { return f.scalar == kNoScalar ? kNoVReg : l.uniform(f); };
  const VReg x = source(a.index), y = source(b.index), result = l.builder().uniform();
  const auto constant = (x == kNoVReg ? a.index.offset : 0) ^ (y == kNoVReg ? b.index.offset : 0);
  l.builder().emit(Opcode::kUniform, "ULOP3", {result}, {x, y},
                   static_cast<std::uint32_t>(constant) ^ variant << 30);
  IndexForm form;
  form.scalar = l.scalars().in_uniform_register(result);
  set_index(l, op, std::move(form));
  return true;
}

bool lower_bits(Lowering& l, const kernel::Op& op) {
  if (op.result()->type->dtype != kernel::DType::kI1) {
    const std::uint32_t variant = op.name() == "arith.andi" ? 0 : op.name() == "arith.ori" ? 1 : 2;
    if (uniform_bits(l, op, variant)) return true;
    return integer_elements(l, op, Opcode::kAlu, "LOP3", variant << 30);
  }
  const ValueState a = l.operand(op, 0), b = l.operand(op, 1);
  if (op.name() == "arith.andi" && a.kind == ValueKind::kMask && b.kind == ValueKind::kMask) {
    ValueState& to = l.state(*op.result());
    to = a;
    to.comparisons.insert(to.comparisons.end(), b.comparisons.begin(), b.comparisons.end());
    // Those first that all registers of a thread share.
    std::stable_partition(to.comparisons.begin(), to.comparisons.end(), [](const Comparison& c) {
      return same_in_registers(c.left) && same_in_registers(c.right);
    });
    to.elements.clear();
    return true;
  }
  return lower_predicate_logic(l, op);
}

bool lower_shift(Lowering& l, const kernel::Op& op) {
  const auto by = kernel::integer_constant(*op.operands[1]);
  const ValueState& from = l.operand(op, 0);
  if (op.name() == "arith.shli" && by && *by >= 0 && *by < 32 && from.kind == ValueKind::kIndex) {
    set_index(l, op, scale_form(l, from.index, std::int64_t{1} << *by));
    return true;
  }
  return integer_elements(l, op, Opcode::kAlu, op.name() == "arith.shli" ? "SHF.L" : "SHF.R", 0);
}

bool lower_min_max_int(Lowering& l, const kernel::Op& op) {
  const bool max = op.name() == "arith.maxsi" || op.name() == "arith.maxui";
  return integer_elements(l, op, Opcode::kAlu, "VIMNMX", max);
}

bool lower_multiply_high(Lowering& l, const kernel::Op& op) {
  return integer_elements(l, op, Opcode::kFma, "IMAD.HI.U32", 0);
}

bool lower_abs_int(Lowering& l, const kernel::Op& op) {
  return map_elements(l, op, [&](std::span<const Element> e) {
    return Element{l.builder().value(Opcode::kAlu, "IABS", {l.in_register(e[0])})};
  });
}

bool lower_cmp_int(Lowering& l, const kernel::Op& op) {
  const kernel::Compare how = kernel::compare_of(op);
  if (closed(l, op)) {
    ValueState& to = l.state(*op.result());
    to.kind = ValueKind::kMask;
    to.comparisons = {{how, l.operand(op, 0).index, l.operand(op, 1).index}};
    if (is_tile(op)) {
      to.layout = layout_of_result(l, op);
      if (!to.layout) return false;
    }
    return true;
  }
  if (op.operands[0]->type->dtype == kernel::DType::kI1) {
    return lower_predicate_logic(l, op);
  }
  const std::uint32_t variant = static_cast<std::uint32_t>(how) << 28;
  const bool equality = how == kernel::Compare::kEq || how == kernel::Compare::kNe;
  return map_elements(l, op, [&](std::span<const Element> e) {
    // A number that was a predicate, compared with 0 or 1, is that predicate again.
    if (const auto was = l.was_predicate.find(e[0].reg);
        equality && e[1].is_constant() && e[1].bits <= 1 && was != l.was_predicate.end()) {
      Element p = was->second;
      if ((e[1].bits == 1) == (how == kernel::Compare::kNe)) p.bits ^= Lowering::kNegated;
      return p;
    }
    const VReg p = l.builder().predicate();
    l.builder().emit(Opcode::kAlu, "ISETP", {p}, {e[0].reg, e[1].reg},
                     e[0].bits ^ e[1].bits ^ variant);
    // Of two numbers that are 32 bits' sign extended, those compare alike.
    const bool is_short = e[0].high == kNoVReg && e[1].high == kNoVReg;
    if (!is_wide(*op.operands[0]) || is_short) return Element{p};
    const VReg both = l.builder().predicate();
    const VReg left = upper_half(l, *op.operands[0], e[0]);
    const VReg right = upper_half(l, *op.operands[1], e[1]);
    l.builder().emit(Opcode::kAlu, "ISETP.EX", {both}, {left, right, p}, variant);
    return Element{both};
  });
}

/// Widening and narrowing of up to 32 bits is free; i1 becomes a number by SEL. Upper halves are
/// the lower one's sign, or zero.
bool lower_resize_int(Lowering& l, const kernel::Op& op) {
  const ValueState from = l.operand(op, 0);
  if (op.operands[0]->type->dtype == kernel::DType::kI1) {
    return map_elements(l, op, [&](std::span<const Element> e) {
      if (e[0].is_constant()) return e[0];
      const Element number{l.builder().value(Opcode::kAlu, "SEL", {e[0].reg}, e[0].bits)};
      l.was_predicate[number.reg] = e[0];
      return number;
    });
  }
  if (from.kind == ValueKind::kIndex) {
    set_index(l, op, from.index);
    return true;
  }
  if (is_wide(*op.operands[0]) == is_wide(*op.result())) return lower_bitcast(l, op);
  const bool zero = op.name() == "arith.extui";
  return map_elements(l, op, [&](std::span<const Element> e) {
    if (!is_wide(*op.result())) return Element{e[0].reg, e[0].bits};
    return zero && !e[0].is_constant()
               ? Element{e[0].reg, 0, 0, l.builder().value(Opcode::kAlu, "MOV", {})}
               : Element{e[0].reg, e[0].bits};
  });
}

}  // namespace xpusim::gpu
