// ttg.warp_specialize, as Triton lowers it for Hopper: the further warps of a block wait at a named
// barrier until the function's warps have told each, by a byte in shared memory, what to run; after
// a partition they wait there again. Values that they capture are computed anew where that has no
// effect; others go through shared memory.

#include <algorithm>
#include <array>
#include <string_view>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_words.h"
#include "models/gpu/compiler/lowering/tma_values.h"
#include "sim/kernel/op_info.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kStatesOfWord = 4;  ///< bytes, a warp each

void meet_all(Lowering& l) { l.meet_at(WarpGroups::kAllBarrier, 0); }

MachineInstruction& in_order(Lowering& l, Opcode op, std::string_view mnemonic) {
  MachineInstruction& i = l.builder().emit(op, mnemonic, {}, {});
  i.effect = MemoryEffect::kBarrier;
  return i;
}

/// Another number of registers a thread; more of them are asked for until they are there.
void set_registers(Lowering& l, int from, int to) {
  if (to == 0) return;
  const bool more = to >= from;
  in_order(l, Opcode::kNop, "NOP");  // the lanes meet
  in_order(l, Opcode::kSetMaxReg,
           more ? "USETMAXREG.TRY_ALLOC.CTAPOOL" : "USETMAXREG.DEALLOC.CTAPOOL")
      .width = static_cast<std::uint16_t>(to);
  if (!more) return;
  in_order(l, Opcode::kAlu, "PLOP3.LUT");
  in_order(l, Opcode::kNop, "BRA");
}

/// Tells the further warps what to run.
void tell_others(Lowering& l) {
  const auto further =
      static_cast<std::uint32_t>(WarpGroups::further_warps(*l.groups().specialize));
  const auto at = static_cast<std::uint32_t>(l.shared_plan().offset(*l.function().op));
  for (std::uint32_t n = 0; n < further; n += kStatesOfWord) {
    const VReg states = l.builder().constant(n + 1);
    store_shared(l, kNoVReg, {states}, at + n);
  }
  meet_all(l);
}

/// What a further warp does until it knows what to run.
void be_told(Lowering& l) {
  Builder& b = l.builder();
  meet_all(l);
  const auto at = static_cast<std::uint32_t>(l.shared_plan().offset(*l.function().op));
  const VReg state = load_shared(l, kNoVReg, 1, at, 1)[0];
  const VReg nothing = b.predicate();
  b.emit(Opcode::kAlu, "ISETP.GT.U32", {nothing}, {state}, at);
  for (const std::string_view mnemonic :
       {"BAR.SYNC.DEFER_BLOCKING", "BAR.SYNC.DEFER_BLOCKING", "BRA"}) {
    in_order(l, Opcode::kNop, mnemonic).guard = nothing;
  }
  const VReg entry = b.value(Opcode::kFma, "IMAD.SHL.U32", {state}, 4);
  const VReg low = b.value(Opcode::kLdc, "LDC", {entry}, 0);
  const VReg high = b.value(Opcode::kAlu, "SHF.R.S32.HI", {low}, 31);
  MachineInstruction& go = in_order(l, Opcode::kNop, "BRX");
  go.uses.push_back(low);
  go.uses.push_back(high);
}

bool is_rematerialized(const kernel::Op& op) {
  constexpr std::uint32_t kPlain = kernel::kPure | kernel::kElementwise;
  return op.regions.empty() &&
         ((op.info->effects & ~kPlain) == 0 || op.name().starts_with("ttg.memdesc_"));
}

/// Whether a partition computes a value anew, from parameters, constants and buffers.
bool may_rematerialize(const Lowering& l, const kernel::Value& value) {
  if (l.is_parameter(value)) return true;
  if (value.def == nullptr) return false;
  if (value.def->name() == "ttg.local_alloc") return true;
  return is_rematerialized(*value.def) &&
         std::all_of(value.def->operands.begin(), value.def->operands.end(),
                     [&](const kernel::Value* v) { return may_rematerialize(l, *v); });
}

bool rematerialize(Lowering& l, const kernel::Value& value) {
  if (l.state(value).kind != ValueKind::kNone) return true;
  const kernel::Op& op = *value.def;
  if (op.name() == "ttg.local_alloc") {  // what it is filled with is there
    ValueState& s = l.state(value);
    s.kind = ValueKind::kBuffer;
    s.buffer = {kNoVReg, l.shared_plan().offset(op)};
    return true;
  }
  for (const kernel::Value* v : op.operands) {
    if (!rematerialize(l, *v)) return false;
  }
  return l.lower(op);
}

/// The captured values that go through shared memory.
std::vector<std::size_t> handed_over(const Lowering& l) {
  std::vector<std::size_t> list;
  const auto& operands = l.groups().specialize->operands;
  for (std::size_t n = 0; n < operands.size(); ++n) {
    if (!may_rematerialize(l, *operands[n])) list.push_back(n);
  }
  return list;
}

bool is_wide(const kernel::Value& value) {
  return value.type->is_pointer_like() || kernel::bit_width(value.type->dtype) > 32;
}

/// Where a captured value lies: by its place among the operands, 8 bytes each at most.
std::uint32_t place_of(Lowering& l, std::size_t operand) {
  constexpr std::uint32_t kSlot = 8;
  const auto at = static_cast<std::uint32_t>(l.shared_plan().offset(*l.groups().specialize));
  return at + kSlot * static_cast<std::uint32_t>(operand);
}

bool hand_over(Lowering& l, const kernel::Op& op) {
  for (const std::size_t n : handed_over(l)) {
    const kernel::Value& value = *op.operands[n];
    if (value.type->kind != kernel::TypeKind::kScalar && !value.type->is_pointer_like())
      return l.error(op, "a captured value that is neither a number nor a buffer is not modelled");
    std::vector<VReg> words;
    if (value.type->is_pointer_like()) {
      const Address at = address(l, value, 0);
      words = {at.low, at.high};
    } else {
      words = words_of(l, l.elements(value)[0], is_wide(value));
    }
    store_shared(l, kNoVReg, words, place_of(l, n));
  }
  return true;
}

void take_over(Lowering& l) {
  const auto& args = l.group().region->blocks[0]->args;
  for (const std::size_t n : handed_over(l)) {
    const kernel::Value& arg = *args[n];
    const auto words = load_shared(l, kNoVReg, is_wide(arg) ? 2 : 1, place_of(l, n));
    ValueState& s = l.state(arg);
    if (arg.type->is_pointer_like()) {
      s.kind = ValueKind::kPointer;
      s.base = l.scalars().in_register_pair(words[0], words[1]);
      s.bytes = kernel::pointee_bytes(arg.type);
    } else {
      l.set_elements(arg, nullptr, {element_of(words)});
    }
  }
}

/// Gives a partition's arguments what they stand for.
bool bind_captures(Lowering& l) {
  const auto& operands = l.groups().specialize->operands;
  const auto& args = l.group().region->blocks[0]->args;
  for (std::size_t n = 0; n < args.size(); ++n) {
    if (!may_rematerialize(l, *operands[n])) continue;
    if (!rematerialize(l, *operands[n])) return false;
    l.state(*args[n]) = l.state(*operands[n]);
    l.state(*args[n]).alias = true;
  }
  return true;
}

bool lower_ops(Lowering& l, const kernel::Region& region) {
  for (const auto& op : region.blocks[0]->ops) {
    if (op->name() == "ttg.warp_yield" || op->name() == "ttg.warp_return") continue;
    if (!l.lower(*op)) return false;
  }
  return true;
}

}  // namespace

void begin_function_warps(Lowering& l) {
  Builder& b = l.builder();
  const VReg tid = b.value(Opcode::kS2r, "S2R", {}, 0);
  const VReg warp = to_uniform(l, b.value(Opcode::kAlu, "SHF.R.U32.HI", {tid}, 5), kNoVReg);
  const VReg compared = uniform_value(l, "UISETP.GE.U32", {warp});
  const VReg other = b.predicate();
  b.emit(Opcode::kAlu, "PLOP3.LUT", {other}, {compared});
  MachineInstruction& leave = in_order(l, Opcode::kNop, "BRA");
  leave.branch = Branch::kToGroup;
  leave.guard = other;
  b.code().blocks.emplace_back();
  set_registers(l, l.groups().launch_registers, l.groups().function_registers);
}

bool lower_warp_specialize(Lowering& l, const kernel::Op& op) {
  if (!hand_over(l, op)) return false;
  tell_others(l);
  const int before = l.groups().function_registers, inside = l.group().registers;
  set_registers(l, before, inside);
  meet_all(l);
  if (!lower_ops(l, *op.regions[0])) return false;
  meet_all(l);
  set_registers(l, inside, before);
  const kernel::Op& yield = *op.regions[0]->blocks[0]->ops.back();
  for (std::size_t n = 0; n < op.results.size(); ++n) {
    l.state(*op.result(n)) = l.operand(yield, n);
    l.state(*op.result(n)).alias = true;
  }
  return true;
}

void end_other_warps(Lowering& l) { tell_others(l); }

bool lower_partition(Lowering& l) {
  const int waiting = l.groups().waiting_registers, inside = l.group().registers;
  set_registers(l, l.groups().launch_registers, waiting);
  be_told(l);
  set_registers(l, waiting, inside);
  if (!l.group().is_idle) take_over(l);
  meet_all(l);
  if (!l.group().is_idle) {
    l.builder().code().blocks.emplace_back();
    if (!bind_captures(l) || !lower_ops(l, *l.group().region)) return false;
  }
  meet_all(l);
  set_registers(l, inside, waiting);
  in_order(l, Opcode::kNop, "BRA");
  be_told(l);
  end_program(l);
  return true;
}

}  // namespace xpusim::gpu
