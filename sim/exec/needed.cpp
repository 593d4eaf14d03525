#include "sim/exec/needed.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/kernel/op_info.h"

namespace xpusim::exec {
namespace {

using kernel::Block;
using kernel::Op;
using kernel::Region;
using kernel::Value;

/// Which values each value is made from, and which are needed for themselves.
class Dependences {
 public:
  explicit Dependences(const kernel::Module& module) : module_(module) {}

  void visit(const kernel::Function& f) {
    if (!seen_.insert(f.op).second) return;
    visit(*f.op->regions[0]);
  }

  std::unordered_set<const Value*> close() {
    std::unordered_set<const Value*> needed(roots_.begin(), roots_.end());
    std::vector<const Value*> work = std::move(roots_);
    while (!work.empty()) {
      const Value* v = work.back();
      work.pop_back();
      const auto it = sources_.find(v);
      if (it == sources_.end()) continue;
      for (const Value* s : it->second) {
        if (needed.insert(s).second) work.push_back(s);
      }
    }
    return needed;
  }

 private:
  /// Views of one part of shared memory are needed together, since what one writes the other reads.
  void depends(const Value* v, const Value* source) {
    sources_[v].push_back(source);
    if (is_shared(*v) && is_shared(*source)) sources_[source].push_back(v);
  }
  static bool is_shared(const Value& v) { return v.type->kind == kernel::TypeKind::kMemDesc; }
  void need(const Value* v) { roots_.push_back(v); }
  void visit(const Region& r) {
    for (const auto& b : r.blocks) {
      for (const auto& op : b->ops) visit(*op);
    }
  }
  void visit(const Op& op);
  void loop(const Op& op);
  void while_loop(const Op& op);
  void branch(const Op& op);
  void call(const Op& op);
  void warp_specialize(const Op& op);
  void effect(const Op& op);

  const kernel::Module& module_;
  std::unordered_set<const Op*> seen_;
  std::vector<const Value*> roots_;
  std::unordered_map<const Value*, std::vector<const Value*>> sources_;
};

const Op& terminator(const Region& r) { return *r.blocks.front()->ops.back(); }

void Dependences::loop(const Op& op) {
  const Block& body = *op.regions[0]->blocks.front();
  const Op& yield = terminator(*op.regions[0]);
  for (std::size_t k = 0; k < 3; ++k) {
    need(op.operands[k]);
    depends(body.args[0].get(), op.operands[k]);
  }
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    const Value* carried = body.args[k + 1].get();
    depends(op.result(k), carried);
    depends(carried, op.operands[k + 3]);
    depends(carried, yield.operands[k]);
  }
}

void Dependences::while_loop(const Op& op) {
  const Block& before = *op.regions[0]->blocks.front();
  const Block& after = *op.regions[1]->blocks.front();
  const Op& condition = terminator(*op.regions[0]);
  const Op& yield = terminator(*op.regions[1]);
  need(condition.operands[0]);
  for (std::size_t k = 0; k < before.args.size(); ++k) {
    depends(before.args[k].get(), op.operands[k]);
    depends(before.args[k].get(), yield.operands[k]);
  }
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    depends(op.result(k), condition.operands[k + 1]);
    depends(after.args[k].get(), condition.operands[k + 1]);
  }
}

/// cf.br and cf.cond_br: the arguments of a block depend on what its predecessors pass.
void Dependences::branch(const Op& op) {
  std::size_t next = 0;
  if (op.name() == "cf.cond_br") need(op.operands[next++]);
  for (const Block* to : op.successors) {
    for (const auto& arg : to->args) depends(arg.get(), op.operands[next++]);
  }
}

void Dependences::call(const Op& op) {
  const kernel::Attr callee = op.attr("callee");
  const kernel::Function* f = callee ? module_.function(callee->string) : nullptr;
  if (!f || f->op->regions.empty() || f->op->regions[0]->blocks.empty()) return;
  visit(*f);
  for (std::size_t k = 0; k < op.operands.size(); ++k) {
    depends(f->entry().args[k].get(), op.operands[k]);
  }
  for (const auto& block : f->op->regions[0]->blocks) {
    const Op& last = *block->ops.back();
    if (!last.name().ends_with(".return")) continue;
    for (std::size_t k = 0; k < op.results.size(); ++k) depends(op.result(k), last.operands[k]);
  }
}

/// What partitions capture stands for the same; the results are what the default region yields.
void Dependences::warp_specialize(const Op& op) {
  for (std::size_t r = 1; r < op.regions.size(); ++r) {
    const auto& args = op.regions[r]->blocks.front()->args;
    for (std::size_t k = 0; k < args.size(); ++k) depends(args[k].get(), op.operands[k]);
  }
  const Op& yield = terminator(*op.regions[0]);
  for (std::size_t k = 0; k < op.results.size(); ++k) depends(op.result(k), yield.operands[k]);
}

bool writes_memdesc(const Op& op) {
  const auto is_memdesc = [](const auto& v) { return v->type->kind == kernel::TypeKind::kMemDesc; };
  return std::any_of(op.operands.begin(), op.operands.end(), is_memdesc) ||
         std::any_of(op.results.begin(), op.results.end(), is_memdesc);
}

bool is_descriptor(const Value& v) { return v.type->kind == kernel::TypeKind::kTensorDesc; }

bool is_payload(const Value& v) {
  return kernel::is_float(v.type->dtype) && !v.type->is_pointer_like();
}

/// Addresses, masks and indices are needed, and integers that go to memory; floating-point payload
/// is not. What is loaded besides (the value for masked elements) is needed only if the result is.
void Dependences::effect(const Op& op) {
  const bool stores =
      op.info->effects & (kernel::kWritesGlobal | kernel::kWritesShared | kernel::kAtomic);
  constexpr std::uint32_t kOutside = kernel::kWritesGlobal | kernel::kAtomic;
  const bool writes_shared_only = (op.info->effects & kOutside) == 0 && writes_memdesc(op);
  for (const Value* v : op.operands) {
    const bool is_mask_or_address = v->type->is_pointer_like() || is_descriptor(*v) ||
                                    v->type->dtype == kernel::DType::kI1 ||
                                    v->type->dtype == kernel::DType::kIndex;
    if (is_mask_or_address || (stores && !is_payload(*v) && !writes_shared_only)) need(v);
    if (!is_shared(*v)) continue;
    for (const Value* other : op.operands) {
      if (other != v) depends(v, other);
    }
  }
}

/// Whether an op takes a part of a memref, a memdesc or a tensor: where it lies is an address.
bool moves_view(const Op& op) {
  return std::any_of(op.operands.begin(), op.operands.end(), [](const Value* v) {
    return v->type->kind == kernel::TypeKind::kMemRef ||
           v->type->kind == kernel::TypeKind::kMemDesc || is_descriptor(*v);
  });
}

void Dependences::visit(const Op& op) {
  const std::string_view name = op.name();
  for (const auto& region : op.regions) visit(*region);
  if (name == "scf.for") return loop(op);
  if (name == "scf.while") return while_loop(op);
  if (name == "tt.call" || name == "func.call") return call(op);
  if (name == "ttg.warp_specialize") return warp_specialize(op);
  if (!op.successors.empty()) return branch(op);
  constexpr std::uint32_t kMemory = kernel::kReadsGlobal | kernel::kWritesGlobal |
                                    kernel::kReadsShared | kernel::kWritesShared | kernel::kAtomic |
                                    kernel::kVisible;
  if (op.info->effects & kMemory) effect(op);
  if (moves_view(op)) {
    for (const Value* v : op.operands) {
      if (v->type->kind == kernel::TypeKind::kScalar && kernel::is_integer(v->type->dtype)) need(v);
    }
  }
  if (name == "scf.if") {
    need(op.operands[0]);
    for (const auto& region : op.regions) {
      if (region->blocks.empty() || region->blocks.front()->ops.empty()) continue;
      for (std::size_t k = 0; k < op.results.size(); ++k) {
        depends(op.result(k), terminator(*region).operands[k]);
      }
    }
    return;
  }
  if (name == "cf.assert" || name == "tt.assert") need(op.operands[0]);
  if (name == "tpu.prng_set_seed_32") {
    for (const Value* seed : op.operands) need(seed);
  }
  if (name == "tpu.region" || name == "tpu.trace") {
    const Op* yield = op.regions.empty() || op.regions[0]->blocks.empty() ||
                              op.regions[0]->blocks.front()->ops.empty()
                          ? nullptr
                          : &terminator(*op.regions[0]);
    for (std::size_t k = 0; yield && k < op.results.size() && k < yield->operands.size(); ++k) {
      depends(op.result(k), yield->operands[k]);
    }
  }
  for (const auto& result : op.results) {
    for (const Value* v : op.operands) depends(result.get(), v);
  }
}

}  // namespace

std::unordered_set<const Value*> needed_values(const kernel::Module& module,
                                               const kernel::Function& function) {
  Dependences d(module);
  d.visit(function);
  return d.close();
}

}  // namespace xpusim::exec
