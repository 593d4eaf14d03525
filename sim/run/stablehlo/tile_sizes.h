#pragma once

#include <cstdint>

namespace xpusim::run {

/// Elements of the tiles that the kernels of a StableHLO module work on.
struct TileSizes {
  std::int64_t elements = 1024;                       ///< element-wise work and sums: a program's
  std::int64_t dot_m = 128, dot_n = 128, dot_k = 64;  ///< products: of the result, and a step
};

}  // namespace xpusim::run
