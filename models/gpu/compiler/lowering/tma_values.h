#pragma once

// What the lowerings of mbarriers and of copies by TMA share.

#include <cstdint>
#include <string_view>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// Places the barrier that the plan of shared memory wants before an op.
void place_planned_barrier(Lowering& l, const kernel::Op& op);

/// A fresh uniform register that an instruction of the uniform datapath writes.
VReg uniform_value(Lowering& l, std::string_view mnemonic, std::initializer_list<VReg> uses,
                   std::uint32_t immediate = 0);
/// The value in a fresh uniform register, by an instruction that runs where `guard` holds.
VReg to_uniform(Lowering& l, VReg from, VReg guard);

/// A predicate of the block's first thread, or of it and a condition.
VReg first_thread(Lowering& l, const kernel::Value* condition);
/// A predicate that holds where `also` and the condition do. Comparisons are evaluated anew for
/// each such predicate, as the vendor's compiler does.
VReg and_condition(Lowering& l, const kernel::Value* condition, VReg also);

/// Where a view's bytes begin, as a base in a uniform register and an immediate.
struct UniformAddress {
  VReg base = kNoVReg;
  std::uint32_t offset = 0;
};
UniformAddress address_of(Lowering& l, const BufferView& view);

}  // namespace xpusim::gpu
