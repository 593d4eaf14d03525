#pragma once

// Which core runs which steps of a grid.

#include <cstdint>
#include <span>
#include <vector>

namespace xpusim::tpu {

/// Steps of a grid: a box, whose last dimension runs fastest.
struct GridBox {
  std::vector<std::int64_t> low, high;

  GridBox() = default;
  explicit GridBox(std::vector<std::int64_t> extents)
      : low(extents.size(), 0), high(std::move(extents)) {}
  std::uint64_t steps() const;
  /// The place in the grid of a step of the box.
  void at(std::uint64_t step, std::vector<std::int64_t>& out) const;
};

/// Shares a grid among at most `cores` cores as a megacore does: along its first `parallel`
/// dimension that has a step for each of them, else the longest one, in ranges that differ by one
/// step at most. Without such a dimension one core runs all of it.
std::vector<GridBox> share_grid(const std::vector<std::int64_t>& extents,
                                std::span<const std::size_t> parallel, std::int64_t cores);

}  // namespace xpusim::tpu
