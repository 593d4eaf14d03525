#pragma once

// Reads and writes of parts of memrefs and memdescs.

#include "sim/exec/step_interpreter.h"

namespace xpusim::exec {

/// What fills memory whose contents are undefined: floats read as NaN.
inline constexpr std::byte kUnwrittenByte{0xff};

/// The part of a view that an op touches: `shape` elements from `base`, in elements of the view's
/// buffer.
struct Part {
  std::int64_t base = 0;
  Shape shape;
};
inline Part all_of(const View& view) { return {view.offset, view.shape}; }

/// Calls f(buffer element, tile element, count) for each run that is contiguous in both.
template <class F>
void for_view_runs(const View& view, const Part& part, F f) {
  std::int64_t run = 1;
  std::size_t outer = part.shape.size();
  while (outer > 0 && view.strides[outer - 1] == run) run *= part.shape[--outer];
  std::int64_t index[kMaxRank] = {}, tile = 0;
  while (true) {
    std::int64_t at = part.base;
    for (std::size_t d = 0; d < outer; ++d) at += index[d] * view.strides[d];
    f(at, tile, run);
    tile += run;
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == part.shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

Shape row_major_strides(const Shape& shape);
/// Elements of a view that holds its bytes, as a dense tile (or a splat, of a scalar).
void read_part(const View& view, const Part& part, Tile& out);
/// `mask` may be null.
void write_part(const View& view, const Part& part, const Tile& value, const Tile* mask);

}  // namespace xpusim::exec
