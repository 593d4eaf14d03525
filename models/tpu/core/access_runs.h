#pragma once

// Where in HBM the elements of an executed load or store lie.

#include <vector>

#include "models/tpu/core/dma.h"
#include "sim/exec/interpreter.h"

namespace xpusim::tpu {

/// The runs of neighbouring bytes that an access touches, along the dimension whose elements are
/// neighbours, masked elements left out.
void access_runs(const exec::Access& access, std::vector<Run>& out);

}  // namespace xpusim::tpu
