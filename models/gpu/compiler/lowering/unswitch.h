#pragma once

#include <optional>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// A mask that does not change in a loop and that a select of it tests, alone or with others, if
/// the compiler tests it once before the loop (LLVM's non-trivial unswitching): null unless the
/// loop is small enough to stand in the code twice. The copy for threads whose mask fails has
/// nothing to do and is not modelled: warps all of whose lanes fail it (the last ones of a grid
/// that is a little too large) run the loop all the same.
const kernel::Value* find_unswitched(Lowering& l, const kernel::Op& loop);

}  // namespace xpusim::gpu
