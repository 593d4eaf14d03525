#include <algorithm>

#include "models/gpu/compiler/passes/kernel_form.h"
#include "models/gpu/compiler/passes/work.h"

namespace xpusim::gpu::passes {
namespace {

class Propagation {
 public:
  explicit Propagation(Kernel& kernel) : kernel_(kernel), context_(kernel.context) {}

  void run() {
    users_ = users_of(kernel_.function);
    std::vector<Value*> queue;
    walk(kernel_.function, [&](Op& op) {
      if (!is_anchor(op, kernel_.target)) return;
      for (auto& result : op.results) {
        if (is_tensor(*result) && add(*result, result->type->encoding))
          queue.push_back(result.get());
      }
    });
    while (!queue.empty()) {
      Value* value = queue.back();
      queue.pop_back();
      spread_from(*value, queue);
    }
    choose();
    rewrite();
  }

 private:
  bool add(Value& value, Attr encoding) {
    auto& list = layouts_[&value];
    if (!encoding || std::find(list.begin(), list.end(), encoding) != list.end()) return false;
    list.push_back(encoding);
    return true;
  }

  void give(Value& to, const std::vector<Attr>& encodings, const Op& op,
            std::vector<Value*>& queue) {
    if (!is_tensor(to)) return;
    bool changed = false;
    for (const Attr e : encodings) {
      const bool same = op.info->has(kernel::kControl) || op.info->has(kernel::kTerminator);
      changed |= add(to, same ? e : result_encoding(context_, op, e));
    }
    if (changed) queue.push_back(&to);
  }

  void spread_from(const Value& value, std::vector<Value*>& queue) {
    const std::vector<Attr> encodings = layouts_[&value];
    for (Op* user : users_[&value]) {
      for (std::size_t i = 0; i < user->operands.size(); ++i) {
        if (user->operands[i] != &value) continue;
        for (Value* to : reached(*user, i)) give(*to, encodings, *user, queue);
      }
    }
  }

  /// The values that take their layout from an operand.
  static std::vector<Value*> reached(Op& user, std::size_t operand) {
    std::vector<Value*> to;
    const std::string_view name = user.name();
    if (name == "scf.for") {
      if (operand >= 3) {
        to.push_back(user.regions[0]->blocks[0]->args[operand - 2].get());
        to.push_back(user.result(operand - 3));
      }
    } else if (name == "scf.while") {
      to.push_back(user.regions[0]->blocks[0]->args[operand].get());
    } else if (name == "scf.condition") {
      if (operand >= 1) {
        Op& loop = *user.parent->parent->parent;
        to.push_back(loop.regions[1]->blocks[0]->args[operand - 1].get());
        to.push_back(loop.result(operand - 1));
      }
    } else if (name == "scf.yield") {
      Op& parent = *user.parent->parent->parent;
      if (parent.name() == "scf.while") {
        to.push_back(parent.regions[0]->blocks[0]->args[operand].get());
      } else {
        to.push_back(parent.result(operand));
        if (parent.name() == "scf.for")
          to.push_back(parent.regions[0]->blocks[0]->args[operand + 1].get());
      }
    } else if (!user.info->has(kernel::kControl) && !is_memory(user)) {
      for (auto& result : user.results) to.push_back(result.get());
    }
    return to;
  }
  static bool is_memory(const Op& op) {
    return (op.info->effects & (kernel::kReadsGlobal | kernel::kWritesGlobal)) != 0;
  }

  /// Of several layouts the first wins, but those of matrix products win over others, save in
  /// loads.
  void choose() {
    for (auto& [value, list] : layouts_) {
      if (list.size() < 2) continue;
      const bool loads = value->def && is_memory(*value->def);
      const auto best = std::find_if(list.begin(), list.end(),
                                     [&](Attr e) { return loads ? is_blocked(e) : is_mma(e); });
      if (best != list.end()) std::swap(*best, list.front());
    }
  }

  void rewrite() {
    std::vector<Op*> ops;
    walk(kernel_.function, [&](Op& op) { ops.push_back(&op); });
    std::unordered_map<const Value*, Type> original;
    for (auto& [value, list] : layouts_) {
      original[value] = value->type;
      if (!list.empty()) set_encoding(context_, *const_cast<Value*>(value), list.front());
    }
    for (Op* op : ops) {
      for (std::size_t i = 0; i < op->operands.size(); ++i) {
        Value* operand = op->operands[i];
        if (!is_tensor(*operand)) continue;
        const auto old = original.find(operand);
        const Attr was = (old == original.end() ? operand->type : old->second)->encoding;
        const Attr wanted = needed(*op, i, was);
        if (wanted == operand->type->encoding) continue;
        Builder builder(context_, before(*op), *op);
        op->operands[i] = builder.convert(operand, wanted);
      }
    }
  }

  /// The layout that an op needs its operand in, where that was `was` before.
  Attr needed(const Op& op, std::size_t i, Attr was) {
    const std::string_view name = op.name();
    if (name == "scf.for") return op.regions[0]->blocks[0]->args[i - 2]->type->encoding;
    if (name == "scf.while") return op.regions[0]->blocks[0]->args[i]->type->encoding;
    const Op* parent = op.parent && op.parent->parent ? op.parent->parent->parent : nullptr;
    if (name == "scf.condition") return parent->result(i - 1)->type->encoding;
    if (name == "scf.yield") {
      return parent->name() == "scf.while" ? parent->regions[0]->blocks[0]->args[i]->type->encoding
                                           : parent->result(i)->type->encoding;
    }
    if (name == "tt.reduce" && !is_tensor(*op.result())) {
      const auto it = layouts_.find(op.operands[0]);
      return it == layouts_.end() || it->second.empty() ? was : op.operands[0]->type->encoding;
    }
    if (name == "tt.assert" || name == "tt.print") return op.operands[i]->type->encoding;
    for (const auto& result : op.results) {
      const auto it = layouts_.find(result.get());
      if (it == layouts_.end() || it->second.empty() || is_anchor(op, kernel_.target)) continue;
      return operand_encoding(context_, op, result->type->encoding);
    }
    return was;
  }

  Kernel& kernel_;
  Context& context_;
  Users users_;
  std::unordered_map<const Value*, std::vector<Attr>> layouts_;
};

}  // namespace

void propagate_layouts(Kernel& kernel) {
  Propagation(kernel).run();
  fold_conversions(kernel);
  erase_unused(kernel);
}

}  // namespace xpusim::gpu::passes
