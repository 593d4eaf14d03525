#include "models/gpu/compiler/passes/edit.h"

#include <algorithm>

namespace xpusim::gpu::passes {
namespace {

std::size_t index_of(const Op& op) {
  const auto& ops = op.parent->ops;
  const auto it =
      std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.get() == &op; });
  return static_cast<std::size_t>(it - ops.begin());
}

std::unique_ptr<Region> clone_region(const Region& region, Op& parent, ValueMap& map) {
  auto copy = std::make_unique<Region>();
  copy->parent = &parent;
  std::unordered_map<const Block*, Block*> blocks;
  for (const auto& block : region.blocks) {
    auto& to = copy->blocks.emplace_back(std::make_unique<Block>());
    to->parent = copy.get();
    to->label = block->label;
    blocks[block.get()] = to.get();
    for (const auto& arg : block->args) {
      auto& value = to->args.emplace_back(std::make_unique<Value>(*arg));
      value->owner = to.get();
      map[arg.get()] = value.get();
    }
  }
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      auto& made = blocks[block.get()]->ops.emplace_back(clone(*op, map));
      made->parent = blocks[block.get()];
      for (Block*& to : made->successors) {
        if (const auto it = blocks.find(to); it != blocks.end()) to = it->second;
      }
    }
  }
  return copy;
}

}  // namespace

Place before(const Op& op) { return {op.parent, index_of(op)}; }
Place after(const Op& op) { return {op.parent, index_of(op) + 1}; }
Place start_of(Block& block) { return {&block, 0}; }
Place end_of(Block& block) { return {&block, block.ops.empty() ? 0 : block.ops.size() - 1}; }
Place after(const Value& value) { return value.def ? after(*value.def) : Place{value.owner, 0}; }

Op& Builder::insert(std::unique_ptr<Op> op) {
  op->parent = place_.block;
  Op& made = *op;
  place_.block->ops.insert(place_.block->ops.begin() + static_cast<std::ptrdiff_t>(place_.index++),
                           std::move(op));
  return made;
}

Op& Builder::op(std::string_view name, std::vector<Value*> operands,
                const std::vector<Type>& results, Attrs attrs,
                std::vector<std::uint32_t> segments) {
  auto made = std::make_unique<Op>();
  made->info = kernel::find_op(name);
  made->operands = std::move(operands);
  made->segments = std::move(segments);
  made->attrs = std::move(attrs);
  made->loc = model_->loc;
  made->text = model_->text;
  const std::string base = model_->results.empty() ? "" : model_->results[0]->name;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto value = std::make_unique<Value>();
    value->type = results[i];
    value->def = made.get();
    value->index = static_cast<std::uint32_t>(i);
    value->name = base;
    value->loc = model_->loc;
    made->results.push_back(std::move(value));
  }
  return insert(std::move(made));
}

Value* Builder::integer(std::int64_t value, Type type) {
  return make("arith.constant", {}, type, {{"value", context_->integer(value, type)}});
}

Value* Builder::convert(Value* value, Attr encoding) {
  if (!is_tensor(*value) || value->type->encoding == encoding) return value;
  Value* made =
      make("ttg.convert_layout", {value}, with_encoding(*context_, value->type, encoding));
  made->name = value->name;
  return made;
}

Type with_encoding(Context& context, Type type, Attr encoding) {
  if (type->encoding == encoding) return type;
  kernel::TypeData data = *type;
  data.text.clear();
  data.encoding = encoding;
  return context.type(std::move(data));
}

bool is_tensor(Type type) { return type->kind == kernel::TypeKind::kTensor; }
bool is_tensor(const Value& value) { return is_tensor(value.type); }

std::unique_ptr<Op> clone(const Op& op, ValueMap& map) {
  auto copy = std::make_unique<Op>();
  copy->info = op.info;
  copy->segments = op.segments;
  copy->attrs = op.attrs;
  copy->successors = op.successors;
  copy->loc = op.loc;
  copy->text = op.text;
  copy->generic_form = op.generic_form;
  copy->property_count = op.property_count;
  for (Value* operand : op.operands) {
    const auto it = map.find(operand);
    copy->operands.push_back(it == map.end() ? operand : it->second);
  }
  for (const auto& result : op.results) {
    auto& value = copy->results.emplace_back(std::make_unique<Value>(*result));
    value->def = copy.get();
    map[result.get()] = value.get();
  }
  for (const auto& region : op.regions) {
    copy->regions.push_back(clone_region(*region, *copy, map));
  }
  return copy;
}

void walk(Op& op, const std::function<void(Op&)>& visit) {
  visit(op);
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (std::size_t i = 0; i < block->ops.size(); ++i) walk(*block->ops[i], visit);
    }
  }
}

std::vector<Op*> ops_named(Op& root, std::string_view name) {
  std::vector<Op*> found;
  walk(root, [&](Op& op) {
    if (op.name() == name) found.push_back(&op);
  });
  return found;
}

Users users_of(Op& root) {
  Users users;
  walk(root, [&](Op& op) {
    for (const Value* operand : op.operands) {
      auto& list = users[operand];
      if (list.empty() || list.back() != &op) list.push_back(&op);
    }
  });
  return users;
}

void replace(Op& root, const Value& from, Value& to, const Op* except) {
  walk(root, [&](Op& op) {
    if (&op == except) return;
    std::replace(op.operands.begin(), op.operands.end(), const_cast<Value*>(&from), &to);
  });
}

std::unique_ptr<Op> detach(Op& op) {
  Block& block = *op.parent;
  const auto it = block.ops.begin() + static_cast<std::ptrdiff_t>(index_of(op));
  std::unique_ptr<Op> taken = std::move(*it);
  block.ops.erase(it);
  taken->parent = nullptr;
  return taken;
}

bool is_free_of_effects(const Op& op) {
  constexpr std::uint32_t kHeld = kernel::kReadsGlobal | kernel::kWritesGlobal |
                                  kernel::kReadsShared | kernel::kWritesShared | kernel::kAtomic |
                                  kernel::kAsync | kernel::kWaits | kernel::kBarrier |
                                  kernel::kTerminator | kernel::kVisible;
  if ((op.info->effects & kHeld) != 0 || op.name() == "tt.call") return false;
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& inner : block->ops) {
        if (!inner->info->has(kernel::kTerminator) && !is_free_of_effects(*inner)) return false;
      }
    }
  }
  return true;
}

}  // namespace xpusim::gpu::passes
