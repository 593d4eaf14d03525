// Loops, barriers and assertions.

#include <algorithm>
#include <limits>
#include <set>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

/// The registers that a loop carries for one value, set to what it begins with.
bool carry(Lowering& l, const kernel::Op& op, const kernel::Value& initial,
           const kernel::Value& carried) {
  const ValueState state = l.state(initial);
  if (state.kind == ValueKind::kPointer) {
    return l.error(op, "a loop that carries pointers is not yet lowered for the GPU");
  }
  if (initial.type->dtype == kernel::DType::kI1) {
    return l.error(op, "a loop that carries masks is not yet lowered for the GPU");
  }
  const bool both_halves = kernel::bit_width(initial.type->dtype) > 32;
  std::vector<Element> registers;
  for (const Element& e : l.elements(initial)) {
    const Element whole = l.whole(e);
    Element own{l.builder().value(Opcode::kAlu, "MOV", {whole.reg}, whole.bits)};
    if (both_halves) own.high = l.builder().move(l.high_half(whole));
    registers.push_back(own);
  }
  const kernel::LinearLayout* layout = nullptr;
  if (carried.type->kind == kernel::TypeKind::kTensor) layout = l.layout(carried.type, op);
  l.set_elements(carried, layout, std::move(registers));
  return true;
}

/// Lets the instruction that makes `value` in the loop write `carried` itself. False if the value
/// is made elsewhere, or the carried one is still read after it.
bool write_in_place(MachineCode& code, std::size_t first_block, VReg value, VReg carried) {
  MachineInstruction* writer = nullptr;
  bool read_after = false;
  for (std::size_t b = first_block; b < code.blocks.size(); ++b) {
    for (MachineInstruction& i : code.blocks[b].code) {
      if (std::count(i.defs.begin(), i.defs.end(), value) != 0) {
        if (writer != nullptr || i.guard != kNoVReg || i.defs.size() != 1) return false;
        writer = &i;
      } else if (writer != nullptr && std::count(i.uses.begin(), i.uses.end(), carried) != 0) {
        read_after = true;
      }
    }
  }
  if (writer == nullptr || read_after || code.tuple_of[value] >= 0) return false;
  for (std::size_t b = first_block; b < code.blocks.size(); ++b) {
    for (MachineInstruction& i : code.blocks[b].code) {
      std::replace(i.defs.begin(), i.defs.end(), value, carried);
      std::replace(i.uses.begin(), i.uses.end(), value, carried);
      if (i.guard == value) i.guard = carried;
    }
  }
  return true;
}

/// At the end of the body: what it yields becomes what the next iteration carries.
bool hand_on(Lowering& l, const kernel::Op& yield, const kernel::Block& body,
             std::size_t first_block) {
  std::set<VReg> in_place;
  for (std::size_t n = 0; n < yield.operands.size(); ++n) {
    const std::vector<Element> carried = l.elements(*body.args[n + 1]);
    std::vector<Element> next = l.elements(*yield.operands[n]);
    if (next.empty()) return l.error(yield, "a loop yields a value that has no registers");
    next.resize(carried.size(), next[0]);
    for (std::size_t r = 0; r < carried.size(); ++r) {
      const Element e = l.whole(next[r]);
      if (e == carried[r]) continue;
      if (carried[r].high != kNoVReg) {
        l.builder().emit(Opcode::kAlu, "MOV", {carried[r].high}, {l.high_half(e)});
      }
      if (!e.is_constant() && in_place.insert(e.reg).second &&
          write_in_place(l.builder().code(), first_block, e.reg, carried[r].reg)) {
        continue;
      }
      l.builder().emit(Opcode::kAlu, "MOV", {carried[r].reg}, {e.reg}, e.bits);
    }
  }
  return true;
}

MachineInstruction& branch(Lowering& l, const kernel::Op& op, Branch how, std::size_t target) {
  MachineInstruction& i = l.builder().emit(Opcode::kBra, "BRA", {}, {});
  i.branch = how;
  i.site = l.site(op);
  i.target = static_cast<std::int32_t>(target);
  i.effect = MemoryEffect::kEnd;
  return i;
}

/// Counts the induction variable on; the predicate says whether another iteration follows.
VReg step(Lowering& l, const kernel::Op& op, VReg variable) {
  Builder& b = l.builder();
  const Element by = l.elements(*op.operands[2])[0], end = l.elements(*op.operands[1])[0];
  b.emit(Opcode::kAlu, "IADD3", {variable}, {variable, by.reg}, by.bits);
  const VReg more = b.predicate();
  b.emit(Opcode::kAlu, "ISETP", {more}, {variable, end.reg}, end.bits);
  return more;
}

/// The compiler unrolls loops of so many instructions at most, over all iterations; indices do not
/// count, since they fold to constants (LLVM's own limit is 300). Fitted to listings of kernels
/// with constant bounds.
constexpr std::int64_t kUnrollLimit = 275;

/// The compiler's instructions for an element of an op whose result does not fold to a constant.
std::int64_t weight(const kernel::Op& op) {
  const std::string_view name = op.name();
  if (name == "tt.extern_elementwise") return 16;
  if (name == "arith.divsi" || name == "arith.remsi") return 6;
  const bool is_number = !op.results.empty() && kernel::is_float(op.result()->type->dtype);
  return is_number || op.results.empty() ? 1 : 0;
}

/// Instructions of a loop's body that count, one a register and op.
std::int64_t body_size(Lowering& l, const kernel::Op& op) {
  std::int64_t size = 0;
  for (const auto& inner : op.regions[0]->blocks[0]->ops) {
    std::int64_t registers = 1;
    for (const auto& result : inner->results) {
      const bool tile = result->type->kind == kernel::TypeKind::kTensor;
      const kernel::LinearLayout* layout = tile ? l.layout(result->type, *inner) : nullptr;
      registers = std::max<std::int64_t>(registers, layout ? layout->register_count() : 1);
    }
    size += registers * weight(*inner);
  }
  return size;
}

/// The trip count of a loop that the compiler unrolls, or 0.
std::int64_t unrolled_trips(Lowering& l, const kernel::Op& op) {
  const auto low = kernel::integer_constant(*op.operands[0]);
  const auto high = kernel::integer_constant(*op.operands[1]);
  const auto by = kernel::integer_constant(*op.operands[2]);
  if (!low || !high || !by || *by <= 0 || *high <= *low) return 0;
  const std::int64_t trips = (*high - *low + *by - 1) / *by;
  if (trips > kUnrollLimit || trips * body_size(l, op) > kUnrollLimit) return 0;
  const auto& ops = op.regions[0]->blocks[0]->ops;
  const bool plain = std::none_of(ops.begin(), ops.end(), [](const auto& inner) {
    return inner->name() != "scf.yield" && inner->name().starts_with("scf.");
  });
  return plain ? trips : 0;
}

bool lower_unrolled(Lowering& l, const kernel::Op& op, std::int64_t trips) {
  const kernel::Block& body = *op.regions[0]->blocks[0];
  const std::int64_t low = *kernel::integer_constant(*op.operands[0]);
  const std::int64_t by = *kernel::integer_constant(*op.operands[2]);
  std::vector<ValueState> carried;
  for (std::size_t n = 3; n < op.operands.size(); ++n) carried.push_back(l.operand(op, n));
  const Lowering::Copy outer = l.copy;
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    l.copy = {static_cast<std::uint32_t>(outer.number * trips + trip),
              static_cast<std::uint32_t>(outer.of * trips)};
    l.state(*body.args[0]) = {};
    l.state(*body.args[0]).kind = ValueKind::kIndex;
    l.state(*body.args[0]).index.offset = low + trip * by;
    for (std::size_t n = 0; n < carried.size(); ++n) {
      l.state(*body.args[n + 1]) = carried[n];
      l.state(*body.args[n + 1]).alias = true;
    }
    for (const auto& inner : body.ops) {
      if (inner->name() == "scf.yield") {
        for (std::size_t n = 0; n < carried.size(); ++n) carried[n] = l.operand(*inner, n);
        continue;
      }
      for (const auto& result : inner->results) l.state(*result) = {};
      if (!l.lower(*inner)) return false;
    }
  }
  l.copy = outer;
  for (std::size_t n = 0; n < carried.size(); ++n) {
    l.state(*op.result(n)) = carried[n];
    l.state(*op.result(n)).alias = true;
  }
  return true;
}

}  // namespace

/// The body is a block of its own (or several) that ends in the back edge; values that it carries
/// live in registers that the instructions which make the next ones overwrite. Short loops with
/// constant bounds are unrolled.
bool lower_for(Lowering& l, const kernel::Op& op) {
  if (const std::int64_t trips = unrolled_trips(l, op); trips > 0) {
    return lower_unrolled(l, op, trips);
  }
  MachineCode& code = l.builder().code();
  const kernel::Block& body = *op.regions[0]->blocks[0];
  for (std::size_t n = 0; n + 1 < body.args.size(); ++n) {
    if (!carry(l, op, *op.operands[n + 3], *body.args[n + 1])) return false;
  }
  const Element low = l.elements(*op.operands[0])[0];
  const VReg variable = l.builder().value(Opcode::kAlu, "MOV", {low.reg}, low.bits);
  IndexForm form;
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  const bool counts_up = kernel::integer_constant(*op.operands[0]).value_or(-1) >= 0;
  const auto bound = kernel::integer_constant(*op.operands[1]);
  form.scalar = l.scalars().in_register(variable, l.axes().of(*body.args[0]).divisibility[0],
                                        counts_up ? bound.value_or(kUnknown) : kUnknown);
  l.state(*body.args[0]).kind = ValueKind::kIndex;
  l.state(*body.args[0]).index = form;
  const std::size_t before = code.blocks.size() - 1, first = before + 1;
  branch(l, op, Branch::kLoopEntry, first);
  code.blocks.emplace_back();
  for (const auto& inner : body.ops) {
    if (inner->name() == "scf.yield") {
      if (!hand_on(l, *inner, body, first)) return false;
    } else if (!l.lower(*inner)) {
      return false;
    }
  }
  const VReg more = step(l, op, variable);
  branch(l, op, Branch::kLoopBack, first).guard = more;
  code.blocks.back().loop_begin = static_cast<int>(first);
  code.blocks.emplace_back();
  code.blocks[before].code.back().target = static_cast<std::int32_t>(code.blocks.size() - 1);
  for (std::size_t n = 0; n < op.results.size(); ++n) {
    const ValueState& carried = l.state(*body.args[n + 1]);
    l.set_elements(*op.result(n), carried.layout, carried.elements);
    l.state(*op.result(n)).alias = true;
  }
  return true;
}

bool lower_barrier(Lowering& l, const kernel::Op&) {
  l.builder().emit(Opcode::kBar, "BAR.SYNC.DEFER_BLOCKING", {}, {}).effect = MemoryEffect::kBarrier;
  return true;
}

/// The conditions of a thread's elements are joined; the branch to the report is not taken.
bool lower_assert(Lowering& l, const kernel::Op& op) {
  Builder& b = l.builder();
  std::set<VReg> conditions;
  for (const Element& e : l.elements(*op.operands[0])) {
    if (!e.is_constant()) conditions.insert(e.reg);
  }
  VReg all = kNoVReg;
  for (VReg c : conditions) {
    const VReg joined = b.predicate();
    b.emit(Opcode::kAlu, "PLOP3", {joined}, {c, all});
    all = joined;
  }
  if (all != kNoVReg) b.emit(Opcode::kNop, "BRA", {}, {}).guard = all;
  return true;
}

}  // namespace xpusim::gpu
