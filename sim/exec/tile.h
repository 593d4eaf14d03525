#pragma once

// Values of the functional executor. Index, pointer and mask tiles cost O(1): they are kept as
// splats, quasi-affine forms or boxes; only data-dependent ones are dense.

#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::exec {

using kernel::DType;

inline constexpr int kMaxRank = 12;  ///< a sort of 2^k elements works on k dimensions of 2
using Shape = boost::container::static_vector<std::int64_t, kMaxRank>;

/// One digit of a quasi-affine form: stride * ((i[dim] / div) % mod), mod 0 meaning "no modulo".
struct Digit {
  std::int64_t stride = 0;
  std::int64_t div = 1;
  std::int64_t mod = 0;
  std::uint8_t dim = 0;
};

/// base + sum of digits: index tiles, and pointer tiles in bytes.
struct Affine {
  std::int64_t base = 0;
  boost::container::static_vector<Digit, 8> digits;
};

/// A mask that is true exactly where low[d] <= i[d] < high[d] for every dimension d.
struct Box {
  boost::container::static_vector<std::int64_t, kMaxRank> low, high;
};

/// How a tile's elements are held.
enum class TileForm : std::uint8_t {
  kSplat,    ///< all elements equal `bits`
  kAffine,   ///< integers or byte addresses in `affine`
  kBox,      ///< i1 in `box`
  kDense,    ///< row-major elements in `data`
  kUnknown,  ///< a floating-point payload that --values off did not compute
};

/// A scalar (rank 0) or a tile. Floats in `bits` and `data` are kept in their own dtype's bit
/// pattern in dense data, and widened to double in `real` for splats of floats.
struct Tile {
  Shape shape;
  DType dtype = DType::kNone;  ///< pointers: kI64 with `is_pointer`
  bool is_pointer = false;
  TileForm form = TileForm::kUnknown;
  std::int64_t bits = 0;  ///< splat of an integer, bool or byte address
  double real = 0;        ///< splat of a float
  Affine affine;
  Box box;
  std::shared_ptr<std::vector<std::byte>> data;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (auto s : shape) n *= s;
    return n;
  }
};

/// Row-major element values of an integer, pointer or mask tile in any form (slow; for tests and
/// dense fall-backs).
std::vector<std::int64_t> to_integers(const Tile& tile);
/// The value at one coordinate of an integer, pointer or mask tile, in any form.
std::int64_t integer_at(const Tile& tile, std::span<const std::int64_t> index);

}  // namespace xpusim::exec
