#pragma once

// What loads, stores and atomics share: the record of an access, its bounds, and the ways to walk
// it.

#include <span>
#include <string_view>

#include "sim/exec/affine.h"
#include "sim/exec/frame.h"

namespace xpusim::exec {

/// One access of a tile of pointers, checked: what it touches.
struct Touch {
  std::int64_t active = 0;    ///< elements that the mask leaves
  bool whole_region = false;  ///< these are all elements of `region`, and pointers have a form
  Box region;                 ///< in the tile's coordinates
};

/// Records the access at its site and checks every address that it touches against the allocations.
/// `mask` may be null. False: out of bounds, and the frame's error says where.
bool check_access(Frame& f, const Instruction& in, AccessKind kind, const Tile& pointers,
                  const Tile* mask, std::size_t element_size, Touch& touch);

/// Reads what a checked access touches; elements that the mask leaves out become `other` (may be
/// null: zero, where the language leaves it open).
void fetch(Frame& f, const Tile& pointers, const Tile* mask, const Tile* other, const Touch& touch,
           Tile& out);

/// Writes what a checked access touches.
void put(Frame& f, const Tile& pointers, const Tile* mask, const Touch& touch, const Tile& value);

/// A dimension along which an affine pointer tile is contiguous, or -1.
int contiguous_dimension(const Affine& pointers, const Shape& shape, std::size_t element_size);

/// Calls f(address, first element's linear index, count) for each run along `dimension` in the
/// region.
template <class F>
void for_contiguous_runs(const Affine& pointers, const Shape& shape, const Box& region,
                         int dimension, F f) {
  const auto run = static_cast<std::size_t>(dimension);
  std::int64_t index[kMaxRank];
  std::copy(region.low.begin(), region.low.end(), index);
  while (true) {
    std::int64_t linear = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) linear = linear * shape[d] + index[d];
    f(value_at(pointers, {index, shape.size()}), linear, region.high[run] - region.low[run]);
    std::size_t d = shape.size();
    while (d-- > 0) {
      if (d == run) continue;
      if (++index[d] < region.high[d]) break;
      index[d] = region.low[d];
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

/// Calls f(address, linear index) for each element that the mask leaves. `mask` may be null.
template <class F>
void for_active_elements(const Tile& pointers, const Tile* mask, F f);

}  // namespace xpusim::exec

#include "sim/exec/dense.h"

template <class F>
void xpusim::exec::for_active_elements(const Tile& pointers, const Tile* mask, F f) {
  ChunkReader<std::int64_t> addresses(pointers);
  Tile all;
  all.dtype = DType::kI1;
  set_integer(all, 1);
  ChunkReader<std::int64_t> flags(mask ? *mask : all);
  for_chunks(pointers.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* a = addresses.at(start, n);
    const std::int64_t* m = flags.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) {
      if (m[i] != 0) f(a[i], start + i);
    }
  });
}
