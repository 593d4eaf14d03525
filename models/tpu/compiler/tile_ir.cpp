#include "models/tpu/compiler/tile_ir.h"

#include <algorithm>

namespace xpusim::tpu {

VregGrid join(const VregGrid& a, const VregGrid& b) {
  return {std::max(a.rows, b.rows), std::max(a.cols, b.cols)};
}

VregGrid vreg_grid(std::int64_t rows, std::int64_t cols, Element element) {
  const std::int64_t tile_rows = is_8bit(element) ? 4 * kSublanes : kSublanes;
  return {(rows + tile_rows - 1) / tile_rows, (cols + kLanes - 1) / kLanes};
}

std::int64_t tile_bytes(Element element) {
  return element == Element::kBf16 || element == Element::kI16 ? kVregBytes / 2 : kVregBytes;
}

}  // namespace xpusim::tpu
