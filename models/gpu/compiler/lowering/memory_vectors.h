#pragma once

#include <cstdint>
#include <vector>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// How a tile access is cut into instructions.
struct Vectors {
  const kernel::LinearLayout* layout = nullptr;  ///< null: scalar
  std::uint32_t elements = 1;                    ///< a vector
  std::uint32_t words = 1;                       ///< registers a vector
  std::uint32_t bytes = 4;                       ///< a vector
  std::vector<std::uint32_t> first;              ///< [vector] its first register
};

inline constexpr std::uint32_t kAnyWidth = ~0u;

/// Cuts an access to global memory into vectors of at most so many elements, and describes it to
/// the model of the memory system. False after an error, which has been reported.
bool cut_access(Lowering& l, const kernel::Op& op, const kernel::Value& pointer,
                const kernel::Value* mask, std::uint32_t most_elements, Vectors& v);

/// The mask at an operand's position, if it is there. A mask that is a constant true guards
/// nothing.
const kernel::Value* mask_of(const kernel::Op& op, std::size_t position);
/// The words of a vector to store, side by side: elements' own registers where that can be.
std::vector<VReg> stored_words(Lowering& l, const Vectors& v, const std::vector<Element>& elements,
                               std::uint32_t first);
/// The predicate of a store: its mask, and only one of the threads that hold copies.
VReg store_guard(Lowering& l, const Vectors& v, const kernel::Value* mask, std::uint32_t first,
                 bool scalar);

}  // namespace xpusim::gpu
