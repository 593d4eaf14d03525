#include "models/tpu/compiler/triton_values.h"

#include <string_view>

namespace xpusim::tpu {
namespace {

using kernel::Block;
using kernel::Op;
using kernel::Value;

constexpr std::size_t kFirstInit = 3;  // of an scf.for: after its bounds and step

bool reads_memory(std::string_view op) { return op == "tt.load" || op == "tt.atomic_rmw"; }

}  // namespace

std::vector<const Value*> yielded(const Block& block) {
  std::vector<const Value*> out;
  if (!block.ops.empty()) {
    for (const Value* v : block.ops.back()->operands) out.push_back(v);
  }
  return out;
}

TritonValues::TritonValues(const kernel::Function& function)
    : loaded_(function.value_count, false), needed_(function.value_count, false) {
  while (find_loaded(function.entry())) {
  }
  find_roots(function.entry());
}

bool TritonValues::mark_loaded(const Value& v, bool loaded) {
  if (!loaded || loaded_[v.id]) return false;
  loaded_[v.id] = true;
  return true;
}

/// Whether anything was found.
bool TritonValues::find_loaded(const Block& block) {
  bool found = false;
  for (const auto& op : block.ops) {
    bool any = reads_memory(op->name());
    if (op->name() == "scf.for") {
      found = find_loaded_for(*op) || found;
      continue;
    }
    for (const Value* v : op->operands) any = any || loaded_[v->id];
    for (const auto& region : op->regions) {
      for (const auto& inner : region->blocks) {
        found = find_loaded(*inner) || found;
        for (std::size_t i = 0; op->name() == "scf.if" && i < op->results.size(); ++i) {
          found = mark_loaded(*op->results[i], loaded_[yielded(*inner)[i]->id]) || found;
        }
      }
    }
    for (const auto& r : op->results) found = mark_loaded(*r, any) || found;
  }
  return found;
}

bool TritonValues::find_loaded_for(const Op& loop) {
  const Block& body = *loop.regions[0]->blocks[0];
  bool found = find_loaded(body);
  const auto next = yielded(body);
  for (std::size_t i = 0; i < loop.results.size(); ++i) {
    const bool any = loaded_[loop.operands[kFirstInit + i]->id] || loaded_[next[i]->id];
    found = mark_loaded(*body.args[1 + i], any) || found;
    found = mark_loaded(*loop.results[i], any) || found;
  }
  return found;
}

/// What leaves the chip, and what decides its course, is needed.
void TritonValues::find_roots(const Block& block) {
  for (const auto& op : block.ops) {
    const bool writes = op->name() == "tt.store" || op->name() == "tt.atomic_rmw";
    if (writes) need(*op->operands[1]);
    for (const auto& region : op->regions) {
      for (const auto& inner : region->blocks) find_roots(*inner);
    }
  }
}

void TritonValues::need(const Value& v) {
  if (needed_[v.id]) return;
  needed_[v.id] = true;
  if (v.def) return need_op(*v.def, v);
  const kernel::Region* region = v.owner ? v.owner->parent : nullptr;
  const Op* loop = region ? region->parent : nullptr;  // whose own argument it may be
  if (!loop || loop->name() != "scf.for" || v.index == 0) return;
  const std::size_t i = v.index - 1;
  need(*loop->operands[kFirstInit + i]);
  need(*yielded(*v.owner)[i]);
}

void TritonValues::need_op(const Op& op, const Value& v) {
  if (!is_loaded(v) && kernel::is_integer(v.type->dtype)) return;  // made from lane numbers
  if (op.name() == "scf.for") return need(*op.regions[0]->blocks[0]->args[1 + v.index]);
  if (op.name() == "scf.if") {
    for (const auto& region : op.regions) need(*yielded(*region->blocks[0])[v.index]);
    return;
  }
  if (op.name() == "tt.load") {  // lanes that the mask leaves out take the other value
    for (std::size_t k = 1; k < op.operands.size() && op.operands.size() > 2; ++k) {
      need(*op.operands[k]);
    }
    return;
  }
  for (const Value* operand : op.operands) need(*operand);
}

}  // namespace xpusim::tpu
