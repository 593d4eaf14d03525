// Floating-point ops, element by element. The sequences are those of the vendor's assembler for
// PTX's approximate functions (ex2.approx, div.full, sqrt.approx.ftz): scale, look up, scale back.

#include <bit>
#include <cmath>
#include <optional>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/float_facts.h"

namespace xpusim::gpu {
namespace {

constexpr float kLog2E = 1.44269504f;
constexpr float kSmallestExponent = -126;
constexpr float kLargeDivisor = 8.50705917e37f;    // 2^126
constexpr float kNormalDivisor = 1.17549435e-38f;  // 2^-126
constexpr float kScaleDown = 0.25f;
constexpr float kScaleUp = 16777216;  // 2^24

std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }

bool wide(const kernel::Op& op) {
  return kernel::bit_width(op.operands[0]->type->dtype) > 32 ||
         kernel::bit_width(op.result()->type->dtype) > 32;
}

Lowering::Reciprocal reciprocal(Lowering& l, const kernel::Op& op, const Element& divisor) {
  Builder& b = l.builder();
  const VReg of = l.in_register(divisor);
  if (auto it = l.reciprocals.find(of); it != l.reciprocals.end()) return it->second;
  Lowering::Reciprocal r{b.predicate(), b.predicate(), b.general()};
  b.emit(Opcode::kAlu, "FSETP", {r.large}, {of}, bits(kLargeDivisor));
  b.emit(Opcode::kAlu, "FSETP", {r.normal}, {of}, bits(kNormalDivisor));
  VReg scaled = of;
  for (const kernel::Op* user : l.users(*op.operands[1])) {
    if (user->name() != "arith.divf") scaled = kNoVReg;
  }
  if (scaled == kNoVReg) scaled = b.move(of);
  b.redefine(Opcode::kFma, "FMUL", scaled, r.large, false, {}, bits(kScaleDown));
  b.redefine(Opcode::kFma, "FMUL", scaled, r.normal, true, {}, bits(kScaleUp));
  b.emit(Opcode::kMufu, "MUFU.RCP", {r.value}, {scaled});
  return l.reciprocals[of] = r;
}

std::string_view float_mnemonic(std::string_view op) {
  if (op == "arith.addf" || op == "arith.subf") return "FADD";
  if (op == "arith.mulf") return "FMUL";
  return "FMNMX";
}

std::string_view special_mnemonic(std::string_view op) {
  if (op == "math.exp2") return "MUFU.EX2";
  if (op == "math.log2") return "MUFU.LG2";
  if (op == "math.sqrt") return "MUFU.SQRT";
  return "MUFU.RSQ";
}

}  // namespace

VReg own_copy(Lowering& l, const kernel::Op& op, std::size_t operand, const Element& element) {
  if (element.is_constant()) return l.builder().constant(element.bits);
  const kernel::Value& value = *op.operands[operand];
  if (l.is_last_use(value, op) && !l.state(value).alias) return element.reg;
  return l.builder().move(element.reg);
}

/// What the compiler computes itself, of f32 constants.
static std::optional<float> fold(std::string_view op, float x, float y) {
  if (op == "arith.addf") return x + y;
  if (op == "arith.subf") return x - y;
  if (op == "arith.mulf") return x * y;
  return std::nullopt;
}

bool lower_float_binary(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  const std::string_view mnemonic = float_mnemonic(op.name());
  const bool minimum = op.name() == "arith.minnumf" || op.name() == "arith.minimumf";
  const std::uint32_t variant = op.name() == "arith.subf" || minimum ? 1 : 0;
  const Opcode opcode = mnemonic == "FMNMX" ? Opcode::kAlu : Opcode::kFma;
  return map_elements(l, op, [&](std::span<const Element> e) {
    if (e[0].is_constant() && e[1].is_constant()) {
      const float x = std::bit_cast<float>(e[0].bits), y = std::bit_cast<float>(e[1].bits);
      if (const auto folded = fold(op.name(), x, y)) return Element{kNoVReg, bits(*folded)};
    }
    const VReg first = e[0].is_constant() && e[1].is_constant() ? l.in_register(e[0]) : e[0].reg;
    return Element{
        l.builder().value(opcode, mnemonic, {first, e[1].reg}, e[0].bits ^ e[1].bits ^ variant)};
  });
}

bool lower_div_float(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    Builder& b = l.builder();
    if (e[1].is_constant()) {
      const float inverse = 1 / std::bit_cast<float>(e[1].bits);
      return Element{b.value(Opcode::kFma, "FMUL", {l.in_register(e[0])}, bits(inverse))};
    }
    const Lowering::Reciprocal r = reciprocal(l, op, e[1]);
    VReg numerator;
    if (e[0].is_constant()) {
      const float scaled = std::bit_cast<float>(e[0].bits) * kScaleDown;
      const VReg small = b.value(Opcode::kHfma2, "HFMA2.MMA", {}, bits(scaled));
      numerator = b.value(Opcode::kAlu, "FSEL", {small, r.large}, e[0].bits);
    } else {
      numerator = own_copy(l, op, 0, e[0]);
      b.redefine(Opcode::kFma, "FMUL", numerator, r.large, false, {}, bits(kScaleDown));
    }
    b.redefine(Opcode::kFma, "FMUL", numerator, r.normal, true, {}, bits(kScaleUp));
    return Element{b.value(Opcode::kFma, "FMUL", {r.value, numerator})};
  });
}

bool lower_exp(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    Builder& b = l.builder();
    const VReg x = b.value(Opcode::kFma, "FMUL", {l.in_register(e[0])}, bits(kLog2E));
    const VReg normal = b.predicate();
    b.emit(Opcode::kAlu, "FSETP", {normal}, {x}, bits(kSmallestExponent));
    b.redefine(Opcode::kFma, "FMUL", x, normal, true, {}, bits(0.5f));
    const VReg result = b.value(Opcode::kMufu, "MUFU.EX2", {x});
    b.redefine(Opcode::kFma, "FMUL", result, normal, true, {result});
    return Element{result};
  });
}

bool lower_fma(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    const VReg first = l.in_register(e[0]);
    return Element{l.builder().value(Opcode::kFma, "FFMA", {first, e[1].reg, e[2].reg},
                                     e[1].bits ^ e[2].bits)};
  });
}

bool lower_special(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  const std::string_view mnemonic = special_mnemonic(op.name());
  return map_elements(l, op, [&](std::span<const Element> e) {
    return Element{l.builder().value(Opcode::kMufu, mnemonic, {l.in_register(e[0])})};
  });
}

bool lower_negate(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  const std::uint32_t variant = op.name() == "arith.negf" ? 1 : 2;
  return map_elements(l, op, [&](std::span<const Element> e) {
    return Element{l.builder().value(Opcode::kFma, "FADD", {l.in_register(e[0])}, variant)};
  });
}

bool lower_cmp_float(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    const VReg p = l.builder().predicate();
    l.builder().emit(Opcode::kAlu, "FSETP", {p}, {e[0].reg, e[1].reg},
                     e[0].bits ^ e[1].bits ^ static_cast<std::uint32_t>(op.int_attr("predicate")));
    return Element{p};
  });
}

/// Between closed forms on the uniform datapath. False: it cannot be done there.
static bool select_uniform(Lowering& l, const kernel::Op& op) {
  const ValueState condition = l.operand(op, 0);
  const ValueState yes = l.operand(op, 1), no = l.operand(op, 2);
  const bool closed = yes.kind == ValueKind::kIndex && no.kind == ValueKind::kIndex;
  if (condition.kind != ValueKind::kMask || condition.comparisons.size() != 1 || !closed) {
    return false;
  }
  Builder& b = l.builder();
  auto source = [&](const IndexForm& f) { return f.scalar == kNoScalar ? kNoVReg : l.uniform(f); };
  const Comparison& c = condition.comparisons[0];
  const VReg which = b.uniform(), result = b.uniform();
  const VReg left = l.uniform(c.left);
  b.emit(Opcode::kUniform, "UISETP", {which}, {left, source(c.right)},
         static_cast<std::uint32_t>(c.right.offset) ^ static_cast<std::uint32_t>(c.how) << 28);
  const VReg x = source(yes.index), y = source(no.index);
  b.emit(Opcode::kUniform, "USEL", {result}, {x, y, which},
         static_cast<std::uint32_t>(yes.index.offset ^ no.index.offset));
  ValueState& s = l.state(*op.result());
  s = {};
  s.kind = ValueKind::kIndex;
  s.index.scalar = l.scalars().in_uniform_register(result);
  return true;
}

/// An instruction of the block under construction again, with its result clamped to [0, 1].
static VReg saturate(Lowering& l, VReg value) {
  const auto& code = l.builder().code().blocks.back().code;
  for (std::size_t at = code.size(); at-- > 0;) {
    if (code[at].defs.size() != 1 || code[at].defs[0] != value) continue;
    const MachineInstruction i = code[at];
    const std::string_view saturated = i.mnemonic == "FADD"   ? "FADD.SAT"
                                       : i.mnemonic == "FMUL" ? "FMUL.SAT"
                                                              : "";
    if (saturated.empty() || i.guard != kNoVReg) break;
    const VReg result = l.builder().general();
    MachineInstruction& again = l.builder().emit(i.op, saturated, {result}, {}, i.immediate);
    again.uses = i.uses;
    return result;
  }
  return kNoVReg;
}

/// The larger or smaller one; a clamp to [0, 1] is part of the instruction whose result it takes.
static bool lower_extremum(Lowering& l, const kernel::Op& op, const Extremum& extremum) {
  return map_elements(l, op, [&](std::span<const Element> e) {
    const Element& x = e[1].is_constant() ? e[2] : e[1];
    const std::uint32_t bound = e[1].is_constant() ? e[1].bits : e[2].bits;
    const auto from_zero = l.raised_to_zero.find(x.reg);
    if (extremum.minimum && bound == bits(1) && from_zero != l.raised_to_zero.end()) {
      const VReg saturated = saturate(l, from_zero->second);
      if (saturated != kNoVReg) return Element{saturated};
    }
    const VReg result =
        l.builder().value(Opcode::kAlu, "FMNMX", {l.in_register(x)}, bound ^ extremum.minimum);
    if (!extremum.minimum && bound == 0) l.raised_to_zero[result] = x.reg;
    return Element{result};
  });
}

bool lower_select(Lowering& l, const kernel::Op& op) {
  if (l.is_uniform(*op.result()) && select_uniform(l, op)) return true;
  if (kernel::bit_width(op.result()->type->dtype) == 32 &&
      kernel::is_float(op.result()->type->dtype)) {
    if (const auto extremum = extremum_of(op)) return lower_extremum(l, op, *extremum);
  }
  const bool both_halves = kernel::bit_width(op.result()->type->dtype) > 32;
  const bool is_float = kernel::is_float(op.result()->type->dtype);
  return map_elements(l, op, [&](std::span<const Element> e) {
    if (e[0].is_constant()) return e[0].bits != 0 ? e[1] : e[2];
    const VReg left = e[1].is_constant() && e[2].is_constant() ? l.in_register(e[1]) : e[1].reg;
    const std::string_view mnemonic = is_float ? "FSEL" : "SEL";
    Element result{l.builder().value(Opcode::kAlu, mnemonic, {left, e[2].reg, e[0].reg},
                                     e[1].bits ^ e[2].bits)};
    if (both_halves) {
      result.high = l.builder().value(Opcode::kAlu, mnemonic,
                                      {l.high_half(e[1]), l.high_half(e[2]), e[0].reg});
    }
    return result;
  });
}

bool lower_int_to_float(Lowering& l, const kernel::Op& op) {
  if (kernel::bit_width(op.result()->type->dtype) > 32) return lower_double(l, op);
  const bool both_halves = kernel::bit_width(op.operands[0]->type->dtype) > 32;
  return map_elements(l, op, [&](std::span<const Element> e) {
    if (both_halves) {
      return Element{
          l.builder().value(Opcode::kMufu, "I2F.S64", {l.in_register(e[0]), l.high_half(e[0])})};
    }
    return Element{l.builder().value(Opcode::kAlu, "I2FP", {l.in_register(e[0])})};
  });
}

bool lower_float_to_int(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    return Element{l.builder().value(Opcode::kMufu, "F2I", {l.in_register(e[0])})};
  });
}

bool lower_bitcast(Lowering& l, const kernel::Op& op) {
  const ValueState from = l.operand(op, 0);
  ValueState& to = l.state(*op.result());
  to = from;
  to.alias = true;
  return true;
}

}  // namespace xpusim::gpu
