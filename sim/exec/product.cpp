#include "sim/exec/product.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <vector>

#include "sim/exec/dense.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

template <class T>
using MatrixMap = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

template <class T>
MatrixMap<T> matrix(std::vector<T>& storage, std::int64_t rows, std::int64_t columns) {
  storage.resize(static_cast<std::size_t>(rows * columns));
  return {storage.data(), rows, columns};
}

/// The tensor cores take the upper 19 bits of an f32 operand: what they do not see is cut off, not
/// rounded (measured on an H200).
void drop_low_bits(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[i]) & ~0x1fffu);
  }
}

/// `count` elements from `start` as T. Integers go through double, which holds their products
/// exactly.
template <class T>
void read_matrix(const Tile& t, std::int64_t start, std::int64_t count, bool tf32, T* out) {
  if (kernel::is_float(t.dtype)) {
    read_floats(t, start, count, out);
    if constexpr (std::is_same_v<T, float>) {
      if (tf32 && t.dtype == DType::kF32) drop_low_bits(out, count);
    }
    return;
  }
  std::int64_t chunk[kChunk];
  for_chunks(count, [&](std::int64_t at, std::int64_t n) {
    read_integers(t, start + at, n, chunk);
    for (std::int64_t i = 0; i < n; ++i) out[at + i] = static_cast<T>(chunk[i]);
  });
}

template <class T>
void write_matrix(Tile& t, std::int64_t start, std::int64_t count, const T* in) {
  if (kernel::is_float(t.dtype)) return write_floats(t, start, count, in);
  std::int64_t chunk[kChunk];
  for_chunks(count, [&](std::int64_t at, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) chunk[i] = static_cast<std::int64_t>(in[at + i]);
    write_integers(t, start + at, n, chunk);
  });
}

template <class T>
void multiply(const Tile& lhs, const Tile& rhs, const Tile& acc, const ProductOptions& o,
              Tile& out) {
  const std::size_t rank = out.shape.size();
  const std::int64_t m = out.shape[rank - 2], n = out.shape[rank - 1];
  const std::int64_t k = lhs.shape[rank - (o.lhs_transposed ? 2 : 1)];
  const std::int64_t batches = m * n == 0 ? 0 : out.count() / (m * n);
  static thread_local std::vector<T> lhs_values, rhs_values, sums;  // kept for their storage
  MatrixMap<T> a = matrix(lhs_values, o.lhs_transposed ? k : m, o.lhs_transposed ? m : k);
  MatrixMap<T> b = matrix(rhs_values, o.rhs_transposed ? n : k, o.rhs_transposed ? k : n);
  auto* storage = reinterpret_cast<T*>(dense_storage(out));
  const bool in_place = out.dtype == (std::is_same_v<T, float> ? DType::kF32 : DType::kF64);
  MatrixMap<T> held = matrix(sums, in_place ? 0 : m, n);
  for (std::int64_t i = 0; i < batches; ++i) {
    MatrixMap<T> c(in_place ? storage + i * m * n : held.data(), m, n);
    read_matrix(lhs, i * m * k, m * k, o.tf32, a.data());
    read_matrix(rhs, i * k * n, k * n, o.tf32, b.data());
    read_matrix(acc, i * m * n, m * n, false, c.data());
    if (o.lhs_transposed && o.rhs_transposed) {
      c.noalias() += a.transpose() * b.transpose();
    } else if (o.lhs_transposed) {
      c.noalias() += a.transpose() * b;
    } else if (o.rhs_transposed) {
      c.noalias() += a * b.transpose();
    } else {
      c.noalias() += a * b;
    }
    if (!in_place) write_matrix(out, i * m * n, m * n, c.data());
  }
}

}  // namespace

std::vector<float> operand_corner(const Tile& t, bool transposed, std::int64_t rows,
                                  std::int64_t columns) {
  if (is_unknown(t)) return {};
  std::vector<float> corner(static_cast<std::size_t>(rows * columns), 0);
  const std::int64_t length = t.shape.back(), lines = t.shape[t.shape.size() - 2];
  const std::int64_t width = std::min(length, transposed ? rows : columns);
  std::vector<float> line(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < std::min(lines, transposed ? columns : rows); ++i) {
    read_matrix(t, i * length, width, false, line.data());
    for (std::int64_t k = 0; k < width; ++k) {
      const std::int64_t at = transposed ? k * columns + i : i * columns + k;
      corner[static_cast<std::size_t>(at)] = line[static_cast<std::size_t>(k)];
    }
  }
  return corner;
}

void product(const Tile& lhs, const Tile& rhs, const Tile& acc, const ProductOptions& options,
             Tile& out) {
  if (is_unknown(lhs) || is_unknown(rhs) || is_unknown(acc)) {
    out.form = TileForm::kUnknown;
  } else if (kernel::is_float(out.dtype) && out.dtype != DType::kF64) {
    multiply<float>(lhs, rhs, acc, options, out);
  } else {
    multiply<double>(lhs, rhs, acc, options, out);
  }
}

}  // namespace xpusim::exec
