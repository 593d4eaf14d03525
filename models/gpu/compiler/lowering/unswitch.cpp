#include "models/gpu/compiler/lowering/unswitch.h"

#include <algorithm>
#include <unordered_set>

#include "models/gpu/compiler/lowering/unroll.h"
#include "sim/kernel/op_info.h"

namespace xpusim::gpu {
namespace {

/// Instructions of the largest loop that the compiler copies; LLVM's limit of 50 counts other
/// instructions. Listings: loops of up to 26 of ours are copied, such of 34 are not.
constexpr std::int64_t kUnswitchLimit = 32;

class Loop {
 public:
  Loop(Lowering& l, const kernel::Op& op) : l_(l), body_(*op.regions[0]->blocks[0]) {
    for (std::size_t n = 1; n < body_.args.size(); ++n) data_.insert(body_.args[n].get());
    for (const auto& arg : body_.args) inside_.insert(arg.get());
    for (const auto& inner : body_.ops) {
      for (const auto& result : inner->results) inside_.insert(result.get());
    }
  }

  /// Whether it only loads and computes.
  bool is_plain() const {
    constexpr std::uint32_t kPlain = kernel::kPure | kernel::kElementwise | kernel::kTerminator;
    return std::all_of(body_.ops.begin(), body_.ops.end(), [](const auto& op) {
      return op->regions.empty() && (op->name() == "tt.load" || (op->info->effects & ~kPlain) == 0);
    });
  }

  /// Instructions: one an element of what depends on memory, one a vector of indices and masks.
  std::int64_t size() {
    std::int64_t total = 0;
    for (const auto& op : body_.ops) {
      if (op->results.empty() || only_moves(op->name())) continue;
      const bool load = op->name() == "tt.load";
      const bool data = load || std::any_of(op->operands.begin(), op->operands.end(),
                                            [&](const auto* v) { return data_.contains(v); });
      if (data) data_.insert(op->result());
      const std::int64_t elements = registers(*op);
      const std::int64_t times =
          data && !load ? elements : std::max<std::int64_t>(1, elements / width());
      total += times * weight(op->name());
    }
    return total;
  }

  /// The first mask from outside in the conditions of selects.
  const kernel::Value* invariant_condition() const {
    for (const auto& op : body_.ops) {
      if (op->name() != "arith.select") continue;
      if (const auto* found = invariant(*op->operands[0])) return found;
    }
    return nullptr;
  }

 private:
  /// Integer divisions by constants, and calls of special functions, are several instructions.
  static std::int64_t weight(std::string_view name) {
    if (name == "arith.divsi" || name == "arith.remsi") return 6;
    return name.starts_with("math.") || name == "tt.extern_elementwise" ? 4 : 1;
  }
  static bool only_moves(std::string_view name) {
    return name == "tt.splat" || name == "tt.broadcast" || name == "tt.expand_dims" ||
           name == "arith.constant";
  }
  const kernel::Value* invariant(const kernel::Value& condition) const {
    if (!inside_.contains(&condition)) return &condition;
    const kernel::Op* op = condition.def;
    if (op == nullptr || op->name() != "arith.andi") return nullptr;
    const auto* found = invariant(*op->operands[0]);
    return found ? found : invariant(*op->operands[1]);
  }
  std::int64_t registers(const kernel::Op& op) {
    const kernel::Type type = op.result()->type;
    if (type->kind != kernel::TypeKind::kTensor) return 1;
    const kernel::LinearLayout* layout = l_.layout(type, op);
    return layout ? layout->register_count() : 1;
  }
  std::int64_t width() {
    if (width_ == 0) width_ = first_load_width(l_, body_);
    return width_;
  }

  Lowering& l_;
  const kernel::Block& body_;
  std::unordered_set<const kernel::Value*> inside_, data_;
  std::int64_t width_ = 0;
};

}  // namespace

const kernel::Value* find_unswitched(Lowering& l, const kernel::Op& loop) {
  Loop body(l, loop);
  if (!body.is_plain()) return nullptr;
  const kernel::Value* mask = body.invariant_condition();
  if (!mask || l.state(*mask).kind != ValueKind::kMask) return nullptr;
  return body.size() <= kUnswitchLimit ? mask : nullptr;
}

}  // namespace xpusim::gpu
