#include "models/gpu/compiler/lowering/uniform_values.h"

#include <algorithm>

#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu {
namespace {

bool is_scalar_integer(const kernel::Value& v) {
  return v.type->kind != kernel::TypeKind::kTensor && kernel::is_integer(v.type->dtype);
}

bool is_computed_there(std::string_view op) {
  return op == "arith.addi" || op == "arith.subi" || op == "arith.muli" || op == "arith.select" ||
         op == "arith.cmpi" || op == "arith.xori" || op == "arith.shli" || op == "arith.minsi" ||
         op == "arith.maxsi";
}

/// The operand that says which buffer.
const kernel::Value* buffer_number(const kernel::Op& op) {
  return op.name() == "ttg.memdesc_index" && op.operands.size() > 1 ? op.operands[1] : nullptr;
}

bool chooses_buffers(const kernel::Block& body) {
  return std::any_of(body.ops.begin(), body.ops.end(),
                     [](const auto& op) { return buffer_number(*op) != nullptr; });
}

}  // namespace

UniformValues::UniformValues(const kernel::Function& function) { find(*function.op->regions[0]); }

void UniformValues::find(const kernel::Region& region) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      if (const kernel::Value* number = buffer_number(*op)) mark(*number);
      if (op->name().starts_with("ttng.async_tma_") && op->operands.size() > 1) {
        for (const kernel::Value* coordinate : op->group(1)) mark(*coordinate);
      }
      if (op->name() == "ttng.wait_barrier") mark(*op->operands[1]);
      if (op->name() == "scf.for" && chooses_buffers(*op->regions[0]->blocks[0])) {
        mark(*op->regions[0]->blocks[0]->args[0]);
      }
      for (const auto& inner : op->regions) find(*inner);
    }
  }
}

void UniformValues::mark(const kernel::Value& value) {
  if (!is_scalar_integer(value) || !values_.insert(value.id).second) return;
  if (const kernel::Value& source = kernel::source_of(value); &source != &value) {
    mark(source);
    return;
  }
  if (value.def != nullptr) {
    const kernel::Op& op = *value.def;
    if (is_computed_there(op.name())) {
      for (const kernel::Value* v : op.operands) mark(*v);
    } else if (op.name() == "scf.for") {
      mark(*op.operands[value.index + 3]);
      mark(*op.regions[0]->blocks[0]->ops.back()->operands[value.index]);
    }
    return;
  }
  const kernel::Op* loop = value.owner ? value.owner->parent->parent : nullptr;
  if (loop == nullptr || loop->name() != "scf.for" || value.index == 0) return;
  mark(*loop->operands[value.index + 2]);
  mark(*loop->regions[0]->blocks[0]->ops.back()->operands[value.index - 1]);
}

}  // namespace xpusim::gpu
