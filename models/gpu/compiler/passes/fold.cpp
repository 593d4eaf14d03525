#include <algorithm>
#include <optional>

#include "models/gpu/compiler/passes/kernel_form.h"
#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu::passes {
namespace {

using kernel::integer_constant;

/// Turns an op into another one over the same results.
void become(Op& op, std::string_view name, std::vector<Value*> operands, Attrs attrs = {}) {
  op.info = kernel::find_op(name);
  op.operands = std::move(operands);
  op.attrs = std::move(attrs);
  op.segments.clear();
  op.generic_form = false;
  op.property_count = 0;
}

/// Puts a value in the place of an op's result and takes the op out.
void give_way(Kernel& kernel, Op& op, Value& value) {
  replace(kernel.function, *op.result(), value);
  detach(op);
}

/// Simplifies a conversion, which may end it; true if anything changed.
bool fold_conversion(Kernel& kernel, Op& op) {
  Value& from = *op.operands[0];
  Value& to = *op.result();
  if (from.type == to.type) {
    give_way(kernel, op, from);
    return true;
  }
  if (!from.def) return false;
  const Op& def = *from.def;
  const std::string_view name = def.name();
  if (name == "ttg.convert_layout") {
    op.operands[0] = def.operands[0];
    return true;
  }
  if (name == "arith.constant" && def.attr("value")->splat) {
    const Attr encoding = to.type->encoding;
    become(op, name, {}, def.attrs);
    set_encoding(kernel.context, to, encoding);
    return true;
  }
  if (name == "tt.splat" || name == "tt.make_range" || name == "tt.histogram") {
    become(op, name, def.operands, def.attrs);
    op.segments = def.segments;
    return true;
  }
  return false;
}

std::optional<std::int64_t> compute(const Op& op, std::int64_t a, std::int64_t b) {
  const std::string_view name = op.name();
  if (name == "arith.addi") return a + b;
  if (name == "arith.subi") return a - b;
  if (name == "arith.muli") return a * b;
  if (name == "arith.divsi" && b != 0) return a / b;
  if (name == "arith.remsi" && b != 0) return a % b;
  if (name == "arith.minsi") return std::min(a, b);
  if (name == "arith.maxsi") return std::max(a, b);
  if (name == "arith.andi") return a & b;
  if (name == "arith.ori") return a | b;
  if (name == "arith.cmpi") {
    switch (kernel::compare_of(op)) {
      case kernel::Compare::kEq:
        return a == b;
      case kernel::Compare::kNe:
        return a != b;
      case kernel::Compare::kSlt:
        return a < b;
      case kernel::Compare::kSle:
        return a <= b;
      case kernel::Compare::kSgt:
        return a > b;
      case kernel::Compare::kSge:
        return a >= b;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

/// The operand that an op only passes on, or null.
Value* passed_on(const Op& op) {
  const std::string_view name = op.name();
  if (op.operands.size() == 3 && name == "arith.select") {
    if (op.operands[1] == op.operands[2]) return op.operands[1];
    const auto c = integer_constant(*op.operands[0]);
    return c ? op.operands[*c != 0 ? 1 : 2] : nullptr;
  }
  if (op.operands.size() != 2) return nullptr;
  const auto a = integer_constant(*op.operands[0]), b = integer_constant(*op.operands[1]);
  const bool adds = name == "arith.addi" || name == "arith.ori" || name == "arith.xori";
  if (b == 0 && (adds || name == "arith.subi" || name == "tt.addptr")) return op.operands[0];
  if (a == 0 && adds) return op.operands[1];
  const bool multiplies = name == "arith.muli";
  if (b == 1 && (multiplies || name == "arith.divsi")) return op.operands[0];
  if (a == 1 && multiplies) return op.operands[1];
  const bool masks = name == "arith.andi" && op.result()->type->dtype == kernel::DType::kI1;
  if (masks && b && *b != 0) return op.operands[0];
  if (masks && a && *a != 0) return op.operands[1];
  return nullptr;
}

Attr value_attr(Context& context, std::int64_t value, Type type) {
  if (!is_tensor(type)) return context.integer(value, type);
  kernel::AttrData data;
  data.kind = kernel::AttrKind::kDenseElements;
  data.type = type;
  data.ints = {value};
  data.splat = true;
  return context.attr(std::move(data));
}

std::int64_t wrapped(std::int64_t value, Type type) {
  const int bits = kernel::bit_width(type->dtype);
  if (type->dtype == kernel::DType::kI1) return value & 1;
  if (bits >= 64) return value;
  const auto shift = static_cast<unsigned>(64 - bits);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << shift) >> shift;
}

/// A comparison with a constant has it on the right.
bool turn_comparison(Kernel& kernel, Op& op) {
  using kernel::Compare;
  if (op.name() != "arith.cmpi" || !integer_constant(*op.operands[0]) ||
      integer_constant(*op.operands[1]))
    return false;
  static constexpr Compare kMirrored[] = {
      Compare::kEq,  Compare::kNe,  Compare::kSgt, Compare::kSge, Compare::kSlt,
      Compare::kSle, Compare::kUgt, Compare::kUge, Compare::kUlt, Compare::kUle};
  const Compare mirrored = kMirrored[static_cast<std::size_t>(kernel::compare_of(op))];
  std::swap(op.operands[0], op.operands[1]);
  for (auto& [key, value] : op.attrs) {
    if (key == "predicate")
      value = kernel.context.integer(static_cast<std::int64_t>(mirrored), value->type);
  }
  return true;
}

/// A histogram counts, and a gather picks, in any layout.
bool read_unconverted(Op& op) {
  if (op.name() != "tt.histogram" && op.name() != "tt.gather") return false;
  const Op* def = op.operands[0]->def;
  if (!def || def->name() != "ttg.convert_layout") return false;
  op.operands[0] = def->operands[0];
  return true;
}

/// A choice between choices by the same condition needs only one of theirs.
bool shorten_choice(Op& op) {
  if (op.name() != "arith.select") return false;
  bool changed = false;
  for (const std::size_t side : {std::size_t{1}, std::size_t{2}}) {
    const Op* inner = op.operands[side]->def;
    if (!inner || inner->name() != "arith.select" || inner->operands[0] != op.operands[0]) continue;
    op.operands[side] = inner->operands[side];
    changed = true;
  }
  return changed;
}

bool fold_constant(Kernel& kernel, Op& op) {
  if (read_unconverted(op)) return true;
  if (op.results.size() != 1 || op.name() == "arith.constant") return false;
  if (turn_comparison(kernel, op) || shorten_choice(op)) return true;
  Value& result = *op.result();
  if (Value* value = passed_on(op)) {
    if (value->type != result.type) return false;
    give_way(kernel, op, *value);
    return true;
  }
  const std::string_view name = op.name();
  if (op.operands.size() == 2) {
    const auto a = integer_constant(*op.operands[0]), b = integer_constant(*op.operands[1]);
    const auto zero = name == "arith.muli" && (a == 0 || b == 0);
    const auto value = zero     ? std::optional<std::int64_t>(0)
                       : a && b ? compute(op, *a, *b)
                                : std::nullopt;
    if (!value || !kernel::is_integer(result.type->dtype)) return false;
    become(op, "arith.constant", {},
           {{"value", value_attr(kernel.context, wrapped(*value, result.type), result.type)}});
    return true;
  }
  if (op.operands.size() != 1 || !op.operands[0]->def) return false;
  const Op& def = *op.operands[0]->def;
  if (name == "tt.splat") {
    const auto value = integer_constant(*op.operands[0]);
    if (!value) return false;
    become(op, "arith.constant", {}, {{"value", value_attr(kernel.context, *value, result.type)}});
    return true;
  }
  if ((name == "tt.broadcast" || name == "tt.expand_dims") && def.name() == "tt.splat") {
    become(op, "tt.splat", def.operands);
    return true;
  }
  return false;
}

}  // namespace

void fold_conversions(Kernel& kernel) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Op* op : ops_named(kernel.function, "ttg.convert_layout"))
      changed |= fold_conversion(kernel, *op);
  }
}

void fold_constants(Kernel& kernel) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Op*> ops;
    walk(kernel.function, [&](Op& op) { ops.push_back(&op); });
    for (Op* op : ops) changed |= fold_constant(kernel, *op);
  }
}

}  // namespace xpusim::gpu::passes
