#pragma once

// The passes, in the order in which they run, and what they share. Each changes a function in
// place and leaves it well formed: every tensor has a layout, and the layouts of an op's operands
// and results fit.

#include <string>

#include "models/gpu/compiler/passes/encodings.h"
#include "models/gpu/compiler/passes/passes.h"
#include "sim/config/diagnostics.h"

namespace xpusim::gpu::passes {

/// A function under work.
struct Kernel {
  Context& context;
  Op& function;
  Target target;
  Diagnostics& problems;

  /// Says that no pass can place an op.
  void refuse(const Op& op, const std::string& why);
};

/// Changes the type of a value, and of the constant that it is.
void set_encoding(Context& context, Value& value, Attr encoding);

// Simplifications, which the other passes call.

/// Merges converted constants, ranges and splats, chains of conversions, and conversions to what
/// a value already is.
void fold_conversions(Kernel& kernel);
/// Integer arithmetic of constants, neutral elements, splats of constants, broadcasts of splats.
void fold_constants(Kernel& kernel);
/// Leaves one of several equal ops of a block and those around it.
void merge_equal_ops(Kernel& kernel);
/// Takes out ops and loop-carried values that nothing uses.
void erase_unused(Kernel& kernel);
/// Moves what does not change in a loop before it.
void hoist_invariants(Kernel& kernel);
/// All of these until nothing changes.
void simplify(Kernel& kernel);

// The passes proper.

/// Gives every tensor a plain layout, with conversions where an op ties layouts together.
void assign_plain_layouts(Kernel& kernel);
/// Gives accesses to global memory layouts in which neighbouring threads touch neighbouring
/// elements and a thread moves up to 16 bytes at once.
void coalesce_accesses(Kernel& kernel);
/// Lets layouts flow from what needs its own (accesses, products) to what uses its results.
void propagate_layouts(Kernel& kernel);
/// Computes cheap values anew in the layout in which they are needed.
void rematerialize(Kernel& kernel);
/// Moves conversions that are left to where tiles are smallest: each before one op that widens.
void move_conversions(Kernel& kernel);
/// Turns products of tiles into matrix instructions: wgmma where the block has whole warp groups
/// and the tile 64 rows for each, else mma.sync, else multiply-adds as they are.
void place_products(Kernel& kernel);
/// Overlaps the loads of a loop with its products: buffers in shared memory that asynchronous
/// copies fill num_stages - 1 iterations ahead.
void pipeline_loops(Kernel& kernel);
/// Lets wgmmas run on while the loop goes on, as far as their results and buffers allow, and puts
/// the waits and fences that they need.
void launch_products(Kernel& kernel);

}  // namespace xpusim::gpu::passes
