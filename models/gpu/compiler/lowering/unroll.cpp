#include "models/gpu/compiler/lowering/unroll.h"

#include <algorithm>
#include <optional>

#include "sim/kernel/op_info.h"

namespace xpusim::gpu {
namespace {

/// The compiler unrolls loops of so many instructions at most, over all iterations; indices do not
/// count, since they fold to constants (LLVM's own limit is 300). Fitted to listings of kernels
/// with constant bounds.
constexpr std::int64_t kUnrollLimit = 275;
/// LLVM goes through few iterations one by one and allows more where much folds: here as much more
/// for all. (Listings with four iterations: 408 instructions in all are unrolled, 424 are not.)
constexpr std::int64_t kLimitOfFew = 410;
constexpr std::int64_t kFewTrips = 10;  ///< LLVM's default; from five on no listing was seen

bool is_division(const kernel::Op& op) {
  return op.name() == "arith.divsi" || op.name() == "arith.remsi";
}

/// The compiler's instructions for an element of an op whose result does not fold to a constant.
std::int64_t weight(const kernel::Op& op) {
  if (op.name() == "tt.extern_elementwise") {
    return op.str_attr("symbol") == "__nv_expf" ? 9 : 16;  // inlined by then
  }
  if (is_division(op)) return 6;
  if (op.name() == "arith.cmpf") return 1;
  const bool is_number = !op.results.empty() && kernel::is_float(op.result()->type->dtype);
  return is_number || op.results.empty() ? 1 : 0;
}

/// What a branch's condition is where the loop's variable has a value; none: others decide.
std::optional<bool> decided(const kernel::Op& branch, const kernel::Value& variable,
                            std::int64_t value) {
  const kernel::Op* condition = branch.operands[0]->def;
  if (!condition || condition->name() != "arith.cmpi") return std::nullopt;
  const auto known = [&](const kernel::Value& side) {
    return &side == &variable ? std::optional{value} : kernel::integer_constant(side);
  };
  const auto left = known(*condition->operands[0]), right = known(*condition->operands[1]);
  if (!left || !right) return std::nullopt;
  return kernel::holds(kernel::compare_of(*condition), *left, *right);
}

/// Whether nothing in a branch leaves a record, so that copies of it may differ.
bool is_plain(const kernel::Op& branch) {
  constexpr std::uint32_t kPlain = kernel::kPure | kernel::kElementwise | kernel::kTerminator;
  for (const auto& region : branch.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& inner : block->ops) {
        if (!inner->regions.empty() || (inner->info->effects & ~kPlain) != 0) return false;
      }
    }
  }
  return true;
}

/// A loop and its size, in instructions.
class Loop {
 public:
  Loop(Lowering& l, const kernel::Op& op)
      : l_(l), body_(*op.regions[0]->blocks[0]), width_(first_load_width(l, body_)) {}

  /// Of the iteration in which the variable has this value.
  std::int64_t size(std::int64_t value) { return size(body_, value); }
  /// Whether each copy of the body keeps one side of every branch.
  bool is_straight() const {
    return std::none_of(body_.ops.begin(), body_.ops.end(), [&](const auto& inner) {
      if (inner->name() == "scf.yield" || !inner->name().starts_with("scf.")) return false;
      return inner->name() != "scf.if" || !decided(*inner, variable(), 0) || !is_plain(*inner);
    });
  }

 private:
  const kernel::Value& variable() const { return *body_.args[0]; }

  std::int64_t size(const kernel::Block& block, std::int64_t value) {
    std::int64_t total = 0;
    for (const auto& op : block.ops) {
      if (op->name() == "scf.if") {
        const auto has_code = [&](std::size_t side) {
          return side < op->regions.size() && !op->regions[side]->blocks.empty();
        };
        const bool yes = decided(*op, variable(), value).value_or(false) || !has_code(1);
        const std::size_t side = yes ? 0 : 1;
        if (has_code(side)) total += size(*op->regions[side]->blocks[0], value);
      }
      const std::int64_t count = registers(*op);
      total += weight(*op) * (is_division(*op) ? std::max<std::int64_t>(1, count / width_) : count);
    }
    return total;
  }
  std::int64_t registers(const kernel::Op& op) {
    std::int64_t most = 1;
    for (const auto& result : op.results) {
      const bool tile = result->type->kind == kernel::TypeKind::kTensor;
      const kernel::LinearLayout* layout = tile ? l_.layout(result->type, op) : nullptr;
      most = std::max<std::int64_t>(most, layout ? layout->register_count() : 1);
    }
    return most;
  }

  Lowering& l_;
  const kernel::Block& body_;
  std::int64_t width_;
};

}  // namespace

std::int64_t first_load_width(Lowering& l, const kernel::Block& body) {
  for (const auto& op : body.ops) {
    if (op->name() != "tt.load") continue;
    const kernel::Value& pointer = *op->operands[0];
    const kernel::LinearLayout* layout =
        pointer.type->kind == kernel::TypeKind::kTensor ? l.layout(pointer.type, *op) : nullptr;
    if (!layout) continue;
    const std::uint32_t dim = layout->fastest_dim();
    const auto* mask = op->operands.size() > 1 ? op->operands[1] : nullptr;
    const std::int64_t width =
        kernel::vector_width(l.axes(), pointer, mask, layout->contiguous(dim), dim);
    if (width != 0) return width;
  }
  return 1;
}

std::int64_t unrolled_trips(Lowering& l, const kernel::Op& loop) {
  const auto low = kernel::integer_constant(*loop.operands[0]);
  const auto high = kernel::integer_constant(*loop.operands[1]);
  const auto by = kernel::integer_constant(*loop.operands[2]);
  if (!low || !high || !by || *by <= 0 || *high <= *low) return 0;
  const std::int64_t trips = (*high - *low + *by - 1) / *by;
  if (trips > kUnrollLimit) return 0;
  const std::int64_t limit = trips <= kFewTrips ? kLimitOfFew : kUnrollLimit;
  Loop body(l, loop);
  std::int64_t size = 0;
  for (std::int64_t trip = 0; trip < trips && size <= limit; ++trip) {
    size += body.size(*low + trip * *by);
  }
  return size <= limit && body.is_straight() ? trips : 0;
}

}  // namespace xpusim::gpu
