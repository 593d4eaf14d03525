#include <algorithm>
#include <optional>
#include <set>

#include "models/gpu/compiler/passes/expand_loop.h"
#include "models/gpu/compiler/passes/kernel_form.h"
#include "sim/kernel/analysis/axis_info.h"
#include "sim/kernel/analysis/linear_layout.h"
#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu::passes {
namespace {

constexpr std::int64_t kLeastCopyBytes = 4;  // of cp.async
constexpr std::int64_t kNotLess = 5;         // arith.cmpi sge

bool is_product(const Op& op) {
  return op.name() == "tt.dot" || op.name() == "ttng.warp_group_dot";
}

bool is_zero(const Value& value) {
  return kernel::integer_constant(value) == 0 || kernel::float_constant(value) == 0;
}

/// A load whose data the loop's products use.
struct PipelinedLoad {
  Op* load = nullptr;
  Attr shared = nullptr;        ///< the layout of its buffers
  std::int64_t contiguity = 1;  ///< elements a copy
  Value* buffers = nullptr;
  Value* token = nullptr;
};

/// Pipelines one innermost loop.
class LoopPipeline {
 public:
  LoopPipeline(Kernel& kernel, Op& loop)
      : kernel_(kernel),
        context_(kernel.context),
        loop_(loop),
        block_(*loop.regions[0]->blocks[0]),
        last_(kernel.target.num_stages - 1) {}

  void run() {
    users_ = users_of(kernel_.function);
    find_loads();
    if (loads_.empty()) return;
    const Stages trial = stages();
    if (!can_expand(loop_, trial) || !are_used_last(trial)) return;
    make_asynchronous();
    const Stages now = stages();
    Op& made = expand_loop(kernel_, loop_, now);
    drain(made);
  }

 private:
  // --- which loads ------------------------------------------------------------------------------

  void find_loads() {
    for (const auto& op : block_.ops) {
      if (op->name() != "tt.load" || !is_tensor(*op->operands[0])) continue;
      if (!feeds_product(*op->result(), 0)) continue;
      if (auto found = describe(*op)) loads_.push_back(*found);
    }
    // The addresses of what is copied ahead must not wait for what is.
    std::erase_if(loads_, [&](const PipelinedLoad& l) {
      std::set<const Op*> needed;
      collect(*l.load, needed);
      return std::any_of(needed.begin(), needed.end(), [&](const Op* op) {
        return op != l.load && (op->name() == "tt.load" || is_product(*op));
      });
    });
  }

  bool feeds_product(const Value& value, int depth) {
    if (depth > 16) return false;
    for (const Op* user : users_[&value]) {
      if (is_product(*user)) return true;
      const std::string_view name = user->name();
      const bool passes = user->info->has(kernel::kElementwise) || name == "ttg.local_alloc" ||
                          name == "ttg.convert_layout" || name == "ttg.memdesc_trans" ||
                          name == "tt.trans";
      if (!passes || user->parent != &block_) continue;
      for (const auto& result : user->results) {
        if (feeds_product(*result, depth + 1)) return true;
      }
    }
    return false;
  }

  std::optional<PipelinedLoad> describe(Op& load) {
    PipelinedLoad found;
    found.load = &load;
    const Value& result = *load.result();
    const Value& pointer = *load.operands[0];
    const Value* other = load.operand_of(2);
    if ((other && !is_zero(*other)) || !stays_in_body(result)) return std::nullopt;
    const std::int64_t bytes = kernel::pointee_bytes(pointer.type);
    auto layout = kernel::linear_layout(result.type->encoding, result.type->shape, load.line());
    if (!layout) return std::nullopt;
    const std::uint32_t dim = layout->fastest_dim();
    found.contiguity =
        kernel::vector_width(axes_, pointer, load.operand_of(1), layout->contiguous(dim), dim);
    found.shared = shared_layout(result);
    if (!found.shared) return std::nullopt;
    const Shape order = order_of(result.type->encoding, result.type->shape.size());
    const bool turned = found.shared->string == "ttg.nvmma_shared" &&
                        (found.shared->get("transposed")->integer != 0) != (order[0] == 0);
    if ((turned ? 1 : found.contiguity) * bytes < kLeastCopyBytes) return std::nullopt;
    return found;
  }

  /// Whether the ops that read the buffers all come behind the wait.
  bool are_used_last(const Stages& stages) {
    return std::all_of(loads_.begin(), loads_.end(), [&](const PipelinedLoad& l) {
      const auto& list = users_[l.load->result()];
      return std::all_of(list.begin(), list.end(),
                         [&](const Op* user) { return stages.of.at(user) == last_; });
    });
  }

  /// Whether the body itself uses what is loaded, and not a branch in it or the next iteration.
  bool stays_in_body(const Value& loaded) {
    const auto& list = users_[&loaded];
    return std::all_of(list.begin(), list.end(), [&](const Op* user) {
      return user->parent == &block_ && !user->info->has(kernel::kTerminator);
    });
  }

  /// The layout that the load's users in shared memory want, or null where they disagree.
  Attr shared_layout(const Value& loaded) {
    Attr shared = nullptr;
    for (const Op* user : users_[&loaded]) {
      Attr wanted = nullptr;
      if (user->name() == "ttg.local_alloc") {
        wanted = user->result()->type->encoding;
      } else if (user->name() == "ttg.convert_layout" &&
                 is_dot_operand(user->result()->type->encoding)) {
        wanted = for_fragments(loaded, user->result()->type->encoding);
      } else {
        continue;
      }
      if (shared && shared != wanted) return nullptr;
      shared = wanted;
    }
    const std::size_t rank = loaded.type->shape.size();
    return shared ? shared
                  : swizzled_shared(context_, 1, 1, 1, order_of(loaded.type->encoding, rank));
  }

  /// Rows of 8 x 8 matrices of 16-bit elements, as ldmatrix reads them, fall into different banks.
  Attr for_fragments(const Value& loaded, Attr operand) {
    const Shape order = order_of(loaded.type->encoding, 2);
    const std::int64_t bytes = kernel::byte_size(loaded.type->dtype);
    const std::int64_t row = loaded.type->shape[static_cast<std::size_t>(order[0])] * bytes;
    const std::int64_t per_phase = std::max<std::int64_t>(128 / row, 1);
    const bool left = operand->get("opIdx")->integer == 0;
    const std::int64_t inner = left ? 1 : 0;  // the dimension of k
    std::int64_t along_k = 16 / bytes, across = 8;
    if (bytes == 8 && left) along_k = across = 4;  // fragments of 8 x 4 doubles
    const bool rows_of_k = order[0] == inner;
    const std::int64_t vec = rows_of_k ? along_k : across;
    const std::int64_t stride = rows_of_k ? across : along_k;
    return swizzled_shared(context_, vec, per_phase, std::max<std::int64_t>(stride / per_phase, 1),
                           order);
  }

  // --- stages -----------------------------------------------------------------------------------

  void collect(const Op& op, std::set<const Op*>& needed) {
    if (!needed.insert(&op).second) return;
    walk(const_cast<Op&>(op), [&](Op& inner) {
      for (const Value* v : inner.operands) {
        if (v->def && v->def->parent == &block_) collect(*v->def, needed);
      }
    });
  }

  /// Copies and what they need run first; what those carry from one iteration to the next runs one
  /// stage later; all else runs in the last stage.
  Stages stages() {
    Stages s;
    s.last = last_;
    for (const PipelinedLoad& l : loads_) {
      assign(l.load ? *l.load : *l.token->def, 0, s);
    }
    for (const auto& op : block_.ops) s.of.try_emplace(op.get(), last_);
    return s;
  }
  void assign(const Op& op, std::int64_t stage, Stages& s) {
    std::set<const Op*> needed;
    collect(op, needed);
    std::vector<const Op*> fresh;
    for (const Op* n : needed) {
      const auto [it, is_new] = s.of.try_emplace(n, stage);
      if (!is_new && it->second <= stage) continue;
      it->second = stage;
      fresh.push_back(n);
    }
    for (const Op* n : fresh) {
      walk(const_cast<Op&>(*n), [&](Op& inner) {
        for (const Value* v : inner.operands) {
          if (v->def || v->owner != &block_ || v->index == 0) continue;
          const Value* next = block_.ops.back()->operands[v->index - 1];
          if (next->def && next->def->parent == &block_)
            assign(*next->def, std::min(stage + 1, last_), s);
        }
      });
    }
  }

  // --- asynchronous copies ----------------------------------------------------------------------

  bool feeds_wgmma(const PipelinedLoad& l) {
    const auto& list = users_[l.load->result()];
    return std::any_of(list.begin(), list.end(),
                       [](const Op* user) { return user->name() == "ttg.local_alloc"; });
  }

  void make_asynchronous() {
    const bool wgmma =
        std::any_of(loads_.begin(), loads_.end(), [&](auto& l) { return feeds_wgmma(l); });
    buffer_count_ = last_ + (wgmma ? 1 : 0);  // a wgmma may still read while the next copy begins
    const Op& model = *loads_.front().load;
    for (PipelinedLoad& l : loads_) {
      Builder outer(context_, before(loop_), *l.load);
      const Type tile = l.load->result()->type;
      Shape shape{buffer_count_};
      shape.insert(shape.end(), tile->shape.begin(), tile->shape.end());
      l.buffers = outer.make("ttg.local_alloc", {},
                             memdesc(context_, shape, tile->element, l.shared, true), {}, {0});
    }
    Builder head(context_, start_of(block_), model);
    Value* from = next_buffer(head);
    const Type i32 = context_.scalar(kernel::DType::kI32);
    Value* to = buffer_count_ == 1 ? head.integer(0, i32) : next_buffer(head);
    for (PipelinedLoad& l : loads_) copy_ahead(l, *to);
    use_buffers(*from);
  }

  /// A loop-carried number that counts buffers round and round; its value in this iteration.
  Value* next_buffer(Builder& head) {
    const Type i32 = context_.scalar(kernel::DType::kI32);
    Builder outer(context_, before(loop_), loop_);
    loop_.operands.push_back(outer.integer(-1, i32));
    ++loop_.segments.back();
    auto arg = std::make_unique<Value>();
    arg->type = i32;
    arg->owner = &block_;
    arg->index = static_cast<std::uint32_t>(block_.args.size());
    Value* carried = block_.args.emplace_back(std::move(arg)).get();
    head.follow(loop_);
    Value* next = head.make("arith.addi", {carried, head.integer(1, i32)}, i32);
    Value* past = head.make(
        "arith.cmpi", {next, head.integer(buffer_count_, i32)}, context_.scalar(kernel::DType::kI1),
        {{"predicate", context_.integer(kNotLess, context_.scalar(kernel::DType::kI64))}});
    Value* index = head.make("arith.select", {past, head.integer(0, i32), next}, i32);
    Op& yield = *block_.ops.back();
    yield.operands.push_back(index);
    if (!yield.segments.empty()) ++yield.segments.back();
    auto result = std::make_unique<Value>();
    result->type = i32;
    result->def = &loop_;
    result->index = static_cast<std::uint32_t>(loop_.results.size());
    result->loc = loop_.loc;
    if (!loop_.results.empty()) result->name = loop_.results[0]->name;
    loop_.results.push_back(std::move(result));
    return index;
  }

  Type tile_type(const PipelinedLoad& l) {
    const Type all = l.buffers->type;
    return memdesc(context_, Shape(all->shape.begin() + 1, all->shape.end()), all->element,
                   all->encoding, true);
  }

  void copy_ahead(PipelinedLoad& l, Value& to) {
    Builder builder(context_, before(*l.load), *l.load);
    const Type i32 = context_.scalar(kernel::DType::kI32);
    Value* view = builder.make("ttg.memdesc_index", {l.buffers, &to}, tile_type(l));
    std::vector<Value*> operands{l.load->operands[0], view};
    std::vector<std::uint32_t> segments{1, 1, 0, 0};
    for (const std::size_t group : {std::size_t{1}, std::size_t{2}}) {
      if (Value* v = l.load->operand_of(group)) {
        operands.push_back(v);
        segments[group + 1] = 1;
      }
    }
    Attrs attrs;
    for (const auto& [key, value] : l.load->attrs) {
      if (key == "cache" || key == "evict" || key == "isVolatile") attrs.emplace_back(key, value);
    }
    attrs.emplace_back("contiguity", context_.integer(l.contiguity, i32));
    Value* copy = builder.make("ttg.async_copy_global_to_local", std::move(operands),
                               context_.token(), std::move(attrs), std::move(segments));
    l.token = builder.make("ttg.async_commit_group", {copy}, context_.token(), {}, {1});
  }

  /// Puts the buffers in the place of what was loaded, behind one wait for all of them. The copies
  /// whose tokens it takes may stand behind it: stages part them.
  void use_buffers(Value& from) {
    Builder first(context_, before(*first_user()), *loads_.front().load);
    std::vector<Value*> tokens;
    for (const PipelinedLoad& l : loads_) tokens.push_back(l.token);
    const auto count = static_cast<std::uint32_t>(tokens.size());
    const std::int64_t ahead = (last_ - 1) * static_cast<std::int64_t>(loads_.size());
    Value* wait = first.make(
        "ttg.async_wait", tokens, context_.token(),
        {{"num", context_.integer(ahead, context_.scalar(kernel::DType::kI32))}}, {count});
    for (PipelinedLoad& l : loads_) use_buffer(l, from, *wait);
  }

  /// The first op of the body that uses what is loaded.
  const Op* first_user() {
    for (const auto& op : block_.ops) {
      for (const PipelinedLoad& l : loads_) {
        const auto& list = users_[l.load->result()];
        if (std::find(list.begin(), list.end(), op.get()) != list.end()) return op.get();
      }
    }
    return block_.ops.back().get();
  }

  void use_buffer(PipelinedLoad& l, Value& from, Value& wait) {
    Value& loaded = *l.load->result();
    const std::vector<Op*> users = users_[&loaded];
    std::vector<Op*> direct;
    for (const auto& op : block_.ops) {
      if (std::find(users.begin(), users.end(), op.get()) != users.end())
        direct.push_back(op.get());
    }
    Builder builder(context_, before(*direct.front()), *l.load);
    if (const Place behind = after(wait); builder.place().index < behind.index)
      builder = Builder(context_, behind, *l.load);
    Value* view = builder.make("ttg.memdesc_index", {l.buffers, &from}, tile_type(l));
    Value* registers = nullptr;
    for (Op* user : direct) {
      if (user->name() == "ttg.local_alloc") {
        replace(kernel_.function, *user->result(), *view);
        detach(*user);
      } else if (user->name() == "ttg.convert_layout") {
        Value* part =
            builder.make("ttg.local_load", {view, &wait}, user->result()->type, {}, {1, 1});
        replace(kernel_.function, *user->result(), *part);
        detach(*user);
      } else {
        if (!registers)
          registers = builder.make("ttg.local_load", {view, &wait}, loaded.type, {}, {1, 1});
        std::replace(user->operands.begin(), user->operands.end(), &loaded, registers);
      }
    }
    detach(*l.load);
    l.load = nullptr;
  }

  /// Behind the loop: the copies still under way end, and the buffers are free again.
  void drain(Op& made) {
    Builder builder(context_, after(made), made);
    builder.make("ttg.async_wait", {}, context_.token(),
                 {{"num", context_.integer(0, context_.scalar(kernel::DType::kI32))}}, {0});
    for (auto it = loads_.rbegin(); it != loads_.rend(); ++it)
      builder.op("ttg.local_dealloc", {it->buffers}, {});
  }

  Kernel& kernel_;
  Context& context_;
  Op& loop_;
  Block& block_;
  std::int64_t last_;
  std::int64_t buffer_count_ = 0;
  Users users_;
  kernel::AxisAnalysis axes_;
  std::vector<PipelinedLoad> loads_;
};

/// An innermost loop that nothing else can watch at work.
bool may_pipeline(Op& loop) {
  bool may = true;
  walk(loop, [&](Op& op) {
    constexpr std::uint32_t kWatched = kernel::kVisible | kernel::kBarrier | kernel::kAtomic;
    const bool inner_loop = &op != &loop && (op.name() == "scf.for" || op.name() == "scf.while");
    may &= !inner_loop && (op.info->effects & kWatched) == 0 && op.name() != "tt.call";
  });
  return may;
}

}  // namespace

void pipeline_loops(Kernel& kernel) {
  if (kernel.target.num_stages < 2) return;
  for (Op* loop : ops_named(kernel.function, "scf.for")) {
    if (may_pipeline(*loop)) LoopPipeline(kernel, *loop).run();
  }
}

}  // namespace xpusim::gpu::passes
