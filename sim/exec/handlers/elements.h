#pragma once

// Elements as raw bytes, whatever their tile's form and dtype.

#include <cstddef>
#include <cstdint>

#include "sim/exec/tile.h"

namespace xpusim::exec {

/// Elements start, start+step, ... of a tile as they stand in memory.
void read_elements(const Tile& t, std::int64_t start, std::int64_t count, std::byte* out,
                   std::int64_t step = 1);
/// Lays elements that lie side by side out at every step-th place.
void spread_elements(const std::byte* in, std::int64_t count, std::size_t size, std::byte* out,
                     std::int64_t step);
/// Makes a tile a splat of one element's bits.
void set_bits(Tile& t, std::uint64_t bits);
/// The bits of one element.
std::uint64_t element_bits(const Tile& t, std::int64_t linear);

}  // namespace xpusim::exec
