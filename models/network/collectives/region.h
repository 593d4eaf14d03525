#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace xpusim::network {

/// Rows of bytes a pitch apart, in planes of so many rows; one row if contiguous.
struct Run {
  std::uint64_t begin = 0, row = 0, rows = 1, pitch = 0;
  std::uint64_t planes = 1, plane_pitch = 0;
  std::uint64_t bytes() const { return row * rows * planes; }
  bool contiguous() const { return rows == 1 && planes == 1; }
  bool operator==(const Run&) const = default;
};

/// Some bytes of a collective's data, in the coordinates of all of it.
using Region = std::vector<Run>;

/// Shard `i` of `n` of contiguous bytes, in whole elements: the first ones are an element larger
/// where it does not divide.
Run shard(const Run& run, std::uint32_t i, std::uint32_t n, std::uint32_t element);

/// A dimension of data that consists of blocks in a grid: its size, and which of them (or all).
struct GridAxis {
  std::uint32_t size = 1;
  std::uint32_t at = 0;
  bool all = true;
};

/// Bytes `slice` of each of the chosen blocks of a grid (the first axis is the innermost).
Region blocks(std::span<const GridAxis> axes, std::uint64_t block_bytes, const Run& slice);

}  // namespace xpusim::network
