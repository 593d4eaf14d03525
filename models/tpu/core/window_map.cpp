#include "models/tpu/core/window_map.h"

#include <algorithm>
#include <bit>

namespace xpusim::tpu {
namespace {

void append(std::vector<Run>& out, std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (!out.empty() && out.back().address + out.back().bytes == address) {
    out.back().bytes += bytes;
  } else {
    out.push_back({address, bytes});
  }
}

/// Calls f(array byte offset, buffer byte offset, bytes) for each contiguous piece of the box that
/// lies inside the array.
template <class F>
void for_each_row(const TiledArray& array, std::span<const std::int64_t> low,
                  std::span<const std::int64_t> block, F&& f) {
  const auto& shape = array.shape();
  const std::size_t rank = shape.size();
  if (rank == 0) return;
  std::vector<std::int64_t> at(rank, 0), count(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    count[d] = std::min(block[d], shape[d] - low[d]);
    if (count[d] <= 0) return;
  }
  // Trailing dimensions that the box covers whole, in array and buffer alike, make one piece.
  std::size_t inner = rank - 1;
  while (inner > 0 && count[inner] == shape[inner] && count[inner] == block[inner]) --inner;
  std::int64_t piece = count[inner];
  for (std::size_t d = inner + 1; d < rank; ++d) piece *= count[d];
  while (true) {
    std::int64_t from = 0, to = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      from = from * shape[d] + low[d] + at[d];
      to = to * block[d] + at[d];
    }
    f(from * array.element_bytes(), to * array.element_bytes(), piece * array.element_bytes());
    std::size_t d = inner;
    while (d-- > 0) {
      if (++at[d] < count[d]) break;
      at[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

TiledArray::TiledArray(std::uint64_t address, std::vector<std::int64_t> shape,
                       std::int64_t element_bytes, std::int64_t rows_16bit)
    : address_(address), shape_(std::move(shape)), element_bytes_(element_bytes) {
  const std::size_t rank = shape_.size();
  if (rank < 2) return;
  const std::int64_t most = element_bytes == 1   ? 4 * kSublanes
                            : element_bytes == 2 ? rows_16bit
                                                 : kSublanes;
  const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(1, shape_[rank - 2]));
  tile_rows_ = std::min<std::int64_t>(most, static_cast<std::int64_t>(std::bit_ceil(rows)));
  tiles_across_ = (shape_[rank - 1] + tile_cols_ - 1) / tile_cols_;
  tiles_down_ = (shape_[rank - 2] + tile_rows_ - 1) / tile_rows_;
}

void TiledArray::runs(std::span<const std::int64_t> low, std::span<const std::int64_t> high,
                      std::vector<Run>& out) const {
  out.clear();
  const std::size_t rank = shape_.size();
  for (std::size_t d = 0; d < rank; ++d) {
    if (high[d] <= low[d]) return;
  }
  if (rank == 0) return append(out, address_, static_cast<std::uint64_t>(element_bytes_));
  if (rank == 1) {
    return append(out, address_ + static_cast<std::uint64_t>(low[0] * element_bytes_),
                  static_cast<std::uint64_t>((high[0] - low[0]) * element_bytes_));
  }
  const std::int64_t tile = tile_rows_ * tile_cols_ * element_bytes_;
  const std::int64_t row_low = low[rank - 2] / tile_rows_;
  const std::int64_t row_high = (high[rank - 2] + tile_rows_ - 1) / tile_rows_;
  const std::int64_t col_low = low[rank - 1] / tile_cols_;
  const std::int64_t col_high = (high[rank - 1] + tile_cols_ - 1) / tile_cols_;
  std::vector<std::int64_t> at(low.begin(), low.end() - 2);
  while (true) {
    std::int64_t slab = 0;
    for (std::size_t d = 0; d + 2 < rank; ++d) slab = slab * shape_[d] + at[d];
    for (std::int64_t row = row_low; row < row_high; ++row) {
      const std::int64_t first = (slab * tiles_down_ + row) * tiles_across_ + col_low;
      append(out, address_ + static_cast<std::uint64_t>(first * tile),
             static_cast<std::uint64_t>((col_high - col_low) * tile));
    }
    std::size_t d = at.size();
    while (d-- > 0) {
      if (++at[d] < high[d]) break;
      at[d] = low[d];
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

void read_box(const exec::DeviceMemory& memory, const TiledArray& array,
              std::span<const std::int64_t> low, std::span<const std::int64_t> block,
              std::span<std::byte> buffer) {
  for_each_row(array, low, block, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    memory.read(array.address() + static_cast<std::uint64_t>(from),
                buffer.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(bytes)));
  });
}

void write_box(exec::DeviceMemory& memory, const TiledArray& array,
               std::span<const std::int64_t> low, std::span<const std::int64_t> block,
               std::span<const std::byte> buffer) {
  for_each_row(array, low, block, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    memory.write(array.address() + static_cast<std::uint64_t>(from),
                 buffer.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(bytes)));
  });
}

}  // namespace xpusim::tpu
