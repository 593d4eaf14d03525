#pragma once

#include <string_view>
#include <vector>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// Stores a lane's words (1, 2 or 4 of 32 bits, or one that counts for `bytes` 1 or 2) to shared
/// memory. `slot` tells apart addresses that differ by an immediate.
MachineInstruction& store_shared(Lowering& l, VReg address, std::vector<VReg> words,
                                 std::uint32_t slot, std::uint32_t bytes = 0);
/// Loads words into fresh registers side by side.
std::vector<VReg> load_shared(Lowering& l, VReg address, std::uint32_t words, std::uint32_t slot,
                              std::uint32_t bytes = 0);
/// The registers of an element: one, or two of 64 bits.
std::vector<VReg> words_of(Lowering& l, const Element& element, bool wide);
/// The element that such registers hold.
Element element_of(const std::vector<VReg>& words);
/// All threads meet between stores and loads; what is stored after the loads needs another barrier.
void barrier_before_loads(Lowering& l);

}  // namespace xpusim::gpu
