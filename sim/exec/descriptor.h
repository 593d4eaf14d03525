#pragma once

#include <cstdint>

#include "sim/exec/tile.h"

namespace xpusim::exec {

/// A TMA descriptor: a tensor in device memory, and the block of it that one copy moves. What of a
/// block lies outside the tensor reads as padding and is not written. Leaves out: strides of
/// elements, interleaving and swizzles (where a block lies in shared memory is its layout's
/// matter).
struct TensorDescriptor {
  std::uint64_t address = 0;
  DType dtype = DType::kNone;
  Shape shape;    ///< of the tensor, in elements
  Shape strides;  ///< in elements; the last is 1
  Shape block;
  bool pads_with_nan = false;  ///< padding is NaN instead of zero
};

}  // namespace xpusim::exec
