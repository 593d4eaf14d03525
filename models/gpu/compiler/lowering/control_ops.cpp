// Loops, barriers and assertions.

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/loop_values.h"
#include "models/gpu/compiler/lowering/unroll.h"
#include "models/gpu/compiler/lowering/unswitch.h"
#include "models/gpu/compiler/lowering/wide_counters.h"

namespace xpusim::gpu {
namespace {

MachineInstruction& branch(Lowering& l, const kernel::Op& op, Branch how, std::size_t target) {
  MachineInstruction& i = l.builder().emit(Opcode::kBra, "BRA", {}, {});
  i.branch = how;
  i.site = l.site(op);
  i.target = static_cast<std::int32_t>(target);
  i.effect = MemoryEffect::kEnd;
  return i;
}

/// Counts the induction variable on (`upper`: of 64 bits); the predicate says whether another
/// iteration follows.
VReg step(Lowering& l, const kernel::Op& op, VReg variable, VReg upper) {
  Builder& b = l.builder();
  const Element by = l.elements(*op.operands[2])[0], end = l.elements(*op.operands[1])[0];
  const bool uniform = b.code().registers[variable] == RegFile::kUniform;
  const auto add = [&](std::string_view on_uniform, std::string_view in_lanes, VReg to, VReg more) {
    b.emit(uniform ? Opcode::kUniform : Opcode::kAlu, uniform ? on_uniform : in_lanes, {to},
           {to, more}, by.bits);
  };
  add("UIADD3", "IADD3", variable, by.reg);
  VReg more = b.predicate();
  b.emit(Opcode::kAlu, "ISETP", {more}, {variable, end.reg}, end.bits);
  if (upper == kNoVReg) return more;
  add("UIADD3.X", "IADD3.X", upper, variable);
  const VReg lower = std::exchange(more, b.predicate());
  b.emit(Opcode::kAlu, "ISETP.EX", {more},
         {upper, end.is_constant() ? kNoVReg : l.high_half(end), lower});
  return more;
}

/// The upper half of a counter that begins as `low`. Left out: the sign of a start that is computed
/// on the uniform datapath.
VReg wide_counter(Lowering& l, bool uniform, const Element& low) {
  const VReg upper = uniform ? l.builder().uniform() : l.builder().general();
  const bool known = low.is_constant() || uniform;
  const bool negative = low.is_constant() && low.bits >> 31 != 0;
  copy_into(l, upper, known ? kNoVReg : l.high_half(low), negative ? ~0u : 0);
  return upper;
}

/// What a copy of a loop's body hands on to the next: an argument of the kernel in a register.
ValueState handed_on(Lowering& l, const kernel::Op& op, std::size_t n) {
  if (l.state(*op.operands[n]).kind == ValueKind::kElements) l.elements(*op.operands[n]);
  return l.operand(op, n);
}

bool lower_unrolled(Lowering& l, const kernel::Op& op, std::int64_t trips) {
  const kernel::Block& body = *op.regions[0]->blocks[0];
  const std::int64_t low = *kernel::integer_constant(*op.operands[0]);
  const std::int64_t by = *kernel::integer_constant(*op.operands[2]);
  std::vector<ValueState> carried;
  for (std::size_t n = 3; n < op.operands.size(); ++n) carried.push_back(handed_on(l, op, n));
  const Lowering::Copy outer = l.copy;
  const bool copies = std::exchange(l.index_math().in_copies, true);
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
        for (std::size_t n = 0; n < carried.size(); ++n) carried[n] = handed_on(l, *inner, n);
        continue;
      }
      for (const auto& result : inner->results) l.state(*result) = {};
      if (!l.lower(*inner)) return false;
    }
  }
  l.copy = outer;
  l.index_math().in_copies = copies;
  for (std::size_t n = 0; n < carried.size(); ++n) {
    l.state(*op.result(n)) = carried[n];
    l.state(*op.result(n)).alias = true;
  }
  return true;
}

/// The predicate of a mask that all registers of a thread share; kNoVReg: there is none to test.
VReg shared_predicate(Lowering& l, const kernel::Value& mask) {
  const ValueState& s = l.state(mask);
  const VReg first = l.predicate(mask, 0);
  for (std::uint32_t r = 1; s.layout && r < s.layout->register_count(); ++r) {
    if (l.predicate(mask, r) != first) return kNoVReg;
  }
  return first;
}

bool lower_loop(Lowering& l, const kernel::Op& op);

/// A loop that threads skip whose mask fails, between BSSY and BSYNC; in it the mask holds.
bool lower_unswitched(Lowering& l, const kernel::Op& op, const kernel::Value& mask, VReg holds) {
  Builder& b = l.builder();
  b.emit(Opcode::kNop, "BSSY", {}, {});
  b.emit(Opcode::kNop, "BRA", {}, {}).guard = holds;
  const std::vector<Comparison> outer = l.assumed;
  const auto& comparisons = l.state(mask).comparisons;
  l.assumed.insert(l.assumed.end(), comparisons.begin(), comparisons.end());
  l.assumed_elements.clear();
  const bool fine = lower_loop(l, op);
  l.assumed = outer;
  l.assumed_elements.clear();
  b.emit(Opcode::kNop, "BRA", {}, {});  // over what the others do
  b.emit(Opcode::kNop, "BSYNC", {}, {});
  return fine;
}

}  // namespace

bool lower_for(Lowering& l, const kernel::Op& op) {
  if (const kernel::Value* mask = find_unswitched(l, op)) {
    const VReg holds = shared_predicate(l, *mask);
    if (holds != kNoVReg) return lower_unswitched(l, op, *mask, holds);
  }
  return lower_loop(l, op);
}

namespace {

/// The body is a block of its own (or several) that ends in the back edge; values that it carries
/// live in registers that the instructions which make the next ones overwrite. Short loops with
/// constant bounds are unrolled.
bool lower_loop(Lowering& l, const kernel::Op& op) {
  if (const std::int64_t trips = unrolled_trips(l, op); trips > 0) {
    return lower_unrolled(l, op, trips);
  }
  l.function_steps.clear();  // of registers that the loop may overwrite
  MachineCode& code = l.builder().code();
  const kernel::Block& body = *op.regions[0]->blocks[0];
  for (std::size_t n = 0; n + 1 < body.args.size(); ++n) {
    if (!carry(l, op, *op.operands[n + 3], *body.args[n + 1], *body.ops.back()->operands[n])) {
      return false;
    }
  }
  const Element low = l.elements(*op.operands[0])[0];
  const bool uniform = l.is_uniform(*body.args[0]);
  const VReg variable = uniform ? l.builder().uniform() : l.builder().general();
  copy_into(l, variable, low.reg, low.bits);
  IndexForm form;
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  const bool counts_up = kernel::integer_constant(*op.operands[0]).value_or(-1) >= 0;
  const auto bound = kernel::integer_constant(*op.operands[1]);
  form.scalar = uniform
                    ? l.scalars().in_uniform_register(variable)
                    : l.scalars().in_register(variable, l.axes().of(*body.args[0]).divisibility[0],
                                              counts_up ? bound.value_or(kUnknown) : kUnknown);
  VReg upper = kNoVReg;
  if (counts_in_64_bits(op)) {
    upper = wide_counter(l, uniform, low);
    l.scalars().widen(form.scalar, upper);
  }
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
  const VReg more = step(l, op, variable, upper);
  branch(l, op, Branch::kLoopBack, first).guard = more;
  code.blocks.back().loop_begin = static_cast<int>(first);
  code.blocks.emplace_back();
  l.function_steps.clear();
  code.blocks[before].code.back().target = static_cast<std::int32_t>(code.blocks.size() - 1);
  for (std::size_t n = 0; n < op.results.size(); ++n) {
    l.state(*op.result(n)) = l.state(*body.args[n + 1]);
    l.state(*op.result(n)).alias = true;
  }
  return true;
}

}  // namespace

bool lower_barrier(Lowering& l, const kernel::Op&) {
  l.meet();
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
