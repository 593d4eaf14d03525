#include "sim/exec/tile.h"

#include <bit>
#include <cstring>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/memory.h"

namespace xpusim::exec {
namespace {

/// The coordinates of a linear index in row-major order.
void unravel(std::int64_t linear, const Shape& shape, std::int64_t* index) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = linear % shape[d];
    linear /= shape[d];
  }
}

/// Calls f(index, run, offset) for each run along the innermost dimension in [start, start+count).
template <class F>
void for_runs(const Shape& shape, std::int64_t start, std::int64_t count, F f) {
  std::int64_t index[kMaxRank];
  const std::size_t last = shape.size() - 1;
  unravel(start, shape, index);
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t run = std::min(count - done, shape[last] - index[last]);
    f(index, run, done);
    done += run;
    index[last] = 0;
    for (std::size_t d = last; d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

void read_affine(const Tile& t, std::int64_t start, std::int64_t count, std::int64_t* out) {
  const auto last = static_cast<std::uint8_t>(t.shape.size() - 1);
  for_runs(t.shape, start, count,
           [&](const std::int64_t* index, std::int64_t run, std::int64_t offset) {
             std::int64_t base = t.affine.base;
             for (const Digit& d : t.affine.digits) {
               if (d.dim != last) base += d.stride * digit_value(d, index[d.dim]);
             }
             std::int64_t* to = out + offset;
             std::fill_n(to, run, base);
             for (const Digit& d : t.affine.digits) {
               if (d.dim != last) continue;
               const std::int64_t first = index[last];
               if (d.div == 1 && d.mod == 0) {
                 for (std::int64_t j = 0; j < run; ++j) to[j] += d.stride * (first + j);
               } else {
                 for (std::int64_t j = 0; j < run; ++j)
                   to[j] += d.stride * digit_value(d, first + j);
               }
             }
           });
}

void read_box(const Tile& t, std::int64_t start, std::int64_t count, std::int64_t* out) {
  const std::size_t last = t.shape.size() - 1;
  for_runs(t.shape, start, count,
           [&](const std::int64_t* index, std::int64_t run, std::int64_t offset) {
             std::fill_n(out + offset, run, 0);
             for (std::size_t d = 0; d < last; ++d) {
               if (index[d] < t.box.low[d] || index[d] >= t.box.high[d]) return;
             }
             const std::int64_t from = std::max(t.box.low[last] - index[last], std::int64_t{0});
             const std::int64_t to = std::min(t.box.high[last] - index[last], run);
             if (from < to) std::fill(out + offset + from, out + offset + to, 1);
           });
}

template <class T, class U>
void convert(const std::byte* in, std::int64_t count, U* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    T v;
    std::memcpy(&v, in + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    out[i] = static_cast<U>(v);
  }
}

template <class T>
void store(const std::int64_t* in, std::int64_t count, std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T v = static_cast<T>(in[i]);
    std::memcpy(out + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof(T));
  }
}

template <class T>
void read_float_elements(const Tile& t, std::int64_t start, std::int64_t count, T* out) {
  if (t.form == TileForm::kSplat) {
    std::fill_n(out, count, static_cast<T>(t.real));
    return;
  }
  const std::byte* in = t.data->data() + static_cast<std::size_t>(start) * element_bytes(t);
  if (t.dtype == DType::kF64) {
    convert<double>(in, count, out);
  } else if constexpr (std::is_same_v<T, float>) {
    widen(t.dtype, in, static_cast<std::size_t>(count), out);
  } else {
    float wide[kChunk];
    for_chunks(count, [&](std::int64_t at, std::int64_t n) {
      widen(t.dtype, in + static_cast<std::size_t>(at) * element_bytes(t),
            static_cast<std::size_t>(n), wide);
      std::copy_n(wide, n, out + at);
    });
  }
}

}  // namespace

std::int64_t wrap(DType d, std::int64_t value) {
  switch (d) {
    case DType::kI1:
      return value & 1;
    case DType::kI4:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 60) >> 60;
    case DType::kI8:
      return static_cast<std::int8_t>(value);
    case DType::kI16:
      return static_cast<std::int16_t>(value);
    case DType::kI32:
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

std::uint64_t zero_extend(DType d, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  switch (d) {
    case DType::kI1:
      return bits & 1;
    case DType::kI4:
      return bits & 0xf;
    case DType::kI8:
      return bits & 0xff;
    case DType::kI16:
      return bits & 0xffff;
    case DType::kI32:
      return bits & 0xffffffffu;
    default:
      return bits;
  }
}

std::byte* dense_storage(Tile& t) {
  const std::size_t bytes = static_cast<std::size_t>(t.count()) * element_bytes(t);
  t.form = TileForm::kDense;
  if (!t.data || t.data.use_count() != 1) {
    t.data = std::make_shared<std::vector<std::byte>>(bytes);
  } else if (t.data->size() != bytes) {
    t.data->resize(bytes);
  }
  return t.data->data();
}

void set_integer(Tile& t, std::int64_t value) {
  t.form = TileForm::kSplat;
  t.bits = value;
}

void set_float(Tile& t, double value) {
  t.form = TileForm::kSplat;
  t.real = value;
}

void assign(Tile& to, const Tile& from) {
  to.form = from.form;
  switch (from.form) {
    case TileForm::kSplat:
      to.bits = from.bits;
      to.real = from.real;
      break;
    case TileForm::kAffine:
      to.affine = from.affine;
      break;
    case TileForm::kBox:
      to.box = from.box;
      break;
    case TileForm::kDense:
      to.data = from.data;
      break;
    case TileForm::kUnknown:
      break;
  }
}

void read_integers(const Tile& t, std::int64_t start, std::int64_t count, std::int64_t* out) {
  switch (t.form) {
    case TileForm::kSplat:
      std::fill_n(out, count, t.bits);
      return;
    case TileForm::kAffine:
      read_affine(t, start, count, out);
      return;
    case TileForm::kBox:
      read_box(t, start, count, out);
      return;
    case TileForm::kDense:
      break;
    case TileForm::kUnknown:
      std::fill_n(out, count, 0);
      return;
  }
  const std::byte* in = t.data->data() + static_cast<std::size_t>(start) * element_bytes(t);
  switch (element_bytes(t)) {
    case 1:
      convert<std::int8_t>(in, count, out);
      break;
    case 2:
      convert<std::int16_t>(in, count, out);
      break;
    case 4:
      convert<std::int32_t>(in, count, out);
      break;
    default:
      convert<std::int64_t>(in, count, out);
      break;
  }
}

void write_integers(Tile& t, std::int64_t start, std::int64_t count, const std::int64_t* in) {
  std::byte* out = t.data->data() + static_cast<std::size_t>(start) * element_bytes(t);
  switch (element_bytes(t)) {
    case 1:
      if (t.dtype == DType::kI8) {
        store<std::int8_t>(in, count, out);
      } else {  // i1, i4
        for (std::int64_t i = 0; i < count; ++i)
          out[i] = static_cast<std::byte>(wrap(t.dtype, in[i]));
      }
      break;
    case 2:
      store<std::int16_t>(in, count, out);
      break;
    case 4:
      store<std::int32_t>(in, count, out);
      break;
    default:
      store<std::int64_t>(in, count, out);
      break;
  }
}

void read_floats(const Tile& t, std::int64_t start, std::int64_t count, float* out) {
  read_float_elements(t, start, count, out);
}

void read_floats(const Tile& t, std::int64_t start, std::int64_t count, double* out) {
  read_float_elements(t, start, count, out);
}

void write_floats(Tile& t, std::int64_t start, std::int64_t count, const float* in) {
  std::byte* out = t.data->data() + static_cast<std::size_t>(start) * element_bytes(t);
  if (t.dtype == DType::kF64) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double v = in[i];
      std::memcpy(out + static_cast<std::size_t>(i) * sizeof v, &v, sizeof v);
    }
  } else {
    narrow(t.dtype, in, static_cast<std::size_t>(count), out);
  }
}

void write_floats(Tile& t, std::int64_t start, std::int64_t count, const double* in) {
  const std::size_t size = element_bytes(t);
  std::byte* out = t.data->data() + static_cast<std::size_t>(start) * size;
  if (t.dtype == DType::kF64) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * size);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = encode(t.dtype, in[i]);
    std::memcpy(out + static_cast<std::size_t>(i) * size, &bits, size);
  }
}

double rounded(DType d, double value) {
  if (d == DType::kF64) return value;
  if (d == DType::kF32) return static_cast<double>(static_cast<float>(value));
  return decode(d, encode(d, value));
}

std::vector<std::int64_t> to_integers(const Tile& tile) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(tile.count()));
  read_integers(tile, 0, tile.count(), out.data());
  return out;
}

std::int64_t integer_at(const Tile& tile, std::span<const std::int64_t> index) {
  switch (tile.form) {
    case TileForm::kSplat:
      return tile.bits;
    case TileForm::kAffine:
      return value_at(tile.affine, index);
    case TileForm::kBox:
      for (std::size_t d = 0; d < tile.shape.size(); ++d) {
        if (index[d] < tile.box.low[d] || index[d] >= tile.box.high[d]) return 0;
      }
      return 1;
    default:
      break;
  }
  std::int64_t linear = 0, value = 0;
  for (std::size_t d = 0; d < tile.shape.size(); ++d) linear = linear * tile.shape[d] + index[d];
  read_integers(tile, linear, 1, &value);
  return value;
}

}  // namespace xpusim::exec
