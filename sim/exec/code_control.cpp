// Control flow as the code builder lowers it: jumps, tests, and copies between slots.

#include <fmt/format.h>

#include "sim/exec/code_builder.h"
#include "sim/exec/handlers/control.h"

namespace xpusim::exec {
namespace {

constexpr std::size_t kMaxCallDepth = 32;

}  // namespace

void CodeBuilder::for_loop(const Op& o) {
  const Block& body = *o.regions[0]->blocks.front();
  const Op& yield = *body.ops.back();
  const std::uint32_t variable = define(*body.args[0]);
  std::vector<std::uint32_t> carried;
  for (std::size_t k = 1; k < body.args.size(); ++k) {
    carried.push_back(define(*body.args[k]));
    code_->slot_of[o.result(k - 1)] = carried.back();  // what is carried last is the result
  }
  emit_copies(o, slots_of(o.operands, 3), carried);

  Instruction enter = make(o, enter_for);
  enter.site = site(o);
  enter.index = code_->loops++;
  enter.result = variable;
  set_operands(enter, {slot(*o.operands[0]), slot(*o.operands[1]), slot(*o.operands[2])});
  const std::size_t entered = emit(enter);
  const std::uint32_t top = here();
  for (const auto& inner : body.ops) {
    if (inner.get() != &yield) op(*inner);
  }
  emit_copies(o, slots_of(yield.operands), carried);
  Instruction next = make(o, next_for);
  next.index = enter.index;
  next.result = variable;
  next.target = top;
  set_operands(next, {slot(*o.operands[2])});
  emit(next);
  land(entered);
}

void CodeBuilder::while_loop(const Op& o) {
  const Block& before = *o.regions[0]->blocks.front();
  const Block& after = *o.regions[1]->blocks.front();
  const Op& condition = *before.ops.back();
  const Op& yield = *after.ops.back();
  std::vector<std::uint32_t> carried, passed;
  for (const auto& arg : before.args) carried.push_back(define(*arg));
  for (std::size_t k = 0; k < after.args.size(); ++k) {
    passed.push_back(define(*after.args[k]));
    code_->slot_of[o.result(k)] = passed.back();
  }
  emit_copies(o, slots_of(o.operands), carried);
  const std::uint32_t top = here();
  for (const auto& inner : before.ops) {
    if (inner.get() != &condition) op(*inner);
  }
  // The condition may be one of the values carried, so it is read before they change.
  const std::uint32_t flag = new_slot(condition.operands[0]->type);
  std::vector<std::uint32_t> from = slots_of(condition.operands, 1), to = passed;
  from.insert(from.begin(), slot(*condition.operands[0]));
  to.insert(to.begin(), flag);
  emit_copies(o, from, to);
  Instruction test = make(o, branch_if_false);
  test.site = site(o);
  set_operands(test, {flag});
  const std::size_t tested = emit(test);
  for (const auto& inner : after.ops) {
    if (inner.get() != &yield) op(*inner);
  }
  emit_copies(o, slots_of(yield.operands), carried);
  Instruction back = make(o, jump);
  back.target = top;
  emit(back);
  land(tested);
}

void CodeBuilder::if_else(const Op& o) {
  std::vector<std::uint32_t> results;
  for (const auto& r : o.results) results.push_back(define(*r));
  Instruction test = make(o, branch_if_false);
  test.site = site(o);
  set_operands(test, {slot(*o.operands[0])});
  const std::size_t tested = emit(test);
  const auto arm = [&](const Region& r) {
    if (r.blocks.empty()) return;
    for (const auto& inner : r.blocks.front()->ops) {
      if (inner->name() == "scf.yield") {
        emit_copies(o, slots_of(inner->operands), results);
      } else {
        op(*inner);
      }
    }
  };
  arm(*o.regions[0]);
  if (o.regions.size() < 2 || o.regions[1]->blocks.empty()) return land(tested);
  const std::size_t skip = emit(make(o, jump));
  land(tested);
  arm(*o.regions[1]);
  land(skip);
}

/// tpu.region, tpu.trace: runs once; what it yields are the op's results.
void CodeBuilder::inline_region(const Op& o) {
  std::vector<std::uint32_t> results;
  for (const auto& r : o.results) results.push_back(define(*r));
  if (o.regions.size() != 1 || o.regions[0]->blocks.size() != 1 ||
      !o.regions[0]->blocks.front()->args.empty()) {
    return problem(o, fmt::format("{} needs one region of one block without arguments", o.name()));
  }
  for (const auto& inner : o.regions[0]->blocks.front()->ops) {
    if (inner->name() != "tpu.yield") {
      op(*inner);
    } else if (inner->operands.size() == results.size()) {
      emit_copies(o, slots_of(inner->operands), results);
    } else {
      problem(*inner, fmt::format("tpu.yield of {} values to {} results", inner->operands.size(),
                                  results.size()));
    }
  }
}

/// ttg.warp_specialize: partitions are warps of their own, which share the values that they capture
/// with the default region's; what comes after waits for all of them.
void CodeBuilder::warp_specialize(const Op& o) {
  std::vector<std::uint32_t> results;
  for (const auto& r : o.results) results.push_back(define(*r));
  std::vector<std::size_t> forks;
  for (std::size_t k = 1; k < o.regions.size(); ++k) forks.push_back(emit(make(o, fork_warps)));
  const auto code = [&](const Region& r) {
    if (r.blocks.size() != 1) problem(o, "ttg.warp_specialize needs regions of one block");
    for (const auto& inner : r.blocks.front()->ops) {
      if (inner->name() == "ttg.warp_yield") {
        emit_copies(o, slots_of(inner->operands), results);
      } else if (inner->name() != "ttg.warp_return") {
        op(*inner);
      }
    }
  };
  code(*o.regions[0]);
  emit(make(o, join_warps));
  const std::size_t over = emit(make(o, jump));
  for (std::size_t k = 1; k < o.regions.size(); ++k) {
    land(forks[k - 1]);
    const auto& args = o.regions[k]->blocks.front()->args;
    for (std::size_t n = 0; n < args.size(); ++n) {
      code_->slot_of[args[n].get()] = slot(*o.operands[n]);
    }
    code(*o.regions[k]);
    emit(make(o, finish));
  }
  land(over);
}

void CodeBuilder::branch(const Op& o) {
  const bool conditional = o.name() == "cf.cond_br";
  std::size_t next = 0, tested = 0;
  if (conditional) {
    Instruction test = make(o, branch_if_false);
    test.site = site(o);
    set_operands(test, {slot(*o.operands[next++])});
    tested = emit(test);
  }
  for (std::size_t k = 0; k < o.successors.size(); ++k) {
    if (k == 1) land(tested);
    const Block* to = o.successors[k];
    std::vector<std::uint32_t> from, args;
    for (const auto& arg : to->args) {
      from.push_back(slot(*o.operands[next++]));
      args.push_back(code_->slot_of.contains(arg.get()) ? slot(*arg) : define(*arg));
    }
    emit_copies(o, from, args);
    unresolved_.emplace_back(emit(make(o, jump)), to);
  }
}

void CodeBuilder::call(const Op& o) {
  const kernel::Attr name = o.attr("callee");
  const kernel::Function* f = name ? code_->module->function(name->string) : nullptr;
  const bool has_body = f && !f->op->regions.empty() && !f->op->regions[0]->blocks.empty();
  if (!has_body || callees_.size() >= kMaxCallDepth) {
    return problem(o, fmt::format("{} of '{}', which {}", o.name(), name ? name->string : "",
                                  has_body ? "calls itself" : "is not defined"));
  }
  std::vector<std::uint32_t> args;
  for (const auto& a : f->entry().args) args.push_back(define(*a));
  emit_copies(o, slots_of(o.operands), args);
  Callee callee;
  for (const auto& r : o.results) callee.results.push_back(define(*r));
  callees_.push_back(std::move(callee));
  const std::size_t pending = unresolved_.size();
  region(*f->op->regions[0]);
  for (std::size_t k = pending; k < unresolved_.size(); ++k) {
    (*out_)[unresolved_[k].first].target = labels_.at(unresolved_[k].second);
  }
  unresolved_.resize(pending);
  for (const std::size_t r : callees_.back().returns) land(r);
  callees_.pop_back();
}

void CodeBuilder::function_return(const Op& o) {
  if (callees_.empty()) {
    Instruction in = make(o, finish);
    set_operands(in, slots_of(o.operands));
    emit(in);
    return;
  }
  emit_copies(o, slots_of(o.operands), callees_.back().results);
  callees_.back().returns.push_back(emit(make(o, jump)));
}

}  // namespace xpusim::exec
