#pragma once

#include <cstdint>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// Elements that the first load of a loop's body takes at once; 1 if none is a tile's.
std::int64_t first_load_width(Lowering& l, const kernel::Block& body);

/// The trip count of a loop that the compiler unrolls, or 0: one with constant bounds that is small
/// enough with all its iterations. LLVM counts what is left after each iteration's own constants
/// have been put in: indices fold, a branch that the loop's variable decides keeps one side; and
/// divisions of indices count once a vector, whose other elements need no address.
std::int64_t unrolled_trips(Lowering& l, const kernel::Op& loop);

}  // namespace xpusim::gpu
