#include "sim/exec/handlers/views.h"

#include <cstring>

#include "sim/exec/dense.h"
#include "sim/exec/handlers/elements.h"

namespace xpusim::exec {

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

void read_part(const View& view, const Part& part, Tile& out) {
  const std::size_t size = element_bytes(out);
  if (out.shape.empty()) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, view.bytes.data() + static_cast<std::size_t>(part.base) * size, size);
    return set_bits(out, bits);
  }
  std::byte* to = dense_storage(out);
  for_view_runs(view, part, [&](std::int64_t at, std::int64_t tile, std::int64_t n) {
    std::memcpy(to + static_cast<std::size_t>(tile) * size,
                view.bytes.data() + static_cast<std::size_t>(at) * size,
                static_cast<std::size_t>(n) * size);
  });
}

void write_part(const View& view, const Part& part, const Tile& value, const Tile* mask) {
  const std::size_t size = element_bytes(value);
  for_view_runs(view, part, [&](std::int64_t at, std::int64_t tile, std::int64_t n) {
    std::byte* to = view.bytes.data() + static_cast<std::size_t>(at) * size;
    if (!mask) return read_elements(value, tile, n, to);
    for (std::int64_t i = 0; i < n; ++i) {
      if (element_bits(*mask, tile + i) == 0) continue;
      read_elements(value, tile + i, 1, to + static_cast<std::size_t>(i) * size);
    }
  });
}

}  // namespace xpusim::exec
