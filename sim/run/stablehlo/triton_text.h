#pragma once

// Kernels of a StableHLO module as Triton text, which every machine compiles.

#include <string>

#include "sim/run/stablehlo/graph.h"

namespace xpusim::run {

/// The TTIR of one kernel. Parameters: p0, p1, ... for its inputs in order, then out. Sizes are
/// those of the module; what they divide evenly needs no mask. Ops keep the lines of their op in
/// the module. An op or type that has no Triton form is an error with its line.
Expected<std::string> triton_text(const HloGraph& graph, const HloKernel& kernel,
                                  const TileSizes& tiles);

}  // namespace xpusim::run
