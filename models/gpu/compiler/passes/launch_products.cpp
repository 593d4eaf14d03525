#include <algorithm>

#include "models/gpu/compiler/passes/kernel_form.h"

namespace xpusim::gpu::passes {
namespace {

bool is_wgmma(const Op& op) { return op.name() == "ttng.warp_group_dot"; }
bool is_wait(const Op& op) { return op.name() == "ttng.warp_group_dot_wait"; }

/// The op that made what a view shows.
const Op* source(const Value& view) {
  const Op* op = view.def;
  while (op && op->name() == "ttg.memdesc_trans") op = op->operands[0]->def;
  return op;
}

bool is_inside(const Op& op, const Op& outer) {
  for (const Op* at = &op; at && at->parent && at->parent->parent;
       at = at->parent->parent->parent) {
    if (at->parent->parent->parent == &outer) return true;
  }
  return false;
}

class Launch {
 public:
  explicit Launch(Kernel& kernel) : kernel_(kernel), context_(kernel.context) {}

  void run() {
    for (Op* loop : ops_named(kernel_.function, "scf.for")) loop_products(*loop);
    fences();
  }

 private:
  Attr i32(std::int64_t n) { return context_.integer(n, context_.scalar(kernel::DType::kI32)); }

  void loop_products(Op& loop) {
    Block& block = *loop.regions[0]->blocks[0];
    std::vector<Op*> dots;
    for (const auto& op : block.ops) {
      if (is_wgmma(*op)) dots.push_back(op.get());
    }
    if (dots.empty()) return;
    for (Op* dot : dots)
      dot->attrs.insert(dot->attrs.begin() + 1, {"isAsync", context_.boolean(true)});
    std::vector<Op*> running;  // into the next iteration
    for (Op* dot : dots) {
      if (!is_loose(*dot, loop)) wait_behind(*dot);
    }
    for (Op* dot : dots) {
      if (is_loose(*dot, loop) && is_late(*dot, loop)) {
        running.push_back(dot);
      } else if (is_loose(*dot, loop)) {
        wait_behind(*dot);
      }
    }
    if (running.empty()) return;
    limit(running, block);
    for (Op* dot : running) wait_after_loop(loop, *dot);
  }

  /// Whether only the next iteration needs the result, and what the dot reads stays meanwhile.
  bool is_loose(const Op& dot, const Op& loop) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Value& factor = *dot.operands[i];
      if (is_tensor(factor)) continue;
      const Op* from = source(factor);
      if (from && from->name() == "ttg.local_alloc" && is_inside(*from, loop)) return false;
    }
    const Users users = users_of(kernel_.function);
    const auto it = users.find(dot.result());
    return it != users.end() && it->second.size() == 1 && it->second[0]->name() == "scf.yield";
  }

  static Value* carried(const Op& dot, const Op& loop) {
    const Block& block = *loop.regions[0]->blocks[0];
    const auto& yielded = block.ops.back()->operands;
    const auto it = std::find(yielded.begin(), yielded.end(), dot.result());
    return block.args[static_cast<std::size_t>(it - yielded.begin()) + 1].get();
  }

  /// Whether the next iteration needs the result only in dots, or only behind a wait for all dots;
  /// then the wait hands it on.
  bool is_late(const Op& dot, const Op& loop) {
    Block& block = *loop.regions[0]->blocks[0];
    Value* arg = carried(dot, loop);
    const Users users = users_of(kernel_.function);
    const auto it = users.find(arg);
    if (it == users.end()) return true;
    const bool only_added = std::all_of(it->second.begin(), it->second.end(), [&](const Op* user) {
      return is_wgmma(*user) && user->operands[2] == arg;
    });
    if (only_added) return true;
    Op* wait = nullptr;
    for (const auto& op : block.ops) {
      if (std::find(op->operands.begin(), op->operands.end(), arg) != op->operands.end()) break;
      if (is_wait(*op) && op->int_attr("pendings") == 0) wait = op.get();
      if (wait) break;
    }
    if (!wait) return false;
    hand_on(*wait, *arg);
    return true;
  }

  void hand_on(Op& wait, Value& value) {
    auto out = std::make_unique<Value>(*wait.result());
    out->index = static_cast<std::uint32_t>(wait.results.size());
    out->type = value.type;
    Value& passed = *wait.results.emplace_back(std::move(out));
    replace(kernel_.function, value, passed, &wait);
    wait.operands.push_back(&value);
    ++wait.segments.back();
  }

  Op& make_wait(Builder& builder, const std::vector<Value*>& values, std::int64_t pendings) {
    std::vector<Type> types;
    for (const Value* v : values) types.push_back(v->type);
    return builder.op("ttng.warp_group_dot_wait", values, types, {{"pendings", i32(pendings)}},
                      {static_cast<std::uint32_t>(values.size())});
  }

  static std::vector<Value*> waited(const Op& dot) {
    std::vector<Value*> values{dot.result()};
    for (std::size_t i = 0; i < 2; ++i) {
      if (!is_tensor(*dot.operands[i])) values.push_back(dot.operands[i]);
    }
    return values;
  }

  Op& wait_behind(Op& dot, std::int64_t pendings = 0) {
    Builder builder(context_, after(dot), dot);
    Op& wait = make_wait(builder, waited(dot), pendings);
    replace(kernel_.function, *dot.result(), *wait.result(), &wait);
    return wait;
  }

  /// Lets at most this iteration's dots run on, so that buffers of the one before are free.
  void limit(const std::vector<Op*>& running, Block& block) {
    for (const auto& op : block.ops) {
      if (op.get() == running.back()) break;
      if (is_wait(*op) && op->int_attr("pendings") == 0) return;  // those before have ended there
    }
    wait_behind(*running.back(), static_cast<std::int64_t>(running.size()));
  }

  void wait_after_loop(Op& loop, Op& dot) {
    const auto& yielded = loop.regions[0]->blocks[0]->ops.back()->operands;
    for (std::size_t i = 0; i < yielded.size(); ++i) {
      const Op* def = yielded[i]->def;
      const bool is_dots =
          def == &dot ||
          (def && is_wait(*def) && def->operands[0] == dot.result() && yielded[i] == def->result());
      if (!is_dots) continue;
      Builder builder(context_, after(loop), dot);
      Op& wait = make_wait(builder, {loop.result(i)}, 0);
      replace(kernel_.function, *loop.result(i), *wait.result(), &wait);
    }
  }

  /// What threads wrote to shared memory must be seen by the tensor cores.
  void fences() {
    std::vector<const Op*> fenced;
    for (Op* dot : ops_named(kernel_.function, "ttng.warp_group_dot")) {
      for (std::size_t i = 0; i < 2; ++i) {
        const Op* from = source(*dot->operands[i]);
        if (!from || from->name() != "ttg.local_alloc" || from->operands.empty()) continue;
        if (std::find(fenced.begin(), fenced.end(), from) != fenced.end()) continue;
        fenced.push_back(from);
        Op* at = dot;
        while (at->parent != from->parent) at = at->parent->parent->parent;
        const Place place = before(*at);
        const bool there = place.index > 0 &&
                           place.block->ops[place.index - 1]->name() == "ttng.fence_async_shared";
        if (there) continue;
        Builder(context_, place, *dot)
            .op("ttng.fence_async_shared", {}, {}, {{"bCluster", context_.boolean(false)}});
      }
    }
  }

  Kernel& kernel_;
  Context& context_;
};

}  // namespace

void launch_products(Kernel& kernel) { Launch(kernel).run(); }

}  // namespace xpusim::gpu::passes
