#include "sim/exec/code_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/exec/handlers/constants.h"
#include "sim/exec/handlers/control.h"
#include "sim/kernel/op_info.h"

namespace xpusim::exec {
namespace {

Shape shape_of(kernel::Type type) {
  Shape s;
  if (!type->is_shaped()) return s;
  for (const std::int64_t n : type->shape) s.push_back(n);
  return s;
}

/// The operands of an op in its definition's order, kNoSlot for those that are absent; groups of
/// several stay as they are.
std::vector<std::uint32_t> grouped(const Op& o, const std::vector<std::uint32_t>& slots) {
  if (o.segments.empty()) return slots;
  std::vector<std::uint32_t> out;
  std::size_t next = 0;
  for (const std::uint32_t size : o.segments) {
    if (size == 0) out.push_back(kNoSlot);
    for (std::uint32_t k = 0; k < size; ++k) out.push_back(slots[next++]);
  }
  return out;
}

void collect_operands(const Op& o, std::unordered_set<const Value*>& used) {
  used.insert(o.operands.begin(), o.operands.end());
  for (const auto& r : o.regions) {
    for (const auto& b : r->blocks) {
      for (const auto& inner : b->ops) collect_operands(*inner, used);
    }
  }
}

/// Which effects stop the block. An atomic whose result nobody uses may run ahead of time, unless
/// the kernel also has atomics whose result is used: then blocks may wait for one another through
/// memory.
void mark_visible(Code& code) {
  std::unordered_set<const Value*> used;
  for (const kernel::Function& f : code.module->functions) collect_operands(*f.op, used);
  const auto is_used = [&](const Instruction& in) {
    return std::any_of(in.op->results.begin(), in.op->results.end(),
                       [&](const auto& r) { return used.contains(r.get()); });
  };
  const auto is_atomic = [](const Instruction& in) {
    return (in.op->info->effects & kernel::kAtomic) != 0;
  };
  const bool synchronises = std::any_of(
      code.body.begin(), code.body.end(),
      [&](const Instruction& in) { return in.perform && is_atomic(in) && is_used(in); });
  for (Instruction& in : code.body) {
    if (in.perform) in.visible = !is_atomic(in) || synchronises || is_used(in);
  }
}

}  // namespace

CodeBuilder::CodeBuilder(std::shared_ptr<const kernel::Module> module,
                         const kernel::Function& function)
    : code_(std::make_shared<Code>()), table_(op_table()) {
  code_->module = std::move(module);
  code_->entry = &function;
  needed_ = needed_values(*code_->module, function);
  args_are_fixed_ = code_->module->form != kernel::Form::kMosaic;
}

std::uint32_t CodeBuilder::new_slot(kernel::Type type) {
  SlotInfo info;
  if (type->shape.size() <= static_cast<std::size_t>(kMaxRank)) info.shape = shape_of(type);
  info.is_pointer = type->is_pointer_like();
  info.dtype = info.is_pointer ? DType::kI64 : type->dtype;
  info.is_view =
      type->kind == kernel::TypeKind::kMemRef || type->kind == kernel::TypeKind::kMemDesc;
  info.is_descriptor = type->kind == kernel::TypeKind::kTensorDesc;
  code_->slots.push_back(info);
  return static_cast<std::uint32_t>(code_->slots.size() - 1);
}

std::uint32_t CodeBuilder::define(const Value& v) { return code_->slot_of[&v] = new_slot(v.type); }

std::vector<std::uint32_t> CodeBuilder::slots_of(const std::vector<Value*>& values,
                                                 std::size_t first) {
  std::vector<std::uint32_t> slots;
  for (std::size_t k = first; k < values.size(); ++k) slots.push_back(slot(*values[k]));
  return slots;
}

Instruction CodeBuilder::make(const Op& o, Handler run) const {
  Instruction in;
  in.run = run;
  in.op = &o;
  return in;
}

void CodeBuilder::set_operands(Instruction& in, const std::vector<std::uint32_t>& slots) {
  in.operands = static_cast<std::uint32_t>(code_->operand_slots.size());
  in.operand_count = static_cast<std::uint32_t>(slots.size());
  code_->operand_slots.insert(code_->operand_slots.end(), slots.begin(), slots.end());
}

std::size_t CodeBuilder::emit(const Instruction& in) {
  out_->push_back(in);
  return out_->size() - 1;
}

/// to[k] = from[k] for all k at once: sources that an earlier copy overwrites go through new slots.
void CodeBuilder::emit_copies(const Op& o, const std::vector<std::uint32_t>& from,
                              const std::vector<std::uint32_t>& to) {
  std::vector<std::uint32_t> sources = from, first, second;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const auto before = to.begin() + static_cast<std::ptrdiff_t>(k);
    if (std::find(to.begin(), before, from[k]) == before) continue;
    sources[k] = static_cast<std::uint32_t>(code_->slots.size());
    code_->slots.push_back(SlotInfo(code_->slots[from[k]]));
    first.insert(first.end(), {from[k], sources[k]});
  }
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (sources[k] != to[k]) second.insert(second.end(), {sources[k], to[k]});
  }
  for (const auto& pairs : {first, second}) {
    if (pairs.empty()) continue;
    Instruction in = make(o, copy_slots);
    set_operands(in, pairs);
    emit(in);
  }
}

void CodeBuilder::region(const Region& r) {
  for (const auto& block : r.blocks) {
    labels_[block.get()] = here();
    if (r.blocks.size() > 1 && block != r.blocks.front()) {
      for (const auto& arg : block->args) {
        if (!code_->slot_of.contains(arg.get())) define(*arg);
      }
    }
    for (const auto& o : block->ops) op(*o);
  }
}

bool CodeBuilder::is_fixed(const Op& o) {
  return !in_combination_ && o.regions.empty() &&
         std::all_of(o.operands.begin(), o.operands.end(),
                     [this](const Value* v) { return fixed_.contains(slot(*v)); });
}

void CodeBuilder::plain(const Op& o, const OpEntry& entry) {
  Instruction in = make(o, entry.run);
  in.perform = entry.perform;
  in.code = entry.code;
  in.flops = entry.flops;
  in.pure = entry.pure;
  set_operands(in, grouped(o, slots_of(o.operands)));
  if (!o.results.empty()) {
    in.result = define(*o.results[0]);
    for (std::size_t k = 1; k < o.results.size(); ++k) define(*o.results[k]);
    in.result_count = static_cast<std::uint32_t>(o.results.size());
    in.evaluate = std::any_of(o.results.begin(), o.results.end(),
                              [this](const auto& r) { return needed_.contains(r.get()); });
  }
  for (const Value* v :
       o.operands) {  // what goes to shared memory, if anything needed reads it there
    in.evaluate =
        in.evaluate || (v->type->kind == kernel::TypeKind::kMemDesc && needed_.contains(v));
  }
  if (entry.leaves_record) in.site = site(o);
  if (entry.allocates) in.index = code_->shared_allocations++;
  if (!o.regions.empty()) in.index = combination(o);
  if (const kernel::Attr value = constant_value(o)) {
    in.index = static_cast<std::uint32_t>(code_->constants.size());
    code_->constants.push_back(make_constant(*value, code_->slots[in.result]));
  }
  if (entry.prepare) {
    if (const std::string_view wrong = entry.prepare(o, in); !wrong.empty()) {
      problem(o, fmt::format("{}: {}", o.name(), wrong));
    }
  }
  // What costs no floating-point work and is the same for every block is done once.
  const bool fixed = entry.pure && entry.flops == 0 && !entry.per_block && is_fixed(o);
  if (fixed) {
    for (std::uint32_t k = 0; k < in.result_count; ++k) fixed_.insert(in.result + k);
    code_->preamble.push_back(in);
  } else {
    emit(in);
  }
}

/// The region of a reduction, as instructions of their own.
std::uint32_t CodeBuilder::combination(const Op& o) {
  const Block& block = *o.regions[0]->blocks.front();
  RegionCode r;
  const auto first = static_cast<std::uint32_t>(code_->slots.size());
  std::vector<Instruction> instructions;
  auto* outer = std::exchange(out_, &instructions);
  const bool nested = std::exchange(in_combination_, true);
  for (const auto& arg : block.args) r.arguments.push_back(define(*arg));
  for (const auto& inner : block.ops) {
    if (inner.get() == block.ops.back().get()) {
      r.results = slots_of(inner->operands);
    } else {
      op(*inner);
    }
  }
  out_ = outer;
  in_combination_ = nested;
  for (auto s = first; s < code_->slots.size(); ++s) r.slots.push_back(s);
  for (Instruction& in : instructions) {
    if (!in.pure)
      problem(*in.op, fmt::format("{} cannot stand inside {}", in.op->name(), o.name()));
    r.flops += in.flops;
    in.evaluate = true;
  }
  r.instructions = std::move(instructions);
  code_->regions.push_back(std::move(r));
  return static_cast<std::uint32_t>(code_->regions.size() - 1);
}

void CodeBuilder::op(const Op& o) {
  for (const auto& r : o.results) {
    if (r->type->shape.size() > static_cast<std::size_t>(kMaxRank)) {
      return problem(o, fmt::format("{}: tiles of more than {} dimensions are not supported",
                                    o.name(), kMaxRank));
    }
  }
  const OpEntry* entry = table_.find(o.info->id);
  const std::string_view name = o.name();
  if (!entry) {
    for (const auto& r : o.results) define(*r);
    return problem(o, fmt::format("no functional model of {}", name));
  }
  if (entry->run) return plain(o, *entry);
  if (name == "scf.for") return for_loop(o);
  if (name == "scf.while") return while_loop(o);
  if (name == "scf.if") return if_else(o);
  if (name == "tt.call" || name == "func.call") return call(o);
  if (name == "ttg.warp_specialize") return warp_specialize(o);
  if (name == "tpu.region" || name == "tpu.trace") return inline_region(o);
  if (name == "tt.return" || name == "func.return") return function_return(o);
  branch(o);
}

Expected<std::shared_ptr<const Prepared>> CodeBuilder::build() {
  out_ = &code_->body;
  for (const auto& arg : code_->entry->entry().args) {
    const std::uint32_t s = define(*arg);
    code_->arguments.push_back(s);
    if (args_are_fixed_) fixed_.insert(s);
  }
  region(*code_->entry->op->regions[0]);
  if (problems_.has_errors()) return fail(std::move(problems_));
  for (const auto& [at, block] : unresolved_) code_->body[at].target = labels_.at(block);
  mark_visible(*code_);
  return std::shared_ptr<const Prepared>(std::move(code_));
}

Expected<std::shared_ptr<const Prepared>> Prepared::make(
    std::shared_ptr<const kernel::Module> module, const kernel::Function& function) {
  if (!function.op || function.op->regions.empty() || function.op->regions[0]->blocks.empty()) {
    return fail(function.op ? function.op->line() : SourcePosition{},
                fmt::format("function '{}' has no body", function.name));
  }
  return CodeBuilder(std::move(module), function).build();
}

}  // namespace xpusim::exec
