// Floating-point ops, element by element. The sequences are those of the vendor's assembler for
// PTX's approximate functions (ex2.approx, div.full, sqrt.approx.ftz): scale, look up, scale back.

#include <bit>
#include <limits>
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

/// Results that are no less than 0, if their source is a number.
constexpr FloatFact kPositive{0, std::numeric_limits<float>::infinity(), false};
/// Integers are finite numbers; of their bounds nothing is used (layer_norm's listings check a
/// divisor that is one as any other).
constexpr FloatFact kInteger{std::numeric_limits<float>::lowest(),
                             std::numeric_limits<float>::max(), false, false};

std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }

bool wide(const kernel::Op& op) {
  return kernel::bit_width(op.operands[0]->type->dtype) > 32 ||
         kernel::bit_width(op.result()->type->dtype) > 32;
}

/// Scales a divisor, or a dividend, into the range in which reciprocals are exact enough, unless it
/// is known to be there.
void rescale(Builder& b, VReg reg, const Lowering::Reciprocal& by) {
  if (by.large != kNoVReg) {
    b.redefine(Opcode::kFma, "FMUL", reg, by.large, false, {}, bits(kScaleDown));
  }
  if (by.normal != kNoVReg) {
    b.redefine(Opcode::kFma, "FMUL", reg, by.normal, true, {}, bits(kScaleUp));
  }
}

Lowering::Reciprocal reciprocal(Lowering& l, const kernel::Op& op, const Element& divisor) {
  Builder& b = l.builder();
  const VReg of = l.in_register(divisor);
  if (auto it = l.reciprocals.find(of); it != l.reciprocals.end()) return it->second;
  const FloatFact known = l.float_facts.of(divisor);
  Lowering::Reciprocal r{kNoVReg, kNoVReg, b.general()};
  if (known.low < -kLargeDivisor || known.high > kLargeDivisor) {
    r.large = b.predicate();
    b.emit(Opcode::kAlu, "FSETP", {r.large}, {of}, bits(kLargeDivisor));
  }
  if (known.low < kNormalDivisor && known.high > -kNormalDivisor) {
    r.normal = b.predicate();
    b.emit(Opcode::kAlu, "FSETP", {r.normal}, {of}, bits(kNormalDivisor));
  }
  VReg scaled = of;
  for (const kernel::Op* user : l.users(*op.operands[1])) {
    if (user->name() != "arith.divf") scaled = kNoVReg;
  }
  const bool plain = r.large == kNoVReg && r.normal == kNoVReg;
  if (scaled == kNoVReg) scaled = plain ? of : b.move(of);
  rescale(b, scaled, r);
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

/// A select between two elements of 32 bits.
Element choose(Lowering& l, const Choice& c) {
  if (c.yes == c.no) return c.yes;
  const VReg left = c.yes.is_constant() && c.no.is_constant() ? l.in_register(c.yes) : c.yes.reg;
  const VReg result = l.builder().value(Opcode::kAlu, "FSEL", {left, c.no.reg, c.condition.reg},
                                        c.yes.bits ^ c.no.bits);
  l.float_facts.note_either(result, c.yes, c.no);
  l.float_facts.set_choice(result, c);
  return {result};
}

}  // namespace

VReg own_copy(Lowering& l, const kernel::Op& op, std::size_t operand, const Element& element) {
  if (element.is_constant()) return l.builder().constant(element.bits);
  const kernel::Value& value = *op.operands[operand];
  if (l.is_last_use(value, op) && !l.state(value).alias) return element.reg;
  return l.builder().move(element.reg);
}

namespace {

/// An op on two selects by one condition selects between the results, where one of them is a
/// constant (LLVM's rule): a sum of masked elements is masked once, at its end.
std::optional<Element> join_choices(Lowering& l, std::string_view op, const Element& x,
                                    const Element& y);

Element float_binary(Lowering& l, std::string_view op, const Element& x, const Element& y) {
  if (const auto known = l.float_facts.fold(op, x, y)) return *known;
  if (const auto joined = join_choices(l, op, x, y)) return *joined;
  const std::string_view mnemonic = float_mnemonic(op);
  const bool minimum = op == "arith.minnumf" || op == "arith.minimumf";
  const std::uint32_t variant = op == "arith.subf" || minimum ? 1 : 0;
  const Opcode opcode = mnemonic == "FMNMX" ? Opcode::kAlu : Opcode::kFma;
  const VReg first = x.is_constant() && y.is_constant() ? l.in_register(x) : x.reg;
  const VReg result =
      l.builder().value(opcode, mnemonic, {first, y.reg}, x.bits ^ y.bits ^ variant);
  l.float_facts.note(op, result, x, y);
  return {result};
}

std::optional<Element> join_choices(Lowering& l, std::string_view op, const Element& x,
                                    const Element& y) {
  const Choice *a = l.float_facts.choice(x), *b = l.float_facts.choice(y);
  if (!a || !b || a->condition != b->condition || float_mnemonic(op) == "FMNMX") {
    return std::nullopt;
  }
  const Choice left = *a, right = *b;
  const auto yes = l.float_facts.fold(op, left.yes, right.yes);
  const auto no = l.float_facts.fold(op, left.no, right.no);
  if (!yes && !no) return std::nullopt;
  return choose(l, {left.condition, yes ? *yes : float_binary(l, op, left.yes, right.yes),
                    no ? *no : float_binary(l, op, left.no, right.no)});
}

}  // namespace

bool lower_float_binary(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(
      l, op, [&](std::span<const Element> e) { return float_binary(l, op.name(), e[0], e[1]); });
}

bool lower_div_float(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    Builder& b = l.builder();
    if (const auto known = l.float_facts.fold(op.name(), e[0], e[1])) return *known;
    if (e[1].is_constant()) {
      const float inverse = 1 / std::bit_cast<float>(e[1].bits);
      return float_binary(l, "arith.mulf", e[0], {kNoVReg, bits(inverse)});
    }
    const Lowering::Reciprocal r = reciprocal(l, op, e[1]);
    if (r.large == kNoVReg && r.normal == kNoVReg) {
      if (e[0].is_constant() && e[0].bits == bits(1)) return Element{r.value};
      return Element{b.value(Opcode::kFma, "FMUL", {r.value, e[0].reg}, e[0].bits)};
    }
    VReg numerator;
    if (e[0].is_constant()) {
      const float scaled = std::bit_cast<float>(e[0].bits) * kScaleDown;
      const VReg small = b.value(Opcode::kHfma2, "HFMA2.MMA", {}, bits(scaled));
      const bool large = r.large != kNoVReg;
      numerator = b.value(Opcode::kAlu, "FSEL", {small, large ? r.large : r.normal}, e[0].bits);
      if (large && r.normal != kNoVReg) rescale(b, numerator, {kNoVReg, r.normal, kNoVReg});
    } else {
      numerator = own_copy(l, op, 0, e[0]);
      rescale(b, numerator, r);
    }
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
    l.float_facts.set(result, kPositive);
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
    const VReg result = l.builder().value(Opcode::kMufu, mnemonic, {l.in_register(e[0])});
    if (mnemonic == "MUFU.EX2") l.float_facts.set(result, kPositive);
    return Element{result};
  });
}

bool lower_negate(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  const std::uint32_t variant = op.name() == "arith.negf" ? 1 : 2;
  return map_elements(l, op, [&](std::span<const Element> e) {
    const VReg result = l.builder().value(Opcode::kFma, "FADD", {l.in_register(e[0])}, variant);
    if (variant == 2) l.float_facts.set(result, kPositive);
    return Element{result};
  });
}

bool lower_cmp_float(Lowering& l, const kernel::Op& op) {
  if (wide(op)) return lower_double(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    const std::int64_t predicate = op.int_attr("predicate");
    if (const auto known = l.float_facts.compare(predicate, e[0], e[1])) {
      return Element{kNoVReg, *known ? 1u : 0u};
    }
    const VReg p = l.builder().predicate();
    l.builder().emit(Opcode::kAlu, "FSETP", {p}, {e[0].reg, e[1].reg},
                     e[0].bits ^ e[1].bits ^ static_cast<std::uint32_t>(predicate));
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
static Element lower_extremum(Lowering& l, const Extremum& extremum, const Element& left,
                              const Element& right) {
  const Element& x = left.is_constant() ? right : left;
  const std::uint32_t bound = left.is_constant() ? left.bits : right.bits;
  const auto from_zero = l.raised_to_zero.find(x.reg);
  if (extremum.minimum && bound == bits(1) && from_zero != l.raised_to_zero.end()) {
    const VReg saturated = saturate(l, from_zero->second);
    if (saturated != kNoVReg) {
      l.float_facts.set(saturated, {0, 1, true, false});
      return {saturated};
    }
  }
  const VReg result =
      l.builder().value(Opcode::kAlu, "FMNMX", {l.in_register(x)}, bound ^ extremum.minimum);
  if (!extremum.minimum && bound == 0) l.raised_to_zero[result] = x.reg;
  l.float_facts.note(extremum.minimum ? "arith.minnumf" : "arith.maxnumf", result, left, right);
  return {result};
}

/// The larger or smaller of two integers, where the condition of a select compares just these.
static bool select_extreme(Lowering& l, const kernel::Op& op) {
  const kernel::Op* compares = op.operands[0]->def;
  if (!compares || compares->name() != "arith.cmpi") return false;
  const auto *a = compares->operands[0], *b = compares->operands[1];
  const auto *yes = op.operands[1], *no = op.operands[2];
  const bool same = (a == yes && b == no) || (a == no && b == yes);
  const kernel::Compare how = kernel::compare_of(*compares);
  const bool ordered = how != kernel::Compare::kEq && how != kernel::Compare::kNe;
  if (!same || !ordered || kernel::bit_width(op.result()->type->dtype) > 32) return false;
  return map_elements(l, op, [&](std::span<const Element> e) {
    if (e[0].is_constant()) return e[0].bits != 0 ? e[1] : e[2];
    const VReg first = e[1].is_constant() && e[2].is_constant() ? l.in_register(e[1]) : e[1].reg;
    const auto variant = static_cast<std::uint32_t>(how) << 28 ^ (a == yes ? 1u << 27 : 0);
    return Element{l.builder().value(Opcode::kAlu, "VIMNMX", {first, e[2].reg},
                                     e[1].bits ^ e[2].bits ^ variant)};
  });
}

bool lower_select(Lowering& l, const kernel::Op& op) {
  if (select_extreme(l, op)) return true;
  if (l.is_uniform(*op.result()) && select_uniform(l, op)) return true;
  const bool both_halves = kernel::bit_width(op.result()->type->dtype) > 32;
  const kernel::DType dtype = op.result()->type->dtype;
  const bool is_float = kernel::is_float(dtype);
  const bool read_once = dtype == kernel::DType::kF32 && l.use_count(*op.result()) == 1;
  const auto extremum = dtype == kernel::DType::kF32 ? extremum_of(op) : std::nullopt;
  return map_elements(l, op, [&](std::span<const Element> e) {
    if (e[0].is_constant()) return e[0].bits != 0 ? e[1] : e[2];
    if (e[1] == e[2]) return e[1];
    if (extremum && !l.float_facts.of(e[1]).nan && !l.float_facts.of(e[2]).nan) {
      return lower_extremum(l, *extremum, e[1], e[2]);
    }
    if (read_once) return choose(l, {e[0], e[1], e[2]});
    const VReg left = e[1].is_constant() && e[2].is_constant() ? l.in_register(e[1]) : e[1].reg;
    const std::string_view mnemonic = is_float ? "FSEL" : "SEL";
    Element result{l.builder().value(Opcode::kAlu, mnemonic, {left, e[2].reg, e[0].reg},
                                     e[1].bits ^ e[2].bits)};
    if (dtype == kernel::DType::kF32) l.float_facts.note_either(result.reg, e[1], e[2]);
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
    const VReg low = l.in_register(e[0]);
    const VReg result = both_halves
                            ? l.builder().value(Opcode::kMufu, "I2F.S64", {low, l.high_half(e[0])})
                            : l.builder().value(Opcode::kAlu, "I2FP", {low});
    l.float_facts.set(result, kInteger);
    return Element{result};
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
