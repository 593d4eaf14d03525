#include "models/gpu/compiler/lowering/float_facts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kMinusZero = 1u << 31;

float number(const Element& e) { return std::bit_cast<float>(e.bits); }

FloatFact product(const FloatFact& a, const FloatFact& b) {
  const auto times = [](float x, float y) { return x == 0 || y == 0 ? 0 : x * y; };
  const auto [low, high] = std::minmax(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  // Of numbers, only zero times infinity is none.
  const auto scales = [](const FloatFact& f) { return f.is_finite() && (f.low > 0 || f.high < 0); };
  const bool number =
      !a.nan && !b.nan && ((a.is_finite() && b.is_finite()) || scales(a) || scales(b));
  return {low, high, true, !number};
}

/// Of a sum or a difference: opposite infinities make no number.
bool may_be_nan(const FloatFact& a, const FloatFact& b) {
  return a.nan || b.nan || (!a.is_finite() && !b.is_finite());
}

/// Numbers of arith.cmpf's predicates, as in MLIR.
constexpr std::int64_t kOgt = 2, kOge = 3, kOlt = 4, kOle = 5, kUne = 13;

std::int64_t predicate_of(const kernel::Op& cmpf) { return cmpf.int_attr("predicate"); }

/// x != x
bool is_nan_test(const kernel::Op& op) {
  return op.name() == "arith.cmpf" && predicate_of(op) == kUne && op.operands[0] == op.operands[1];
}

bool orders(const kernel::Op& op) {
  const std::int64_t p = op.name() == "arith.cmpf" ? predicate_of(op) : 0;
  return p == kOgt || p == kOge || p == kOlt || p == kOle;
}

/// Of an `ori`: the comparison besides the test of x for being a NaN.
const kernel::Op* compare_besides_nan_test(const kernel::Op& ori, const kernel::Value** x) {
  for (std::size_t n = 0; n < 2; ++n) {
    const kernel::Op *test = ori.operands[n]->def, *compare = ori.operands[1 - n]->def;
    if (test == nullptr || compare == nullptr || !is_nan_test(*test) || !orders(*compare)) continue;
    *x = test->operands[0];
    if (compare->operands[0] == *x || compare->operands[1] == *x) return compare;
  }
  return nullptr;
}

}  // namespace

FloatFact FloatFact::anything() { return {-kInfinity, kInfinity}; }

FloatFact FloatFact::of(float value) {
  if (std::isnan(value)) return anything();
  return {value, value, value == 0 && std::signbit(value), false};
}

bool FloatFact::is_finite() const { return !nan && std::isfinite(low) && std::isfinite(high); }

FloatFact FloatFacts::of(const Element& e) const {
  if (e.is_constant()) return FloatFact::of(number(e));
  const auto known = facts_.find(e.reg);
  return known == facts_.end() ? FloatFact::anything() : known->second;
}

void FloatFacts::set(VReg reg, const FloatFact& fact) {
  const bool bounded = fact.low <= fact.high;  // false for sums of opposite infinities
  facts_[reg] = bounded ? fact : FloatFact::anything();
}

void FloatFacts::note(std::string_view op, VReg result, const Element& x, const Element& y) {
  const FloatFact a = of(x), b = of(y);
  if (op == "arith.addf") {
    set(result, {a.low + b.low, a.high + b.high, a.minus_zero && b.minus_zero, may_be_nan(a, b)});
  } else if (op == "arith.subf") {
    set(result, {a.low - b.high, a.high - b.low, a.minus_zero, may_be_nan(a, b)});
  } else if (op == "arith.mulf") {
    FloatFact f = product(a, b);
    if (x == y) f = {std::max(f.low, 0.0f), f.high, false, a.nan};
    set(result, f);
  } else if (op.starts_with("arith.max")) {
    set(result, {std::max(a.low, b.low), std::max(a.high, b.high), true, a.nan || b.nan});
  } else if (op.starts_with("arith.min")) {
    set(result, {std::min(a.low, b.low), std::min(a.high, b.high), true, a.nan || b.nan});
  }
}

void FloatFacts::note_either(VReg result, const Element& x, const Element& y) {
  const FloatFact a = of(x), b = of(y);
  set(result, {std::min(a.low, b.low), std::max(a.high, b.high), a.minus_zero || b.minus_zero,
               a.nan || b.nan});
}

std::optional<Element> FloatFacts::fold(std::string_view op, const Element& x,
                                        const Element& y) const {
  const auto constant = [](float f) { return Element{kNoVReg, std::bit_cast<std::uint32_t>(f)}; };
  if (x.is_constant() && y.is_constant()) {
    if (op == "arith.addf") return constant(number(x) + number(y));
    if (op == "arith.subf") return constant(number(x) - number(y));
    if (op == "arith.mulf") return constant(number(x) * number(y));
    if (op == "arith.divf") return constant(number(x) / number(y));
    return std::nullopt;
  }
  const auto is = [](const Element& e, float f) {
    return e.is_constant() && e.bits == std::bit_cast<std::uint32_t>(f);
  };
  if (op == "arith.addf") {
    for (const auto& [one, other] : {std::pair{x, y}, std::pair{y, x}}) {
      if (one.is_constant() && one.bits == kMinusZero) return other;
      if (is(one, 0) && !of(other).minus_zero) return other;
    }
  }
  if (op == "arith.subf" && is(y, 0)) return x;
  if ((op == "arith.mulf" || op == "arith.divf") && is(y, 1)) return x;
  if (op == "arith.mulf" && is(x, 1)) return y;
  return std::nullopt;
}

std::optional<bool> FloatFacts::compare(std::int64_t predicate, const Element& x,
                                        const Element& y) const {
  if (!x.is_constant() || !y.is_constant()) return std::nullopt;
  const float a = number(x), b = number(y);
  const bool unordered = std::isnan(a) || std::isnan(b);
  // 0: false, 1-6: ordered eq gt ge lt le ne, 7: ordered, 8-13: the same or unordered,
  // 14: unordered, 15: true
  if (predicate < 0 || predicate > 15) return std::nullopt;
  if (predicate == 7) return !unordered;
  if (predicate == 14) return unordered;
  if (predicate == 0 || predicate == 15) return predicate == 15;
  if (unordered) return predicate > 7;
  switch (predicate % 7) {
    case 1:
      return a == b;
    case 2:
      return a > b;
    case 3:
      return a >= b;
    case 4:
      return a < b;
    case 5:
      return a <= b;
    default:
      return a != b;
  }
}

const Choice* FloatFacts::choice(const Element& e) const {
  const auto known = choices_.find(e.reg);
  return e.is_constant() || known == choices_.end() ? nullptr : &known->second;
}

std::optional<UnorderedCompare> unordered_compare(const kernel::Op& ori) {
  const kernel::Value* x = nullptr;
  const kernel::Op* compare = compare_besides_nan_test(ori, &x);
  if (compare == nullptr) return std::nullopt;
  const kernel::Value& other = *compare->operands[compare->operands[0] == x ? 1 : 0];
  if (!kernel::float_constant(other) || kernel::bit_width(x->type->dtype) > 32) return std::nullopt;
  return UnorderedCompare{compare};
}

std::optional<Extremum> extremum_of(const kernel::Op& select) {
  const kernel::Op* condition = select.operands[0]->def;
  if (condition == nullptr) return std::nullopt;
  if (condition->name() == "arith.ori") {
    const kernel::Value* x = nullptr;
    condition = compare_besides_nan_test(*condition, &x);
  }
  if (condition == nullptr || !orders(*condition)) return std::nullopt;
  const kernel::Value *left = condition->operands[0], *right = condition->operands[1];
  const bool greater = predicate_of(*condition) == kOgt || predicate_of(*condition) == kOge;
  const bool same = select.operands[1] == left && select.operands[2] == right;
  const bool turned = select.operands[1] == right && select.operands[2] == left;
  if (!same && !turned) return std::nullopt;
  if (!kernel::float_constant(*left) && !kernel::float_constant(*right)) return std::nullopt;
  return Extremum{greater != same};
}

}  // namespace xpusim::gpu
