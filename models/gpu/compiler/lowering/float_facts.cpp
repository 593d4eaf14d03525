#include "models/gpu/compiler/lowering/float_facts.h"

#include <cmath>

#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu {
namespace {

/// Numbers of arith.cmpf's predicates, as in MLIR.
constexpr std::int64_t kOgt = 2, kOge = 3, kOlt = 4, kOle = 5, kUne = 13;

std::int64_t predicate_of(const kernel::Op& cmpf) { return cmpf.int_attr("predicate"); }

bool is_finite(const kernel::Value& value) {
  if (const auto c = kernel::float_constant(value)) return std::isfinite(*c);
  if (value.def == nullptr) return false;
  const std::string_view op = value.def->name();
  return op == "arith.sitofp" || op == "arith.uitofp";
}

bool is_scale(const kernel::Value& value) {
  const auto c = kernel::float_constant(value);
  return c && std::isfinite(*c) && *c != 0;
}

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

bool never_nan(const kernel::Value& value) {
  if (const auto c = kernel::float_constant(value)) return !std::isnan(*c);
  if (value.def == nullptr) return false;
  const kernel::Op& op = *value.def;
  if (op.name() == "arith.sitofp" || op.name() == "arith.uitofp") return true;
  if (op.name() == "tt.splat" || op.name() == "tt.broadcast" || op.name() == "tt.expand_dims") {
    return never_nan(*op.operands[0]);
  }
  if (op.name() == "arith.addf" || op.name() == "arith.subf") {
    return never_nan(*op.operands[0]) && never_nan(*op.operands[1]) &&
           (is_finite(*op.operands[0]) || is_finite(*op.operands[1]));
  }
  if (op.name() == "arith.mulf") {
    return never_nan(*op.operands[0]) && never_nan(*op.operands[1]) &&
           (is_scale(*op.operands[0]) || is_scale(*op.operands[1]));
  }
  if (op.name() == "arith.select") {
    return never_nan(*op.operands[1]) && never_nan(*op.operands[2]);
  }
  return false;
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
  if ((!same && !turned) || !never_nan(*left) || !never_nan(*right)) return std::nullopt;
  if (!kernel::float_constant(*left) && !kernel::float_constant(*right)) return std::nullopt;
  return Extremum{greater != same};
}

}  // namespace xpusim::gpu
