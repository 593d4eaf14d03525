#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "models/gpu/compiler/passes/kernel_form.h"
#include "models/gpu/compiler/passes/work.h"

namespace xpusim::gpu::passes {
namespace {

using Placed = std::pair<const Value*, Attr>;  ///< a value in a layout

/// What must be computed anew to have a value in another layout.
struct Slice {
  std::unordered_map<const Value*, Attr> layout;
  std::vector<Value*> values;
};

/// Makes small values large, or adds a dimension: a conversion is cheaper before it.
bool widens(const Op& op) {
  const std::string_view name = op.name();
  return name == "arith.extsi" || name == "arith.extui" || name == "arith.extf" ||
         name == "tt.broadcast" || name == "tt.expand_dims" ||
         (name == "tt.fp_to_fp" && kernel::bit_width(op.operands[0]->type->dtype) <
                                       kernel::bit_width(op.result()->type->dtype));
}

/// An op whose results its regions hand on.
bool is_carrier(const Op& op) { return op.name() == "scf.for" || op.name() == "scf.if"; }

/// What a result of such an op comes from: a loop's argument, what branches yield.
std::vector<Value*> carried(const Op& op, std::size_t result) {
  std::vector<Value*> from;
  for (const auto& region : op.regions) {
    const Block& block = *region->blocks[0];
    from.push_back(op.name() == "scf.for" ? block.args[result + 1].get()
                                          : block.ops.back()->operands[result]);
  }
  return from;
}

class Rematerializer {
 public:
  explicit Rematerializer(Kernel& kernel) : kernel_(kernel), context_(kernel.context) {}

  void run() {
    for_each_conversion([&](Op& conversion) { compute_anew(conversion); });
    made_.clear();
  }
  void move_conversions() {
    for_each_conversion([&](Op& conversion) { move_before_widening(conversion); });
    made_.clear();
  }

 private:
  template <class Work>
  void for_each_conversion(const Work& work) {
    for (Op* conversion : ops_named(kernel_.function, "ttg.convert_layout")) {
      if (!is_dot_operand(conversion->result()->type->encoding)) work(*conversion);
    }
    fold_conversions(kernel_);
    erase_unused(kernel_);
  }

  void compute_anew(Op& conversion) {
    Slice slice;
    const Attr to = conversion.result()->type->encoding;
    if (!collect(*conversion.operands[0], to, slice, nullptr) || !can_repeat(slice)) return;
    if (cost(slice, conversion) > conversion_cost(conversion.operands[0]->type)) return;
    rewrite(slice, conversion);
  }

  bool can_repeat(const Slice& slice) {
    return std::all_of(slice.values.begin(), slice.values.end(), [&](const Value* value) {
      return !value->def || is_carrier(*value->def) || may_repeat(*value->def, kernel_.target);
    });
  }

  /// The values that `root` depends on, each with the layout that it needs. Fails where a value is
  /// needed in two, or an op cannot say what its operands need. Ends at ops that `stops`.
  bool collect(Value& root, Attr encoding, Slice& slice, bool (*stops)(const Op&)) {
    std::vector<std::pair<Value*, Attr>> queue{{&root, encoding}};
    while (!queue.empty()) {
      auto [value, to] = queue.back();
      queue.pop_back();
      if (!is_tensor(*value) || value->type->encoding == to) continue;
      if (made_.contains({value, to})) {
        slice.layout.try_emplace(value, to);
        continue;
      }
      if (const auto it = slice.layout.find(value); it != slice.layout.end()) {
        if (it->second != to) return false;
        continue;
      }
      slice.layout[value] = to;
      slice.values.push_back(value);
      if (value->def ? !enter(*value, to, slice, stops, queue) : !enter_argument(*value, to, queue))
        return false;
    }
    return true;
  }

  bool enter(Value& value, Attr to, Slice& slice, bool (*stops)(const Op&),
             std::vector<std::pair<Value*, Attr>>& queue) {
    Op& op = *value.def;
    if (is_carrier(op)) {
      for (Value* from : carried(op, value.index)) queue.emplace_back(from, to);
      return true;
    }
    for (auto& result : op.results) {
      if (result.get() == &value || !is_tensor(*result)) continue;
      const auto [it, is_new] = slice.layout.try_emplace(result.get(), to);
      if (!is_new && it->second != to) return false;
      if (is_new) slice.values.push_back(result.get());
    }
    if ((stops && stops(op)) || folds_into_conversion(op, to)) return true;
    for (Value* operand : op.operands) {
      if (!is_tensor(*operand)) continue;
      const Attr from = operand_encoding(context_, op, to);
      if (!from) return false;
      queue.emplace_back(operand, from);
    }
    return true;
  }

  static bool enter_argument(const Value& arg, Attr to,
                             std::vector<std::pair<Value*, Attr>>& queue) {
    Op& loop = *arg.owner->parent->parent;
    if (loop.name() != "scf.for" || arg.index == 0) return false;
    queue.emplace_back(loop.operands[arg.index + 2], to);
    queue.emplace_back(arg.owner->ops.back()->operands[arg.index - 1], to);
    return true;
  }

  /// The work of ops that others still need as they are, so that they would run twice.
  std::int64_t cost(const Slice& slice, const Op& conversion) {
    const Users users = users_of(kernel_.function);
    std::set<const Op*> ops;
    for (const Value* value : slice.values) {
      if (value->def) ops.insert(value->def);
    }
    std::map<const Op*, bool> vanishes;
    std::int64_t sum = 0;
    for (const Op* op : ops) {
      if (!only_feeds(*op, conversion, ops, users, vanishes)) sum += repeat_cost(*op);
    }
    return sum;
  }

  static bool only_feeds(const Op& op, const Op& conversion, const std::set<const Op*>& ops,
                         const Users& users, std::map<const Op*, bool>& known) {
    if (const auto it = known.find(&op); it != known.end()) return it->second;
    known[&op] = false;  // round a loop
    bool only = true;
    for (const auto& result : op.results) {
      const auto it = users.find(result.get());
      if (it == users.end()) continue;
      for (const Op* user : it->second) {
        only &= user == &conversion ||
                (ops.contains(user) && only_feeds(*user, conversion, ops, users, known));
      }
    }
    return known[&op] = only;
  }

  Value* in_layout(Value& value, Attr to) {
    if (!is_tensor(value) || value.type->encoding == to) return &value;
    const auto it = made_.find({&value, to});
    return it == made_.end() ? nullptr : it->second;
  }

  /// Computes a slice in its layouts, each op behind the one that it repeats, and puts the result
  /// in the conversion's place.
  void rewrite(const Slice& slice, Op& conversion) {
    add_carried(slice);
    std::set<const Op*> repeated;
    for (const Value* value : slice.values) {
      if (value->def && !is_carrier(*value->def)) repeated.insert(value->def);
    }
    std::vector<Op*> in_order;
    walk(kernel_.function, [&](Op& op) {
      if (repeated.contains(&op)) in_order.push_back(&op);
    });
    for (Op* op : in_order) repeat(*op, slice);
    connect_carried();
    Value* result = in_layout(*conversion.operands[0], conversion.result()->type->encoding);
    replace(kernel_.function, *conversion.result(), *result, nullptr);
  }

  void repeat(Op& op, const Slice& slice) {
    Attr to = nullptr;
    for (const auto& result : op.results) {
      if (const auto it = slice.layout.find(result.get()); it != slice.layout.end())
        to = it->second;
    }
    if (made_.contains({op.result(), to})) return;
    ValueMap map;
    if (!folds_into_conversion(op, to)) {
      for (Value* operand : op.operands) {
        if (!is_tensor(*operand)) continue;
        map[operand] = in_layout(*operand, operand_encoding(context_, op, to));
      }
    }
    Builder builder(context_, after(op), op);
    Op& copy = builder.insert(clone(op, map));
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      if (!is_tensor(*op.results[i])) continue;
      set_encoding(context_, *copy.results[i], to);
      made_[{op.results[i].get(), to}] = copy.results[i].get();
    }
  }

  /// Values that loops and branches hand on are handed on in the second layout too.
  void add_carried(const Slice& slice) {
    for (const Value* value : slice.values) {
      const Attr to = slice.layout.at(value);
      if (made_.contains({value, to})) continue;
      if (!value->def) {
        add_argument(*value, to);
        add_result(*value->owner->parent->parent, value->index - 1, to);
      } else if (value->def->name() == "scf.if") {
        add_result(*value->def, value->index, to);
      }
    }
  }
  void add_argument(const Value& old, Attr to) {
    auto arg = std::make_unique<Value>(old);
    arg->index = static_cast<std::uint32_t>(old.owner->args.size());
    arg->type = with_encoding(context_, old.type, to);
    made_[{&old, to}] = arg.get();
    old.owner->args.push_back(std::move(arg));
  }
  void add_result(Op& op, std::size_t index, Attr to) {
    auto result = std::make_unique<Value>(*op.result(index));
    result->index = static_cast<std::uint32_t>(op.results.size());
    result->type = with_encoding(context_, result->type, to);
    made_[{op.result(index), to}] = result.get();
    op.results.push_back(std::move(result));
    added_.push_back({&op, index, to});
  }

  /// Gives the new arguments and results what they hold.
  void connect_carried() {
    for (const auto& [op, index, to] : added_) {
      if (op->name() == "scf.for") {
        op->operands.push_back(in_layout(*op->operands[index + 3], to));
        op->segments.back()++;
      }
      for (const auto& region : op->regions) {
        Op& yield = *region->blocks[0]->ops.back();
        yield.operands.push_back(in_layout(*yield.operands[index], to));
        if (!yield.segments.empty()) yield.segments.back()++;
      }
    }
    added_.clear();
  }

  /// Converts the small operand of the one widening op that cannot be computed anew, and repeats
  /// the rest.
  void move_before_widening(Op& conversion) {
    const Attr to = conversion.result()->type->encoding;
    Slice slice;
    if (!collect(*conversion.operands[0], to, slice, widens) || !can_repeat(slice)) return;
    Op* last = nullptr;
    const std::vector<Value*> found = slice.values;
    for (Value* value : found) {
      if (!value->def || !widens(*value->def)) continue;
      if (collect_before(*value->def, slice)) continue;
      if (last) return;
      last = value->def;
    }
    if (!last) return;
    Value* operand = last->operands[0];
    const Attr from = operand_encoding(context_, *last, slice.layout.at(last->result()));
    if (!from || is_dot_operand(from)) return;
    Builder builder(context_, before(*last), *last);
    Value* converted = builder.convert(operand, from);
    made_[{operand, from}] = converted;
    rewrite(slice, conversion);
    made_.erase({operand, from});  // it stands behind uses of the operand that come earlier
  }

  /// Adds what a widening op depends on to a slice, if all of that can be computed anew.
  bool collect_before(const Op& op, Slice& slice) {
    const Attr from = operand_encoding(context_, op, slice.layout.at(op.result()));
    Slice more;
    if (!from || !collect(*op.operands[0], from, more, nullptr) || !can_repeat(more)) return false;
    for (const auto& [value, layout] : more.layout) {
      const auto it = slice.layout.find(value);
      if (it != slice.layout.end() && it->second != layout) return false;
    }
    for (Value* value : more.values) {
      if (!slice.layout.contains(value)) slice.values.push_back(value);
    }
    slice.layout.insert(more.layout.begin(), more.layout.end());
    return true;
  }

  struct Added {
    Op* op;             ///< a loop or branch
    std::size_t index;  ///< of the result that has another layout now too
    Attr to;
  };

  Kernel& kernel_;
  Context& context_;
  std::map<Placed, Value*> made_;
  std::vector<Added> added_;
};

}  // namespace

void rematerialize(Kernel& kernel) { Rematerializer(kernel).run(); }
void move_conversions(Kernel& kernel) { Rematerializer(kernel).move_conversions(); }

}  // namespace xpusim::gpu::passes
