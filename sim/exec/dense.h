#pragma once

// Element-wise access to tiles in any form, a chunk at a time: what dense evaluation is written
// over.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sim/exec/rounding.h"
#include "sim/exec/tile.h"

namespace xpusim::exec {

inline constexpr std::int64_t kChunk =
    512;  ///< elements evaluated at a time; stays in the L1 cache

/// Bytes of one element in dense data: pointers 8, i1 1.
inline std::size_t element_bytes(const Tile& t) {
  return t.is_pointer ? 8 : static_cast<std::size_t>(kernel::byte_size(t.dtype));
}
/// An integer cut to a dtype's width, as its signed value (i1: 0 or 1).
std::int64_t wrap(DType d, std::int64_t value);
/// The same bits read as unsigned.
std::uint64_t zero_extend(DType d, std::int64_t value);

/// Makes a tile dense and gives its storage, which the tile shares with no other; keeps storage
/// that fits.
std::byte* dense_storage(Tile& t);

void set_integer(Tile& t, std::int64_t value);  ///< splat of an integer, bool or address
void set_float(Tile& t, double value);          ///< splat of a float, already rounded
/// Takes the form and payload of a tile of the same count and dtype; shares dense data.
void assign(Tile& to, const Tile& from);

/// Integer, mask or pointer elements [start, start+count) into `out`, in any form but kUnknown.
void read_integers(const Tile& t, std::int64_t start, std::int64_t count, std::int64_t* out);
void write_integers(Tile& t, std::int64_t start, std::int64_t count, const std::int64_t* in);
/// Float elements of a splat or dense tile, and back with rounding.
void read_floats(const Tile& t, std::int64_t start, std::int64_t count, float* out);
void read_floats(const Tile& t, std::int64_t start, std::int64_t count, double* out);
void write_floats(Tile& t, std::int64_t start, std::int64_t count, const float* in);
void write_floats(Tile& t, std::int64_t start, std::int64_t count, const double* in);

/// A value rounded to a float dtype.
double rounded(DType d, double value);

/// Reads an operand chunk by chunk as T (int64, float or double); splats are filled in once, dense
/// data that already is T is not copied.
template <class T>
class ChunkReader {
 public:
  explicit ChunkReader(const Tile& tile) : tile_(tile) {
    if (tile.form == TileForm::kSplat) fill(kChunk, 0);
  }
  const T* at(std::int64_t start, std::int64_t count) {
    if (tile_.form == TileForm::kSplat) return buffer_;
    if (is_plain()) return reinterpret_cast<const T*>(tile_.data->data()) + start;
    fill(count, start);
    return buffer_;
  }

 private:
  bool is_plain() const {
    if (tile_.form != TileForm::kDense) return false;
    if constexpr (std::is_same_v<T, float>) return tile_.dtype == DType::kF32;
    if constexpr (std::is_same_v<T, double>) return tile_.dtype == DType::kF64;
    return tile_.is_pointer || tile_.dtype == DType::kI64 || tile_.dtype == DType::kIndex;
  }
  void fill(std::int64_t count, std::int64_t start) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      read_integers(tile_, start, count, buffer_);
    } else {
      read_floats(tile_, start, count, buffer_);
    }
  }
  const Tile& tile_;
  alignas(64) T buffer_[kChunk];
};

/// Calls f(start, count) for consecutive chunks of a tile.
template <class F>
void for_chunks(std::int64_t count, F f) {
  for (std::int64_t start = 0; start < count; start += kChunk) {
    f(start, std::min(kChunk, count - start));
  }
}

}  // namespace xpusim::exec
