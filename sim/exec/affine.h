#pragma once

// The algebra of quasi-affine forms and boxes over a tile's index space. Functions that return
// false (or kNoForm) have no exact result in the same form; the caller then evaluates densely.

#include <cstdint>
#include <span>

#include "sim/exec/tile.h"

namespace xpusim::exec {

/// Values from low to high, both included.
struct Range {
  std::int64_t low = 0, high = 0;
};

/// One digit's value at index i of its dimension, without its stride.
inline std::int64_t digit_value(const Digit& d, std::int64_t i) {
  const std::int64_t q = d.div == 1 ? i : i / d.div;
  return d.mod == 0 ? q : q % d.mod;
}

std::int64_t value_at(const Affine& a, std::span<const std::int64_t> index);

/// Bounds of the values over a tile, or over the part of it inside a box that is not empty. `exact`
/// tells whether both ends are attained (bounds of several digits of one dimension may not be).
Range range(const Affine& a, const Shape& shape);
Range range(const Affine& a, const Box& box, bool& exact);

/// Brings digits to their simplest form: none without effect, no needless modulo, chains of digits
/// joined ((i mod 4) + 4 * (i div 4) is i).
void normalise(Affine& a, const Shape& shape);

bool add(const Affine& a, const Affine& b, std::int64_t sign, Affine& out);  ///< a + sign * b
bool scale(const Affine& a, std::int64_t factor, Affine& out);
/// Division rounding down, and its remainder in [0, divisor), by a positive divisor.
bool divide(const Affine& a, const Shape& shape, std::int64_t divisor, Affine& out);
bool modulo(const Affine& a, const Shape& shape, std::int64_t divisor, Affine& out);

void insert_dimension(Affine& a, int axis);
/// Dimension d of the result is dimension order[d] of the operand.
void permute(Affine& a, std::span<const std::int64_t> order);
bool reshape(const Affine& a, const Shape& from, const Shape& to, Affine& out);

enum class Where : std::uint8_t { kNowhere, kEverywhere, kInBox, kNoForm };
/// Where a < bound, and where a >= bound.
Where less(const Affine& a, const Shape& shape, std::int64_t bound, Box& out);
Where at_least(const Affine& a, const Shape& shape, std::int64_t bound, Box& out);

Box whole(const Shape& shape);
bool is_empty(const Box& box);
bool is_whole(const Box& box, const Shape& shape);
std::int64_t count(const Box& box);
Box intersect(const Box& a, const Box& b);
bool contains(const Box& outer, const Box& inner);

}  // namespace xpusim::exec
