// mbarriers: barriers in shared memory that count arrivals and bytes. One thread of the block
// initialises them, announces bytes, arrives; all warps wait.

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/tma_values.h"

namespace xpusim::gpu {
namespace {

/// Bit of the parity that a wait takes.
constexpr std::uint32_t kParityShift = 31;

MachineInstruction& first_warp(Lowering& l, std::string_view mnemonic,
                               std::initializer_list<VReg> uses, std::uint32_t immediate) {
  MachineInstruction& i = l.builder().emit(Opcode::kSyncs, mnemonic, {}, uses, immediate);
  i.effect = MemoryEffect::kBarrier;
  i.active_warps = 1;
  i.active_lanes = 1;
  return i;
}

/// The parity in the bit where a wait wants it: a phase on the uniform datapath is shifted there.
VReg parity(Lowering& l, const kernel::Value& phase) {
  Builder& b = l.builder();
  if (const auto c = kernel::integer_constant(phase)) {
    return b.value(Opcode::kAlu, "SHF.L", {}, static_cast<std::uint32_t>(*c) << kParityShift);
  }
  const ValueState& s = l.state(phase);
  const VReg from = s.kind == ValueKind::kIndex && l.is_uniform(phase)
                        ? l.uniform(s.index)
                        : l.in_register(l.elements(phase)[0]);
  if (b.code().registers[from] != RegFile::kUniform) {
    return b.value(Opcode::kAlu, "SHF.L", {from}, kParityShift);
  }
  return b.move(uniform_value(l, "USHF", {from}, kParityShift));
}

}  // namespace

/// The word that an mbarrier starts with is computed from its count where the first thread runs.
bool lower_init_barrier(Lowering& l, const kernel::Op& op) {
  place_planned_barrier(l, op);
  const UniformAddress at = address_of(l, l.operand(op, 0).buffer);
  const VReg first = first_thread(l, nullptr);
  const auto count = static_cast<std::uint32_t>(op.int_attr("count", 1));
  const VReg counts = uniform_value(l, "UMOV", {}, count);
  const VReg runs = uniform_value(l, "VOTEU.ALL", {first});
  const VReg pending = uniform_value(l, "UIADD3", {counts, runs}, op.id);
  const VReg high = uniform_value(l, "USHF", {pending, runs}, 11);
  const VReg low = uniform_value(l, "USHF", {pending, runs}, 1);
  const VReg writes = uniform_value(l, "VOTEU.ALL", {first}, op.id);
  first_warp(l, "SYNCS.EXCH.64", {at.base, low, high, writes}, at.offset);
  return true;
}

bool lower_inval_barrier(Lowering& l, const kernel::Op& op) {
  place_planned_barrier(l, op);
  const UniformAddress at = address_of(l, l.operand(op, 0).buffer);
  const VReg first = first_thread(l, nullptr);
  first_warp(l, "SYNCS.CCTL.IV", {at.base}, at.offset).guard = first;
  return true;
}

/// Announces bytes, and arrives.
bool lower_barrier_expect(Lowering& l, const kernel::Op& op) {
  place_planned_barrier(l, op);
  const UniformAddress at = address_of(l, l.operand(op, 0).buffer);
  const VReg runs = first_thread(l, op.operand_of(1));
  const VReg bytes = l.builder().general();
  l.builder()
      .emit(Opcode::kAlu, "MOV", {bytes}, {}, static_cast<std::uint32_t>(op.int_attr("size")))
      .guard = runs;
  MachineInstruction& i = first_warp(l, "SYNCS.ARRIVE.TRANS64", {at.base, bytes}, at.offset);
  i.guard = runs;
  i.site = l.site(op);
  l.site_layout(i.site);
  return true;
}

bool lower_arrive_barrier(Lowering& l, const kernel::Op& op) {
  place_planned_barrier(l, op);
  const UniformAddress at = address_of(l, l.operand(op, 0).buffer);
  const VReg runs = first_thread(l, op.operand_of(1));
  MachineInstruction& i = first_warp(l, "SYNCS.ARRIVE.TRANS64.A1T0", {at.base}, at.offset);
  i.guard = runs;
  i.site = l.site(op);
  l.site_layout(i.site);
  return true;
}

/// The first try, and the branch to the loop of further ones, which counts as not taken: a warp
/// that has to wait stands still in its first try.
bool lower_wait_barrier(Lowering& l, const kernel::Op& op) {
  place_planned_barrier(l, op);
  const UniformAddress at = address_of(l, l.operand(op, 0).buffer);
  const VReg phase = parity(l, *op.operand_of(1));
  Builder& b = l.builder();
  const VReg over = b.predicate();
  MachineInstruction& i = b.emit(Opcode::kSyncsWait, "SYNCS.PHASECHK.TRANS64.TRYWAIT", {over},
                                 {at.base, phase}, at.offset);
  i.effect = MemoryEffect::kBarrier;
  i.site = l.site(op);
  l.site_layout(i.site);
  MachineInstruction& again = b.emit(Opcode::kNop, "BRA", {}, {});
  again.guard = over;
  again.guard_negated = true;
  again.effect = MemoryEffect::kBarrier;
  return true;
}

}  // namespace xpusim::gpu
