#include <unordered_set>

#include "models/gpu/compiler/passes/kernel_form.h"

namespace xpusim::gpu::passes {
namespace {

bool may_vanish(const Op& op) {
  const std::string_view name = op.name();
  if (name == "tt.load") return op.int_attr("isVolatile") == 0;
  if (name == "ttg.local_alloc" || name == "ttg.local_load") return true;
  return is_free_of_effects(op) && !op.info->has(kernel::kTerminator);
}

/// Finds what the ops with effects need, and takes out the rest, values that loops carry included.
class Eraser {
 public:
  explicit Eraser(Op& function) : function_(function) {}

  void run() {
    walk(function_, [&](Op& op) {
      if (&op == &function_ || is_partial(op)) return;
      if (op.info->has(kernel::kTerminator) ? is_needed_end(op) : !may_vanish(op) && !is_loop(op))
        need(op);
    });
    while (!queue_.empty()) {
      const Value* value = queue_.back();
      queue_.pop_back();
      enter(*value);
    }
    sweep(*function_.regions[0]);
  }

 private:
  static bool is_loop(const Op& op) { return op.name() == "scf.for" || op.name() == "scf.if"; }
  static Op* owner(const Op& op) {
    return op.parent && op.parent->parent ? op.parent->parent->parent : nullptr;
  }
  /// The end of a loop or branch, whose operands are needed one by one.
  static bool is_partial(const Op& op) { return op.name() == "scf.yield" && is_loop(*owner(op)); }
  /// The end of a function; ends of other regions are needed with their op.
  static bool is_needed_end(const Op& op) {
    const std::string_view name = owner(op)->name();
    return name == "tt.func";
  }

  void need(const Value* value) {
    if (live_.insert(value).second) queue_.push_back(value);
  }

  void need(const Op& op) {
    if (!needed_.insert(&op).second) return;
    if (const Op* parent = owner(op); parent && parent != &function_) need(*parent);
    if (op.name() == "scf.for") {
      for (std::size_t i = 0; i < 3; ++i) need(op.operands[i]);
    } else {
      for (const Value* operand : op.operands) need(operand);
    }
    for (const auto& region : op.regions) {
      for (const auto& block : region->blocks) {
        if (!block->ops.empty()) need_end(*block->ops.back(), is_loop(op));
      }
    }
  }
  void need_end(const Op& end, bool partial) {
    needed_.insert(&end);
    if (partial) return;
    for (const Value* operand : end.operands) need(operand);
  }

  void enter(const Value& value) {
    if (value.def) {
      need(*value.def);
      if (value.def->name() == "scf.for") need_carried(*value.def, value.index);
      if (value.def->name() == "scf.if") {
        for (const auto& region : value.def->regions) {
          for (const auto& block : region->blocks) need(block->ops.back()->operands[value.index]);
        }
      }
      return;
    }
    const Op& parent = *value.owner->parent->parent;
    if (&parent == &function_) return;
    need(parent);
    if (parent.name() == "scf.for" && value.index > 0) need_carried(parent, value.index - 1);
  }
  void need_carried(const Op& loop, std::size_t i) {
    const Block& body = *loop.regions[0]->blocks[0];
    need(loop.operands[i + 3]);
    need(body.args[i + 1].get());
    need(loop.result(i));
    need(body.ops.back()->operands[i]);
  }

  void sweep(Region& region) {
    for (auto& block : region.blocks) {
      std::erase_if(block->ops, [&](const auto& op) { return !needed_.contains(op.get()); });
      for (auto& op : block->ops) {
        if (is_loop(*op)) drop_values(*op);
        for (auto& inner : op->regions) sweep(*inner);
      }
    }
  }

  void drop_values(Op& op) {
    for (std::size_t i = op.results.size(); i-- > 0;) {
      if (live_.contains(op.result(i))) continue;
      for (auto& region : op.regions) {
        for (auto& block : region->blocks) {
          Op& end = *block->ops.back();
          end.operands.erase(end.operands.begin() + static_cast<std::ptrdiff_t>(i));
          if (!end.segments.empty()) --end.segments.back();
          if (op.name() == "scf.for")
            block->args.erase(block->args.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
      if (op.name() == "scf.for") {
        op.operands.erase(op.operands.begin() + static_cast<std::ptrdiff_t>(i) + 3);
        --op.segments.back();
      }
      op.results.erase(op.results.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < op.results.size(); ++i)
      op.results[i]->index = static_cast<std::uint32_t>(i);
    if (op.name() != "scf.for") return;
    auto& args = op.regions[0]->blocks[0]->args;
    for (std::size_t i = 0; i < args.size(); ++i) args[i]->index = static_cast<std::uint32_t>(i);
  }

  Op& function_;
  std::unordered_set<const Value*> live_;
  std::unordered_set<const Op*> needed_;
  std::vector<const Value*> queue_;
};

}  // namespace

void erase_unused(Kernel& kernel) { Eraser(kernel.function).run(); }

}  // namespace xpusim::gpu::passes
