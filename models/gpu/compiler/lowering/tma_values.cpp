#include "models/gpu/compiler/lowering/tma_values.h"

#include "models/gpu/compiler/lowering/elementwise.h"
#include "sim/kernel/op_info.h"

namespace xpusim::gpu {

void place_planned_barrier(Lowering& l, const kernel::Op& op) {
  if (l.shared_plan().barrier_before(op)) l.barrier();
}

VReg uniform_value(Lowering& l, std::string_view mnemonic, std::initializer_list<VReg> uses,
                   std::uint32_t immediate) {
  const VReg result = l.builder().uniform();
  l.builder().emit(Opcode::kUniform, mnemonic, {result}, uses, immediate);
  return result;
}

VReg to_uniform(Lowering& l, VReg from, VReg guard) {
  const VReg result = l.builder().uniform();
  l.builder().emit(Opcode::kAlu, "R2UR", {result}, {from}).guard = guard;
  return result;
}

VReg first_thread(Lowering& l, const kernel::Value* condition) {
  const auto threads = static_cast<std::uint32_t>(l.num_warps() * kWarpLanes);
  return and_condition(l, condition, l.tid_bits_clear(threads - 1));
}

VReg and_condition(Lowering& l, const kernel::Value* condition, VReg also) {
  if (condition == nullptr || kernel::integer_constant(*condition)) return also;
  const ValueState& s = l.state(*condition);
  if (s.kind == ValueKind::kMask) return l.predicate(s.comparisons, 0, also);
  const Element e = l.elements(*condition)[0];
  if (e.is_constant()) return also;
  const VReg both = l.builder().predicate();
  l.builder().emit(Opcode::kAlu, "PLOP3", {both}, {e.reg, also}, e.bits);
  return both;
}

UniformAddress address_of(Lowering& l, const BufferView& view) {
  return {view.address == kNoVReg ? l.shared_base() : view.address,
          static_cast<std::uint32_t>(view.offset)};
}

}  // namespace xpusim::gpu
