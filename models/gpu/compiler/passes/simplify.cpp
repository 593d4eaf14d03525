#include <algorithm>
#include <string>
#include <unordered_map>

#include "models/gpu/compiler/passes/kernel_form.h"

namespace xpusim::gpu::passes {
namespace {

/// Two ops with one key compute the same.
std::string key_of(const Op& op) {
  std::string key(op.name());
  const auto add = [&](const void* p) {
    key.push_back('|');
    key += std::to_string(reinterpret_cast<std::uintptr_t>(p));
  };
  for (const Value* operand : op.operands) add(operand);
  for (const auto& [name, attr] : op.attrs) {
    key += name;
    add(attr);
  }
  for (const auto& result : op.results) add(result->type);
  return key;
}

class Merger {
 public:
  explicit Merger(Op& root) : root_(root) {}

  void run() { block(*root_.regions[0]->blocks[0], {}); }

 private:
  using Known = std::unordered_map<std::string, Op*>;

  void block(Block& block, Known known) {
    Known loads;  // since memory last changed
    for (std::size_t i = 0; i < block.ops.size();) {
      Op& op = *block.ops[i];
      if (changes_memory(op)) loads.clear();
      const bool reads = op.name() == "tt.load" && op.int_attr("isVolatile") == 0;
      if (reads || is_mergeable(op)) {
        const auto [it, is_new] = (reads ? loads : known).emplace(key_of(op), &op);
        if (!is_new) {
          for (std::size_t r = 0; r < op.results.size(); ++r)
            replace(root_, *op.results[r], *it->second->results[r]);
          detach(op);
          continue;
        }
      }
      for (auto& region : op.regions) inner(op, *region, known);
      ++i;
    }
  }

  static bool is_mergeable(const Op& op) {
    return is_free_of_effects(op) && op.regions.empty() && !op.results.empty();
  }
  static bool changes_memory(const Op& op) {
    bool changes = false;
    walk(const_cast<Op&>(op), [&](Op& inner) {
      constexpr std::uint32_t kChanges = kernel::kWritesGlobal | kernel::kAtomic |
                                         kernel::kVisible | kernel::kBarrier | kernel::kWaits;
      changes |= (inner.info->effects & kChanges) != 0 || inner.name() == "tt.call";
    });
    return changes;
  }

  void inner(const Op& op, Region& region, const Known& known) {
    const bool control = op.info->has(kernel::kControl);
    if (region.blocks.size() == 1 && control) block(*region.blocks[0], known);
  }

  Op& root_;
};

/// Puts constants at the head of the function, so that equal ones meet.
void lift_constants(Op& function) {
  Block& entry = *function.regions[0]->blocks[0];
  std::size_t head = 0;
  for (Op* constant : ops_named(function, "arith.constant")) {
    if (constant->parent == &entry && head < entry.ops.size() &&
        entry.ops[head].get() == constant) {
      ++head;
      continue;
    }
    auto taken = detach(*constant);
    taken->parent = &entry;
    entry.ops.insert(entry.ops.begin() + static_cast<std::ptrdiff_t>(head++), std::move(taken));
  }
}

bool may_run_early(const Op& op) {
  const std::string_view name = op.name();
  if (name == "arith.divsi" || name == "arith.remsi" || name == "arith.divui" ||
      name == "arith.remui")
    return false;
  return is_free_of_effects(op) && !op.info->has(kernel::kControl) && !op.results.empty();
}

bool is_inside(const Block* block, const Op& op) {
  while (block && block->parent) {
    const Op* parent = block->parent->parent;
    if (parent == &op) return true;
    block = parent ? parent->parent : nullptr;
  }
  return false;
}

void hoist_from(Context& context, Op& loop, Block& body) {
  for (std::size_t i = 0; i < body.ops.size();) {
    Op& op = *body.ops[i];
    bool varies = !may_run_early(op);
    for (const Value* operand : op.operands) {
      const Block* at = operand->def ? operand->def->parent : operand->owner;
      varies |= is_inside(at, loop);
    }
    for (const auto& region : op.regions) {
      for (const auto& block : region->blocks) {
        for (const auto& in : block->ops) {
          for (const Value* operand : in->operands) {
            const Block* at = operand->def ? operand->def->parent : operand->owner;
            varies |= is_inside(at, loop) && !is_inside(at, op);
          }
        }
      }
    }
    if (varies) {
      ++i;
      continue;
    }
    Builder(context, before(loop), loop).insert(detach(op));
  }
}

}  // namespace

void merge_equal_ops(Kernel& kernel) {
  lift_constants(kernel.function);
  if (kernel.function.regions[0]->blocks.size() == 1) Merger(kernel.function).run();
}

void hoist_invariants(Kernel& kernel) {
  std::vector<Op*> loops;
  walk(kernel.function, [&](Op& op) {
    if (op.name() == "scf.for" || op.name() == "scf.while") loops.push_back(&op);
  });
  std::reverse(loops.begin(), loops.end());  // inner loops first
  for (Op* loop : loops) {
    for (auto& region : loop->regions) {
      if (region->blocks.size() == 1) hoist_from(kernel.context, *loop, *region->blocks[0]);
    }
  }
}

void simplify(Kernel& kernel) {
  fold_conversions(kernel);
  fold_constants(kernel);
  merge_equal_ops(kernel);
  erase_unused(kernel);
}

}  // namespace xpusim::gpu::passes
