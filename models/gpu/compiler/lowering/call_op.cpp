// tt.call of a function that is not inlined: its code stands where it is called, between the call
// and the return.

#include <algorithm>
#include <utility>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "sim/kernel/op_info.h"

namespace xpusim::gpu {
namespace {

int count_calls(const kernel::Region& region, std::string_view callee) {
  int calls = 0;
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      const kernel::Attr name = op->attr("callee");
      if (op->name() == "tt.call" && name && name->string == callee) ++calls;
      for (const auto& inner : op->regions) calls += count_calls(*inner, callee);
    }
  }
  return calls;
}

/// Whether code leaves records in the execution trace, so that it may stand in a program only once.
bool leaves_records(const kernel::Region& region) {
  constexpr std::uint32_t kPlain = kernel::kPure | kernel::kElementwise | kernel::kTerminator;
  return std::any_of(region.blocks.begin(), region.blocks.end(), [&](const auto& block) {
    return std::any_of(block->ops.begin(), block->ops.end(),
                       [&](const auto& op) { return (op->info->effects & ~kPlain) != 0; });
  });
}

}  // namespace

bool Lowering::call(const kernel::Op& op) {
  const kernel::Attr name = op.attr("callee");
  const kernel::Function* callee = nullptr;
  for (const kernel::Function& f : module_.functions) {
    if (name && f.name == name->string && !f.op->regions.empty()) callee = &f;
  }
  if (!callee || callee->op->regions[0]->blocks.size() != 1) {
    return error(op, "only calls of functions of one block are lowered for the GPU");
  }
  const kernel::Region& body = *callee->op->regions[0];
  if (!refuse_unknown_ops(body)) return false;
  if (leaves_records(body) && count_calls(*function_.op->regions[0], callee->name) > 1) {
    return error(op,
                 "functions with loops, branches or accesses to memory that are called more than "
                 "once are not yet lowered for the GPU");
  }
  std::vector<ValueState> arguments;
  for (const kernel::Value* v : op.operands) arguments.push_back(state(*v));
  builder_.emit(Opcode::kAlu, "MOV", {builder_.general()}, {}, 0);
  builder_.emit(Opcode::kNop, "CALL.REL.NOINC", {}, {});
  auto states = std::exchange(states_, std::vector<ValueState>(callee->value_count));
  auto uses =
      std::exchange(uses_, std::vector<std::vector<const kernel::Op*>>(callee->value_count));
  auto uniform = std::exchange(uniform_, UniformValues(*callee));
  auto even = std::exchange(even_, EvenTiles(*callee));
  count_uses(body);
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    state(*callee->entry().args[n]) = std::move(arguments[n]);
    state(*callee->entry().args[n]).alias = true;
  }
  std::vector<ValueState> returned;
  bool fine = true;
  for (const auto& inner : callee->entry().ops) {
    if (inner->name() == "tt.return") {
      for (const kernel::Value* v : inner->operands) returned.push_back(state(*v));
    } else if (fine) {
      fine = lower(*inner);
    }
  }
  states_ = std::move(states);
  uses_ = std::move(uses);
  uniform_ = std::move(uniform);
  even_ = std::move(even);
  builder_.emit(Opcode::kNop, "RET.REL.NODEC", {}, {});
  for (std::size_t n = 0; fine && n < returned.size(); ++n) {
    state(*op.result(n)) = std::move(returned[n]);
    state(*op.result(n)).alias = true;
  }
  return fine;
}

bool lower_call(Lowering& l, const kernel::Op& op) { return l.call(op); }

}  // namespace xpusim::gpu
