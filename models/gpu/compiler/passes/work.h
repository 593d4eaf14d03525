#pragma once

// What an op costs and whether it has a layout of its own: the measures by which layouts are
// chosen.

#include "models/gpu/compiler/passes/encodings.h"
#include "models/gpu/compiler/passes/passes.h"

namespace xpusim::gpu::passes {

/// An access to global memory of at least an element a thread. Smaller ones are cheap: threads
/// read what others have read.
bool is_expensive_access(const Op& op, const Target& target);
/// Whether the op's own work depends on its layout, so that others follow it.
bool is_anchor(const Op& op, const Target& target);
/// Whether an op may be computed a second time.
bool may_repeat(const Op& op, const Target& target);
/// Whether a conversion of the op's result is the op itself in the other layout.
bool folds_into_conversion(const Op& op, Attr to);

/// What it costs to compute an op once more and to convert a tile, in the same unit.
std::int64_t repeat_cost(const Op& op);
std::int64_t conversion_cost(Type tile);

}  // namespace xpusim::gpu::passes
