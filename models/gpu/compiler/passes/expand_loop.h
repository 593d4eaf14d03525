#pragma once

// Software pipelining of a loop whose ops have stages.

#include <unordered_map>

#include "models/gpu/compiler/passes/kernel_form.h"

namespace xpusim::gpu::passes {

/// The stage of each op of a loop's body: in one turn of the pipelined loop, an op of the last
/// stage works on iteration i, one of stage s on iteration i + last - s.
struct Stages {
  std::unordered_map<const Op*, std::int64_t> of;
  std::int64_t last = 0;
};

/// Whether every value comes early enough for its users, and the loop hands on values that its
/// body makes.
bool can_expand(const Op& loop, const Stages& stages);

/// Replaces a loop by a prologue and a pipelined loop. A turn runs later stages first, each in the
/// order of the body. Values that cross stages are carried. Iterations that the loop does not have
/// are masked: their accesses to global memory do nothing. There is no epilogue.
Op& expand_loop(Kernel& kernel, Op& loop, const Stages& stages);

}  // namespace xpusim::gpu::passes
