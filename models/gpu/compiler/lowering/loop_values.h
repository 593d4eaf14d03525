#pragma once

#include <cstddef>
#include <cstdint>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// Copies a register, or a constant (`from` kNoVReg), into another one of its file.
void copy_into(Lowering& l, VReg to, VReg from, std::uint32_t constant);

/// Gives one value that a loop carries its registers, set to what it begins with. A tile of
/// pointers that moves by the same number in all threads becomes a base that moves and offsets that
/// stay; zeros are set two at a time; buffers and tokens need no registers. False after an error.
bool carry(Lowering& l, const kernel::Op& loop, const kernel::Value& initial,
           const kernel::Value& carried, const kernel::Value& yielded);

/// At the end of the body, which begins with block `first_block`: what it yields becomes what the
/// next iteration carries; where that can be, the instructions that make it write the carried
/// registers themselves. False after an error.
bool hand_on(Lowering& l, const kernel::Op& yield, const kernel::Block& body,
             std::size_t first_block);

}  // namespace xpusim::gpu
