#pragma once

#include <cstdint>

#include "sim/exec/tile.h"

namespace xpusim::exec {

/// A tile's shape around one axis: [outer, n, inner].
struct Around {
  std::int64_t outer = 1, n = 1, inner = 1;
};

inline Around around(const Shape& shape, std::size_t axis) {
  Around a;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    (d < axis ? a.outer : d > axis ? a.inner : a.n) *= shape[d];
  }
  return a;
}

}  // namespace xpusim::exec
