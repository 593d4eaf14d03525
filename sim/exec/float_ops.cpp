#include "sim/exec/float_ops.h"

#include <cmath>
#include <limits>

#include "sim/exec/dense.h"
#include "sim/exec/memory.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

template <class T>
void apply_splat(FloatOp op, std::span<const Tile* const> in, Tile& out) {
  T v[3] = {}, result;
  for (std::size_t i = 0; i < in.size() && i < 3; ++i) v[i] = static_cast<T>(in[i]->real);
  float_run(op, &v[0], &v[1], &v[2], 1, &result);
  set_float(out, rounded(out.dtype, static_cast<double>(result)));
}

template <class T>
bool holds_plainly(const Tile& t) {
  return t.dtype == (std::is_same_v<T, float> ? DType::kF32 : DType::kF64);
}

template <class T>
void apply_dense(FloatOp op, std::span<const Tile* const> in, Tile& out) {
  ChunkReader<T> a(*in[0]), b(*in[in.size() > 1 ? 1 : 0]), c(*in[in.size() > 2 ? 2 : 0]);
  std::byte* storage = dense_storage(out);
  const bool direct = holds_plainly<T>(out);
  alignas(64) T buffer[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const T* x = a.at(start, n);
    const T* y = in.size() > 1 ? b.at(start, n) : x;
    const T* z = in.size() > 2 ? c.at(start, n) : x;
    T* to = direct ? reinterpret_cast<T*>(storage) + start : buffer;
    float_run(op, x, y, z, n, to);
    if (!direct) write_floats(out, start, n, to);
  });
}

template <class F>
void dense_mask(const Tile& a, const Tile& b, Tile& out, F f) {
  ChunkReader<double> ra(a), rb(b);
  std::byte* to = dense_storage(out);
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const double* x = ra.at(start, n);
    const double* y = rb.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) to[start + i] = static_cast<std::byte>(f(x[i], y[i]));
  });
}

bool float_holds(int predicate, double x, double y) {
  // The predicate's bits in MLIR's order: 1..7 ordered, 8..14 unordered.
  const bool unordered = x != x || y != y;
  switch (predicate) {
    case 0:
      return false;
    case 1:
      return x == y;
    case 2:
      return x > y;
    case 3:
      return x >= y;
    case 4:
      return x < y;
    case 5:
      return x <= y;
    case 6:
      return !unordered && x != y;
    case 7:
      return !unordered;
    case 8:
      return unordered || x == y;
    case 9:
      return unordered || x > y;
    case 10:
      return unordered || x >= y;
    case 11:
      return unordered || x < y;
    case 12:
      return unordered || x <= y;
    case 13:
      return unordered || x != y;
    case 14:
      return unordered;
    default:
      return true;
  }
}

std::int64_t saturate(DType d, bool is_unsigned, double v) {
  if (v != v) return 0;
  const int width = kernel::bit_width(d);
  const double limit = std::ldexp(1.0, is_unsigned ? width : width - 1);
  if (v >= limit) {
    if (is_unsigned) return wrap(d, -1);
    return width >= 64 ? std::numeric_limits<std::int64_t>::max()
                       : (std::int64_t{1} << (width - 1)) - 1;
  }
  if (is_unsigned) {
    if (v <= -1) return 0;
    return wrap(d, static_cast<std::int64_t>(static_cast<std::uint64_t>(v)));
  }
  if (v < -limit) {
    return width >= 64 ? std::numeric_limits<std::int64_t>::min()
                       : -(std::int64_t{1} << (width - 1));
  }
  return static_cast<std::int64_t>(v);
}

/// A value rounded towards zero: the pattern next to it, if rounding to nearest went away from
/// zero.
double truncated(DType d, double v) {
  const double nearest = rounded(d, v);
  if (!(std::fabs(nearest) > std::fabs(v))) return nearest;
  return decode(d, encode(d, v) - 1);
}

/// Integer to the nearest T in one rounding.
template <class T>
T from_integer(DType d, bool is_unsigned, std::int64_t v) {
  if (is_unsigned) return static_cast<T>(zero_extend(d, v));
  return static_cast<T>(d == DType::kI1 ? -v : v);
}

template <class T>
void integers_to_floats(const Tile& a, bool is_unsigned, Tile& out) {
  ChunkReader<std::int64_t> ra(a);
  dense_storage(out);
  T result[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* x = ra.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) result[i] = from_integer<T>(a.dtype, is_unsigned, x[i]);
    write_floats(out, start, n, result);
  });
}

}  // namespace

void float_op(FloatOp op, std::span<const Tile* const> operands, Tile& out) {
  bool splat = true;
  for (const Tile* t : operands) {
    if (is_unknown(*t)) {
      out.form = TileForm::kUnknown;
      return;
    }
    splat = splat && is_splat(*t);
  }
  const bool wide = out.dtype == DType::kF64;
  if (splat) {
    wide ? apply_splat<double>(op, operands, out) : apply_splat<float>(op, operands, out);
  } else {
    wide ? apply_dense<double>(op, operands, out) : apply_dense<float>(op, operands, out);
  }
}

void compare_floats(int predicate, const Tile& a, const Tile& b, Tile& out) {
  if (is_unknown(a) || is_unknown(b)) {
    out.form = TileForm::kUnknown;
    return;
  }
  if (is_splat(a) && is_splat(b)) {
    set_integer(out, float_holds(predicate, a.real, b.real));
    return;
  }
  switch (predicate) {  // the common ones without a branch an element
    case 1:
      return dense_mask(a, b, out, [](double x, double y) { return x == y; });
    case 2:
      return dense_mask(a, b, out, [](double x, double y) { return x > y; });
    case 3:
      return dense_mask(a, b, out, [](double x, double y) { return x >= y; });
    case 4:
      return dense_mask(a, b, out, [](double x, double y) { return x < y; });
    case 5:
      return dense_mask(a, b, out, [](double x, double y) { return x <= y; });
    case 13:
      return dense_mask(a, b, out, [](double x, double y) { return x != y; });
    default:
      return dense_mask(a, b, out,
                        [predicate](double x, double y) { return float_holds(predicate, x, y); });
  }
}

void convert_float(const Tile& a, Tile& out) {
  if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
  } else if (is_splat(a)) {
    set_float(out, rounded(out.dtype, a.real));
  } else if (a.dtype == DType::kF64) {  // one rounding from double
    ChunkReader<double> ra(a);
    dense_storage(out);
    for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
      write_floats(out, start, n, ra.at(start, n));
    });
  } else {
    ChunkReader<float> ra(a);
    dense_storage(out);
    for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
      write_floats(out, start, n, ra.at(start, n));
    });
  }
}

void convert_float_towards_zero(const Tile& a, Tile& out) {
  if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
  } else if (is_splat(a)) {
    set_float(out, truncated(out.dtype, a.real));
  } else {
    ChunkReader<double> ra(a);
    dense_storage(out);
    double result[kChunk];
    for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
      const double* x = ra.at(start, n);
      for (std::int64_t i = 0; i < n; ++i) result[i] = truncated(out.dtype, x[i]);
      write_floats(out, start, n, result);
    });
  }
}

void integer_to_float(const Tile& a, bool is_unsigned, Tile& out) {
  if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
  } else if (is_splat(a)) {
    const double v = out.dtype == DType::kF64 ? from_integer<double>(a.dtype, is_unsigned, a.bits)
                                              : from_integer<float>(a.dtype, is_unsigned, a.bits);
    set_float(out, rounded(out.dtype, v));
  } else if (out.dtype == DType::kF64) {
    integers_to_floats<double>(a, is_unsigned, out);
  } else {
    integers_to_floats<float>(a, is_unsigned, out);
  }
}

void float_to_integer(const Tile& a, bool is_unsigned, Tile& out) {
  if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
  } else if (is_splat(a)) {
    set_integer(out, saturate(out.dtype, is_unsigned, a.real));
  } else {
    ChunkReader<double> ra(a);
    dense_storage(out);
    std::int64_t result[kChunk];
    for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
      const double* x = ra.at(start, n);
      for (std::int64_t i = 0; i < n; ++i) result[i] = saturate(out.dtype, is_unsigned, x[i]);
      write_integers(out, start, n, result);
    });
  }
}

void bitcast(const Tile& a, Tile& out) {
  const bool from_float = !a.is_pointer && kernel::is_float(a.dtype);
  const bool to_float = !out.is_pointer && kernel::is_float(out.dtype);
  if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
  } else if (is_splat(a)) {
    const std::int64_t bits =
        from_float ? static_cast<std::int64_t>(encode(a.dtype, a.real)) : a.bits;
    if (to_float) {
      set_float(out, decode(out.dtype, static_cast<std::uint64_t>(bits)));
    } else {
      set_integer(out, out.is_pointer ? bits : wrap(out.dtype, bits));
    }
  } else if (a.form == TileForm::kDense || (!from_float && !to_float && a.dtype == out.dtype)) {
    assign(out, a);
  } else {  // integers in compact form
    Tile dense = a;
    dense.data.reset();
    dense_storage(dense);
    std::int64_t chunk[kChunk];
    for_chunks(a.count(), [&](std::int64_t start, std::int64_t n) {
      read_integers(a, start, n, chunk);
      write_integers(dense, start, n, chunk);
    });
    assign(out, dense);
  }
}

}  // namespace xpusim::exec
