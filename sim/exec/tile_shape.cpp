#include "sim/exec/tile_algebra.h"

#include <algorithm>
#include <bit>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// Copies elements of any size from `from[index(i)]` to `out[i]`, row by row of the result:
/// `strides` are the source's, in elements, for each dimension of the result.
void copy_strided(const Tile& from, std::span<const std::int64_t> strides, Tile& out) {
  const std::size_t size = element_bytes(out), rank = out.shape.size();
  const auto source = from.data;  // the result may share the operand's storage
  std::byte* to = dense_storage(out);
  std::int64_t index[kMaxRank] = {};
  const std::int64_t inner = rank ? out.shape[rank - 1] : 1;
  const std::int64_t step = rank ? strides[rank - 1] : 0;
  for (std::int64_t done = 0, n = out.count(); done < n; done += inner) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d + 1 < rank; ++d) at += index[d] * strides[d];
    const std::byte* row = source->data() + static_cast<std::size_t>(at) * size;
    if (step == 1) {
      std::memcpy(to, row, static_cast<std::size_t>(inner) * size);
    } else {
      for (std::int64_t i = 0; i < inner; ++i) {
        std::memcpy(to + static_cast<std::size_t>(i) * size,
                    row + static_cast<std::size_t>(i * step) * size, size);
      }
    }
    to += static_cast<std::size_t>(inner) * size;
    for (std::size_t d = rank ? rank - 1 : 0; d-- > 0;) {
      if (++index[d] < out.shape[d]) break;
      index[d] = 0;
    }
  }
}

Shape row_major(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

/// A dense tile of the same elements, for operands whose compact form the result cannot take.
Tile as_dense(const Tile& a) {
  Tile t = a;
  t.data.reset();
  dense_storage(t);
  std::int64_t chunk[kChunk];
  for_chunks(a.count(), [&](std::int64_t start, std::int64_t n) {
    read_integers(a, start, n, chunk);
    write_integers(t, start, n, chunk);
  });
  return t;
}

/// Whether two shapes are the same but for dimensions of size 1; `map[d]` is then the dimension of
/// `from` that dimension d of `to` is, or -1.
bool same_but_ones(const Shape& from, const Shape& to, int* map) {
  std::size_t i = 0;
  for (std::size_t d = 0; d < to.size(); ++d) {
    map[d] = -1;
    if (to[d] == 1) continue;
    while (i < from.size() && from[i] == 1) ++i;
    if (i == from.size() || from[i] != to[d]) return false;
    map[d] = static_cast<int>(i++);
  }
  while (i < from.size() && from[i] == 1) ++i;
  return i == from.size();
}

bool reshape_box(const Tile& a, Tile& out) {
  int map[kMaxRank];
  if (!same_but_ones(a.shape, out.shape, map)) return false;
  out.box = whole(out.shape);  // a box that is not empty covers its dimensions of size 1
  for (std::size_t d = 0; d < out.shape.size(); ++d) {
    if (map[d] < 0) continue;
    out.box.low[d] = a.box.low[static_cast<std::size_t>(map[d])];
    out.box.high[d] = a.box.high[static_cast<std::size_t>(map[d])];
  }
  out.form = TileForm::kBox;
  return true;
}

template <class T>
void select_elements(const Tile& condition, const Tile& a, const Tile& b, Tile& out) {
  ChunkReader<std::int64_t> rc(condition);
  ChunkReader<T> ra(a), rb(b);
  dense_storage(out);
  T result[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* c = rc.at(start, n);
    const T* x = ra.at(start, n);
    const T* y = rb.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) result[i] = c[i] != 0 ? x[i] : y[i];
    if constexpr (std::is_same_v<T, std::int64_t>) {
      write_integers(out, start, n, result);
    } else {
      write_floats(out, start, n, result);
    }
  });
}

bool same_splat(const Tile& a, const Tile& b) {
  return is_splat(a) && is_splat(b) &&
         (kernel::is_float(a.dtype)
              ? std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real)
              : a.bits == b.bits);
}

}  // namespace

void select(const Tile& condition, const Tile& a, const Tile& b, Tile& out) {
  if (is_splat(condition)) return assign(out, condition.bits ? a : b);
  if (same_splat(a, b)) return assign(out, a);
  if (is_unknown(condition) || is_unknown(a) || is_unknown(b)) {
    out.form = TileForm::kUnknown;
    return;
  }
  if (out.is_pointer || !kernel::is_float(out.dtype)) {
    select_elements<std::int64_t>(condition, a, b, out);
  } else if (out.dtype == DType::kF64) {
    select_elements<double>(condition, a, b, out);
  } else {
    select_elements<float>(condition, a, b, out);
  }
}

void make_range(std::int64_t start, Tile& out, int dimension) {
  out.affine.base = start;
  out.affine.digits.clear();
  out.affine.digits.push_back({1, 1, 0, static_cast<std::uint8_t>(dimension)});
  normalise(out.affine, out.shape);
  if (out.affine.digits.empty()) {
    set_integer(out, start);
  } else {
    out.form = TileForm::kAffine;
  }
}

void broadcast(const Tile& a, Tile& out) {
  if (is_splat(a) || is_unknown(a) || a.shape == out.shape) return assign(out, a);
  if (a.count() == 1 && a.form == TileForm::kDense) {  // one element, however it is held
    if (out.is_pointer || !kernel::is_float(out.dtype)) {
      std::int64_t v;
      read_integers(a, 0, 1, &v);
      return set_integer(out, v);
    }
    double v;
    read_floats(a, 0, 1, &v);
    return set_float(out, v);
  }
  // Ranks may differ (vector.broadcast): leading dimensions are new.
  const std::size_t lead = out.shape.size() - a.shape.size();
  if (a.form == TileForm::kAffine) {
    out.affine = a.affine;
    for (Digit& d : out.affine.digits) d.dim = static_cast<std::uint8_t>(d.dim + lead);
    out.form = TileForm::kAffine;
    return;
  }
  if (a.form == TileForm::kBox) {
    const Box from = a.box;
    out.box = whole(out.shape);
    for (std::size_t d = 0; d < a.shape.size(); ++d) {
      if (a.shape[d] == 1) continue;
      out.box.low[lead + d] = from.low[d];
      out.box.high[lead + d] = from.high[d];
    }
    out.form = TileForm::kBox;
    return;
  }
  const Shape own = row_major(a.shape);
  Shape strides(out.shape.size(), 0);
  for (std::size_t d = 0; d < a.shape.size(); ++d) strides[lead + d] = a.shape[d] == 1 ? 0 : own[d];
  copy_strided(a, {strides.data(), strides.size()}, out);
}

void expand_dims(const Tile& a, int axis, Tile& out) {
  if (a.form == TileForm::kAffine) {
    out.affine = a.affine;
    insert_dimension(out.affine, axis);
    out.form = TileForm::kAffine;
    return;
  }
  reshape(a, out);
}

void reshape(const Tile& a, Tile& out) {
  if (a.form == TileForm::kAffine) {
    if (reshape(a.affine, a.shape, out.shape, out.affine)) {
      out.form = TileForm::kAffine;
      return;
    }
    return assign(out, as_dense(a));
  }
  if (a.form == TileForm::kBox) {
    if (!reshape_box(a, out)) assign(out, as_dense(a));
    return;
  }
  assign(out, a);
}

void transpose(const Tile& a, std::span<const std::int64_t> order, Tile& out) {
  switch (a.form) {
    case TileForm::kAffine:
      out.affine = a.affine;
      permute(out.affine, order);
      out.form = TileForm::kAffine;
      return;
    case TileForm::kBox:
      out.box = whole(out.shape);
      for (std::size_t d = 0; d < order.size(); ++d) {
        out.box.low[d] = a.box.low[static_cast<std::size_t>(order[d])];
        out.box.high[d] = a.box.high[static_cast<std::size_t>(order[d])];
      }
      out.form = TileForm::kBox;
      return;
    case TileForm::kDense:
      break;
    default:
      return assign(out, a);
  }
  const Shape own = row_major(a.shape);
  Shape strides(order.size());
  for (std::size_t d = 0; d < order.size(); ++d)
    strides[d] = own[static_cast<std::size_t>(order[d])];
  copy_strided(a, {strides.data(), strides.size()}, out);
}

}  // namespace xpusim::exec
