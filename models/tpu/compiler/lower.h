#pragma once

// Tile functions to bundles: loop nests unrolled as far as the registers allow, list-scheduled.

#include "models/tpu/compiler/tile_ir.h"
#include "models/tpu/params.h"

namespace xpusim::tpu {

/// Appends the bundles of a kernel body to the program, whose buffers so far are the windows and
/// the scratch; spill buffers are added. Fails where a loop body cannot do with the registers there
/// are.
Expected<void> lower(const TileFunction& function, const CoreParams& core, Program& program);

}  // namespace xpusim::tpu
