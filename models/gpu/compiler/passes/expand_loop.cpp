#include "models/gpu/compiler/passes/expand_loop.h"

#include <algorithm>
#include <map>

#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu::passes {
namespace {

constexpr std::size_t kBounds = 3;  // operands of scf.for before the initial values
constexpr std::int64_t kLess = 2;   // arith.cmpi slt

void for_each_operand(const Op& op, const std::function<void(Value*)>& visit) {
  walk(const_cast<Op&>(op), [&](Op& inner) {
    for (Value* operand : inner.operands) visit(operand);
  });
}

/// A loop's body and how its values hang together over iterations.
class Body {
 public:
  Body(const Op& loop, const Stages& stages)
      : loop_(loop), block_(*loop.regions[0]->blocks[0]), stages_(stages) {}

  bool makes(const Value& v) const { return v.def && v.def->parent == &block_; }
  bool carries(const Value& v) const { return !v.def && v.owner == &block_ && v.index > 0; }
  bool counts(const Value& v) const { return !v.def && v.owner == &block_ && v.index == 0; }
  Value& first(const Value& arg) const { return *loop_.operands[kBounds + arg.index - 1]; }
  Value& next(const Value& arg) const { return *block_.ops.back()->operands[arg.index - 1]; }
  std::int64_t stage(const Op& op) const { return stages_.of.at(&op); }

  /// Turns of the pipelined loop from when a value is made until a stage uses it.
  std::int64_t distance(const Value& v, std::int64_t use) const {
    if (makes(v)) return use - stage(*v.def);
    return 1 + use - stage(*next(v).def);
  }
  bool is_fixed(const Value& arg) const { return &next(arg) == &arg; }

 private:
  const Op& loop_;
  const Block& block_;
  const Stages& stages_;
};

class Expansion {
 public:
  Expansion(Kernel& kernel, Op& loop, const Stages& stages)
      : kernel_(kernel),
        context_(kernel.context),
        loop_(loop),
        block_(*loop.regions[0]->blocks[0]),
        stages_(stages),
        body_(loop, stages),
        outer_(context_, before(loop), loop) {
    for (std::int64_t s = stages.last; s >= 0; --s) {
      for (const auto& op : block_.ops) {
        if (op.get() != block_.ops.back().get() && stages.of.at(op.get()) == s)
          order_.push_back(op.get());
      }
    }
  }

  Op& run() {
    measure_chains();
    prologue();
    return pipelined();
  }

 private:
  /// A value that the pipelined loop carries for as many turns as its last user is behind.
  struct Chain {
    const Value* value;  ///< made by the body, or carried by the loop before
    std::int64_t length = 0;
    std::size_t first_arg = 0;  ///< of the pipelined loop's block
  };

  Chain& chain(const Value& v) {
    const auto it = chain_of_.find(&v);
    if (it != chain_of_.end()) return chains_[it->second];
    chain_of_[&v] = chains_.size();
    chains_.push_back({&v});
    return chains_.back();
  }

  void measure_chains() {
    for (const auto& arg : block_.args) {
      if (!body_.carries(*arg) || body_.is_fixed(*arg)) continue;
      chain(*arg).length = stages_.last + 1 - body_.stage(*body_.next(*arg).def);
    }
    for (const Op* op : order_) {
      for_each_operand(*op, [&](const Value* v) {
        const bool crosses = body_.makes(*v) || (body_.carries(*v) && !body_.is_fixed(*v));
        if (!crosses) return;
        const std::int64_t distance = body_.distance(*v, body_.stage(*op));
        if (distance > 0) chain(*v).length = std::max(chain(*v).length, distance);
      });
    }
  }

  // --- before the loop --------------------------------------------------------------------------

  void prologue() {
    for (std::int64_t turn = 0; turn < stages_.last; ++turn) {
      std::map<std::int64_t, Value*> runs;  // by iteration
      for (const Op* op : order_) {
        const std::int64_t iteration = turn - body_.stage(*op);
        if (iteration < 0) continue;
        ValueMap map;
        for_each_operand(*op, [&](Value* v) {
          if (Value* now = in_prologue(*v, iteration)) map[v] = now;
        });
        outer_.follow(*op);
        const auto condition = [&] {
          Value*& known = runs[iteration];
          if (!known) known = in_range(iteration);
          return known;
        };
        if (touches_global(*op)) condition();
        Op& copy = outer_.insert(clone(*op, map));
        for (std::size_t i = 0; i < op->results.size(); ++i)
          early_[{op->result(i), iteration}] = copy.result(i);
        if (touches_global(*op)) outer_ = masked(copy, *condition());
      }
    }
  }

  Value* in_prologue(const Value& v, std::int64_t iteration) {
    if (body_.counts(v)) return counter(iteration);
    if (body_.makes(v)) return early_.at({&v, iteration});
    if (!body_.carries(v)) return nullptr;
    if (iteration == 0 || body_.is_fixed(v)) return &body_.first(v);
    return early_.at({&body_.next(v), iteration - 1});
  }

  /// The loop's counter in an iteration.
  Value* counter(std::int64_t iteration) {
    return add_steps(outer_, *loop_.operands[0], iteration);
  }
  Value* add_steps(Builder& builder, Value& from, std::int64_t count) {
    if (count == 0) return &from;
    return builder.make("arith.addi", {&from, steps(builder, count)}, from.type);
  }
  Value* steps(Builder& builder, std::int64_t count) {
    Value* step = loop_.operands[2];
    if (const auto n = kernel::integer_constant(*step))
      return builder.integer(*n * count, step->type);
    return builder.make("arith.muli", {step, builder.integer(count, step->type)}, step->type);
  }

  Value* less(Builder& builder, Value* a, Value* b) {
    return builder.make(
        "arith.cmpi", {a, b}, context_.scalar(kernel::DType::kI1),
        {{"predicate", context_.integer(kLess, context_.scalar(kernel::DType::kI64))}});
  }
  Value* in_range(std::int64_t iteration) {
    outer_.follow(loop_);
    return less(outer_, counter(iteration), loop_.operands[1]);
  }

  static bool touches_global(const Op& op) {
    return op.name() == "ttg.async_copy_global_to_local" || op.name() == "tt.load";
  }

  /// Lets a copy or load do nothing where a condition is false; the place behind it.
  Builder masked(Op& op, Value& condition) {
    const bool copies = op.name() == "ttg.async_copy_global_to_local";
    const std::size_t group = copies ? 2 : 1;
    const Value& pointer = *op.operands[0];
    Builder builder(context_, before(op), op);
    builder.follow(loop_);
    const Type bits = context_.like(pointer.type, context_.scalar(kernel::DType::kI1));
    Value* mask = is_tensor(pointer) ? builder.make("tt.splat", {&condition}, bits) : &condition;
    if (Value* own = op.operand_of(group)) {
      op.operands[group] = builder.make("arith.andi", {mask, own}, bits);
    } else {
      op.operands.insert(op.operands.begin() + static_cast<std::ptrdiff_t>(group), mask);
      op.segments[group] = 1;
    }
    return Builder(context_, after(op), op);
  }

  // --- the loop ---------------------------------------------------------------------------------

  Op& pipelined() {
    Op& made = start();
    Builder inner(context_, start_of(*made.regions[0]->blocks[0]), loop_);
    emit(made, inner);
    finish(made, inner);
    return made;
  }

  /// The new loop with its arguments and what they begin with.
  Op& start() {
    std::vector<Value*> operands(loop_.operands.begin(),
                                 loop_.operands.begin() + static_cast<std::ptrdiff_t>(kBounds));
    std::vector<Type> results;
    auto block = std::make_unique<Block>();
    block->args.push_back(std::make_unique<Value>(*block_.args[0]));
    for (Chain& c : chains_) {
      c.first_arg = block->args.size();
      for (std::int64_t m = 1; m <= c.length; ++m) {
        operands.push_back(at_start(*c.value, m));
        results.push_back(c.value->type);
        auto arg = std::make_unique<Value>();
        arg->type = c.value->type;
        arg->name = c.value->name;
        arg->loc = c.value->loc;
        arg->index = static_cast<std::uint32_t>(block->args.size());
        block->args.push_back(std::move(arg));
      }
    }
    outer_.follow(loop_);
    const auto carried = static_cast<std::uint32_t>(results.size());
    Op& made = outer_.op("scf.for", std::move(operands), results, loop_.attrs, {1, 1, 1, carried});
    auto region = std::make_unique<Region>();
    region->parent = &made;
    block->parent = region.get();
    for (auto& arg : block->args) arg->owner = block.get();
    region->blocks.push_back(std::move(block));
    made.regions.push_back(std::move(region));
    return made;
  }

  /// What the m-th value of a chain is when the loop begins: made m turns before.
  Value* at_start(const Value& v, std::int64_t m) {
    if (body_.makes(v)) return early_.at({&v, stages_.last - m - body_.stage(*v.def)});
    const Value& next = body_.next(v);
    const std::int64_t iteration = stages_.last - m - body_.stage(*next.def);
    return iteration < 0 ? &body_.first(v) : early_.at({&next, iteration});
  }

  Value* in_loop(Value& v, std::int64_t stage, Block& block, Builder& inner) {
    if (body_.counts(v)) {
      Value*& now = counters_[stage];
      if (!now) {
        inner.follow(loop_);
        now = add_steps(inner, *block.args[0], stages_.last - stage);
      }
      return now;
    }
    const bool made = body_.makes(v);
    if (!made && !body_.carries(v)) return nullptr;
    if (!made && body_.is_fixed(v)) return &body_.first(v);
    const std::int64_t distance = body_.distance(v, stage);
    if (distance == 0) return now_.at(made ? &v : &body_.next(v));
    return block.args[chain(v).first_arg + static_cast<std::size_t>(distance) - 1].get();
  }

  void emit(Op& made, Builder& inner) {
    Block& block = *made.regions[0]->blocks[0];
    std::map<std::int64_t, Value*> runs;  // by stage
    for (const Op* op : order_) {
      const std::int64_t s = body_.stage(*op);
      if (!touches_global(*op) || s == stages_.last || runs[s]) continue;
      inner.follow(loop_);
      Value* end = inner.make("arith.subi", {loop_.operands[1], steps(inner, stages_.last - s)},
                              loop_.operands[1]->type);
      runs[s] = less(inner, block.args[0].get(), end);
    }
    for (const Op* op : order_) {
      const std::int64_t s = body_.stage(*op);
      ValueMap map;
      for_each_operand(*op, [&](Value* v) {
        if (Value* now = in_loop(*v, s, block, inner)) map[v] = now;
      });
      inner.follow(*op);
      Op& copy = inner.insert(clone(*op, map));
      for (std::size_t i = 0; i < op->results.size(); ++i) now_[op->result(i)] = copy.result(i);
      if (touches_global(*op) && s < stages_.last) inner = masked(copy, *runs.at(s));
    }
  }

  void finish(Op& made, Builder& inner) {
    Block& block = *made.regions[0]->blocks[0];
    std::vector<Value*> yielded;
    for (const Chain& c : chains_) {
      const Value& newest = body_.makes(*c.value) ? *c.value : body_.next(*c.value);
      for (std::int64_t m = 1; m <= c.length; ++m) {
        const std::size_t older = c.first_arg + static_cast<std::size_t>(m) - 2;
        yielded.push_back(m == 1 ? now_.at(&newest) : block.args[older].get());
      }
    }
    const auto count = static_cast<std::uint32_t>(yielded.size());
    inner.follow(*block_.ops.back());
    inner.op("scf.yield", std::move(yielded), {}, {}, {count});
    for (const auto& arg : block_.args) {
      if (!body_.carries(*arg)) continue;
      const Value& result = *loop_.result(arg->index - 1);
      if (body_.is_fixed(*arg)) {
        replace(kernel_.function, result, body_.first(*arg));
        continue;
      }
      const std::int64_t age = stages_.last - body_.stage(*body_.next(*arg).def);
      const std::size_t at = chain(*arg).first_arg - 1 + static_cast<std::size_t>(age);
      replace(kernel_.function, result, *made.result(at));
    }
    detach(loop_);
  }

  Kernel& kernel_;
  Context& context_;
  Op& loop_;
  Block& block_;
  const Stages& stages_;
  Body body_;
  Builder outer_;
  std::vector<Op*> order_;
  std::vector<Chain> chains_;
  std::unordered_map<const Value*, std::size_t> chain_of_;
  std::map<std::pair<const Value*, std::int64_t>, Value*> early_;  ///< value, iteration: prologue
  std::unordered_map<const Value*, Value*> now_;
  std::map<std::int64_t, Value*> counters_;  ///< of the loop's turn, by stage
};

}  // namespace

bool can_expand(const Op& loop, const Stages& stages) {
  const Body body(loop, stages);
  const Block& block = *loop.regions[0]->blocks[0];
  for (const auto& arg : block.args) {
    if (body.carries(*arg) && !body.is_fixed(*arg) && !body.makes(body.next(*arg))) return false;
  }
  bool fits = true;
  for (const auto& op : block.ops) {
    if (op.get() == block.ops.back().get()) continue;
    const std::int64_t s = stages.of.at(op.get());
    for_each_operand(*op, [&](const Value* v) {
      const bool crosses = body.makes(*v) || (body.carries(*v) && !body.is_fixed(*v));
      fits &= !crosses || body.distance(*v, s) >= 0;
    });
  }
  return fits;
}

Op& expand_loop(Kernel& kernel, Op& loop, const Stages& stages) {
  return Expansion(kernel, loop, stages).run();
}

}  // namespace xpusim::gpu::passes
