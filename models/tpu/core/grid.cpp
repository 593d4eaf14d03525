#include "models/tpu/core/grid.h"

#include <algorithm>
#include <optional>

namespace xpusim::tpu {

std::uint64_t GridBox::steps() const {
  std::uint64_t n = 1;
  for (std::size_t d = 0; d < low.size(); ++d) {
    n *= static_cast<std::uint64_t>(std::max<std::int64_t>(0, high[d] - low[d]));
  }
  return n;
}

void GridBox::at(std::uint64_t step, std::vector<std::int64_t>& out) const {
  out = low;
  for (std::size_t d = low.size(); d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(high[d] - low[d]);
    if (extent == 0) return;
    out[d] += static_cast<std::int64_t>(step % extent);
    step /= extent;
  }
}

std::vector<GridBox> share_grid(const std::vector<std::int64_t>& extents,
                                std::span<const std::size_t> parallel, std::int64_t cores) {
  std::optional<std::size_t> shared;
  for (const std::size_t d : parallel) {
    if (shared && (extents[*shared] >= cores || extents[d] <= extents[*shared])) continue;
    shared = d;
  }
  const GridBox all(extents);
  const std::int64_t parts = shared ? std::min(cores, extents[*shared]) : 1;
  if (parts <= 1) return {all};
  std::vector<GridBox> out;
  for (std::int64_t c = 0; c < parts; ++c) {
    GridBox box = all;
    box.low[*shared] = extents[*shared] * c / parts;
    box.high[*shared] = extents[*shared] * (c + 1) / parts;
    out.push_back(std::move(box));
  }
  return out;
}

}  // namespace xpusim::tpu
