#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "models/gpu/compiler/passes/kernel_form.h"
#include "sim/kernel/analysis/axis_info.h"
#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu::passes {
namespace {

constexpr std::int64_t kVectorBytes = 16;

bool is_access(const Op& op) {
  const std::string_view name = op.name();
  const bool accesses =
      name == "tt.load" || name == "tt.store" || name == "tt.atomic_rmw" || name == "tt.atomic_cas";
  return accesses && is_tensor(*op.operands[0]);
}

class Coalescer {
 public:
  explicit Coalescer(Kernel& kernel) : kernel_(kernel), context_(kernel.context) {}

  void run() {
    std::vector<Op*> accesses;
    walk(kernel_.function, [&](Op& op) {
      if (is_access(op)) accesses.push_back(&op);
    });
    connect();
    std::vector<Attr> layouts;  // all of them before any op changes
    for (const Op* op : accesses) layouts.push_back(layout_of(*op, accesses));
    for (std::size_t i = 0; i < accesses.size(); ++i) place(*accesses[i], layouts[i]);
  }

 private:
  Shape order(const Op& op) {
    const auto& runs = axes_.of(*op.operands[0]).contiguity;
    Shape dims(runs.size());
    std::iota(dims.begin(), dims.end(), 0);
    std::stable_sort(dims.begin(), dims.end(), [&](std::int64_t a, std::int64_t b) {
      return runs[static_cast<std::size_t>(a)] > runs[static_cast<std::size_t>(b)];
    });
    return dims;
  }

  /// Neighbouring, aligned elements that one instruction may move.
  std::int64_t vector(const Op& op, std::size_t dim) {
    const Value& pointer = *op.operands[0];
    const kernel::AxisInfo& info = axes_.of(pointer);
    const std::int64_t bytes = std::max<std::int64_t>(1, kernel::pointee_bytes(pointer.type));
    const std::int64_t aligned = std::max<std::int64_t>(1, info.divisibility[dim] / bytes);
    const std::int64_t run = std::min(info.contiguity[dim], pointer.type->shape[dim]);
    return std::min({aligned, run, kVectorBytes / bytes});
  }

  /// Accesses to tiles of one shape and order that hang together get the widest one's layout.
  /// Writes never more than their own width, since they would leave gaps.
  Attr layout_of(const Op& op, const std::vector<Op*>& accesses) {
    const Shape& tile = op.operands[0]->type->shape;
    const Shape dims = order(op);
    const auto inner = static_cast<std::size_t>(dims[0]);
    std::int64_t width = vector(op, inner);
    for (const Op* other : accesses) {
      if (other->operands[0]->type->shape != tile || group(*other) != group(op)) continue;
      if (order(*other) == dims) width = std::max(width, vector(*other, inner));
    }
    const std::int64_t threads = kernel_.target.num_warps * kThreadsPerWarp;
    width = std::min(width, std::max<std::int64_t>(1, op.operands[0]->type->count() / threads));
    if (op.name() != "tt.load") width = std::min(width, vector(op, inner));
    Shape per_thread(tile.size(), 1);
    per_thread[inner] = width;
    return encoding_of(context_, spread(tile, per_thread, dims, kernel_.target.num_warps));
  }

  void place(Op& op, Attr encoding) {
    Builder builder(context_, before(op), op);
    for (Value*& operand : op.operands) operand = builder.convert(operand, encoding);
    for (auto& result : op.results) {
      if (!is_tensor(*result) || result->type->encoding == encoding) continue;
      const Attr wanted = result->type->encoding;
      set_encoding(context_, *result, encoding);
      Builder behind(context_, after(op), op);
      Value* converted = behind.convert(result.get(), wanted);
      replace(kernel_.function, *result, *converted, converted->def);
    }
  }

  // Groups of ops that depend on one another in either direction, as a forest of parents.

  void connect() {
    walk(kernel_.function, [&](Op& op) {
      if (&op == &kernel_.function) return;
      for (const Value* operand : op.operands) {
        if (operand->def) {
          join(op, *operand->def);
        } else if (const Op* parent = operand->owner->parent->parent; parent != &kernel_.function) {
          join(op, *parent);
        }
      }
      const Op* parent = op.parent->parent->parent;
      if (parent != &kernel_.function) join(op, *parent);
    });
  }
  const Op* group(const Op& op) {
    const Op* at = &op;
    for (auto it = group_.find(at); it != group_.end(); it = group_.find(at)) at = it->second;
    return at;
  }
  void join(const Op& a, const Op& b) {
    const Op *x = group(a), *y = group(b);
    if (x != y) group_[x] = y;
  }

  Kernel& kernel_;
  Context& context_;
  kernel::AxisAnalysis axes_;
  std::unordered_map<const Op*, const Op*> group_;
};

}  // namespace

void coalesce_accesses(Kernel& kernel) { Coalescer(kernel).run(); }

}  // namespace xpusim::gpu::passes
