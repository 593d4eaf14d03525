#pragma once

#include "sim/config/tree.h"
#include "sim/run/collective.h"

namespace xpusim::run {

/// Reads a launch that is a map with the key `collective`; what is wrong goes to `problems`.
CollectiveSpec read_collective(const config::Node& launch, Diagnostics& problems);

}  // namespace xpusim::run
