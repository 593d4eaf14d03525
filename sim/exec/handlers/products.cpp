// tt.dot, ttng.warp_group_dot and tpu.matmul.

#include "sim/exec/product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/shared.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

constexpr std::int64_t kLhsTransposed = 1, kRhsTransposed = 2, kTensorFloat = 4,
                       kOnePass = 8;  // bits of `immediate`

constexpr std::size_t kUseAccumulator = 3;  // of ttng.warp_group_dot: false begins at zero

void set_zero(Tile& t, const Tile& like) {
  t.shape = like.shape;
  t.dtype = like.dtype;
  kernel::is_float(t.dtype) ? set_float(t, 0) : set_integer(t, 0);
}

/// Two operations an element of the product, but for the part of either operand that masks left
/// out.
std::uint64_t product_flops(Frame& f, const Instruction& in) {
  const Tile& out = f.result(in);
  const Tile& lhs = f.operand(in, 0);
  const std::size_t rank = out.shape.size();
  const std::int64_t k = lhs.shape[rank - ((in.immediate & kLhsTransposed) != 0 ? 2 : 1)];
  double part = 1;
  for (std::size_t o = 0; o < 2; ++o) {
    const std::int64_t count = f.operand(in, o).count();
    if (count > 0)
      part =
          std::min(part, static_cast<double>(f.live[f.slot(in, o)]) / static_cast<double>(count));
  }
  return static_cast<std::uint64_t>(2.0 * part * static_cast<double>(out.count()) *
                                    static_cast<double>(k));
}

/// f32 rounded to bf16.
const Tile* narrowed(const Tile& t, Tile& held) {
  Tile half;
  half.shape = t.shape;
  half.dtype = DType::kBF16;
  convert_float(t, half);
  held = std::move(half);
  return &held;
}

Step multiply(Frame& f, const Instruction& in) {
  Tile& out = f.result(in);
  const std::uint64_t flops = product_flops(f, in);
  f.counts.flops += flops;
  f.counts.dot_flops += flops;
  const Tile* operands[2];
  for (std::size_t k = 0; k < 2; ++k) {
    operands[k] = read_operand(f, in, k, f.held[k]);
    if (!operands[k]) return Step::kFail;
  }
  if (!f.wants(in)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  if ((in.immediate & kOnePass) != 0) {
    for (std::size_t k = 0; k < 2; ++k) {
      if (operands[k]->dtype == DType::kF32) operands[k] = narrowed(*operands[k], f.held[k]);
    }
  }
  const ProductOptions options{(in.immediate & kLhsTransposed) != 0,
                               (in.immediate & kRhsTransposed) != 0,
                               (in.immediate & kTensorFloat) != 0};
  if (f.products) f.products->product(*in.op, *operands[0], *operands[1], options);
  Tile none;
  const bool starts_anew = f.has(in, kUseAccumulator) && f.operand(in, kUseAccumulator).bits == 0;
  if (starts_anew) set_zero(none, out);
  product(*operands[0], *operands[1], starts_anew ? none : f.operand(in, 2), options, out);
  return Step::kNext;
}

std::string_view check_shapes(const kernel::Op& op, const Instruction& in) {
  const auto& a = op.operands[0]->type->shape;
  const auto& b = op.operands[1]->type->shape;
  const auto& c = op.result()->type->shape;
  const std::size_t rank = c.size();
  if (rank < 2 || a.size() != rank || b.size() != rank) return "operands and result differ in rank";
  const bool lt = (in.immediate & kLhsTransposed) != 0, rt = (in.immediate & kRhsTransposed) != 0;
  const bool fits = a[rank - (lt ? 1 : 2)] == c[rank - 2] &&
                    b[rank - (rt ? 2 : 1)] == c[rank - 1] &&
                    a[rank - (lt ? 2 : 1)] == b[rank - (rt ? 1 : 2)];
  return fits ? "" : "the shapes of its operands do not fit";
}

std::string_view prepare_dot(const kernel::Op& op, Instruction& in) {
  constexpr std::int64_t kTf32 = 0, kIeee = 2;  // IEEE where the text leaves it out
  in.immediate = op.int_attr("inputPrecision", kIeee) == kTf32 ? kTensorFloat : 0;
  return check_shapes(op, in);
}

/// #tpu.dot_dimension_numbers<[contracting lhs], [contracting rhs], ...>
std::string_view prepare_matmul(const kernel::Op& op, Instruction& in) {
  const kernel::Attr numbers = op.attr("dimension_numbers");
  const auto rank = static_cast<std::int64_t>(op.result()->type->shape.size());
  if (numbers && numbers->elements.size() >= 2) {
    const auto lhs = numbers->elements[0]->int_list(), rhs = numbers->elements[1]->int_list();
    if (lhs.size() != 1 || rhs.size() != 1)
      return "a product over several dimensions is not supported";
    if (lhs[0] < rank - 2 || rhs[0] < rank - 2) {
      return "only products over one of the last two dimensions are supported";
    }
    if (lhs[0] == rank - 2) in.immediate |= kLhsTransposed;
    if (rhs[0] == rank - 1) in.immediate |= kRhsTransposed;
  } else {
    if (op.int_attr("transpose_lhs") != 0) in.immediate |= kLhsTransposed;
    if (op.int_attr("transpose_rhs") != 0) in.immediate |= kRhsTransposed;
  }
  // The matrix unit multiplies f32 in one pass of bf16, unless it is told to take several: three
  // (bf16x3) and six (fp32) keep nearly or all of f32, and are taken as exact.
  const kernel::Attr precision = op.attr("precision");
  if (!precision || precision->body == "bf16") in.immediate |= kOnePass;
  return check_shapes(op, in);
}

/// An operand of tt.dot_scaled, each of whose blocks of 32 elements along K has an exponent of its
/// own (E8M0: 2^(bits - 127), 255 is NaN). `k_last`: K is the last dimension, and of the scales it
/// always is.
Tile scaled(const Tile& values, const Tile* scale, bool k_last) {
  constexpr std::int64_t kBlock = 32;
  Tile out;
  out.shape = values.shape;
  out.dtype = DType::kF32;
  const std::size_t rank = out.shape.size();
  const std::int64_t rows = out.shape[rank - 2], columns = out.shape[rank - 1];
  auto* to = reinterpret_cast<float*>(dense_storage(out));
  read_floats(values, 0, values.count(), to);
  if (!scale) return out;
  const std::int64_t blocks = (k_last ? columns : rows) / kBlock;
  std::vector<std::int64_t> exponents(static_cast<std::size_t>(scale->count()));
  read_integers(*scale, 0, scale->count(), exponents.data());
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::int64_t batch = i / (rows * columns), r = i / columns % rows, c = i % columns;
    const std::int64_t at = k_last ? (batch * rows + r) * blocks + c / kBlock
                                   : (batch * columns + c) * blocks + r / kBlock;
    const auto bits = static_cast<std::uint8_t>(exponents[static_cast<std::size_t>(at)]);
    to[i] = bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(to[i], bits - 127);
  }
  return out;
}

/// a, b, c, scale of a?, scale of b?.
Step multiply_scaled(Frame& f, const Instruction& in) {
  Tile& out = f.result(in);
  const std::uint64_t flops = product_flops(f, in);
  f.counts.flops += flops;
  f.counts.dot_flops += flops;
  bool known = f.wants(in);
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    known = known && !(f.has(in, k) && is_unknown(f.operand(in, k)));
  }
  if (!known) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  const Tile a = scaled(f.operand(in, 0), f.has(in, 3) ? &f.operand(in, 3) : nullptr, true);
  const Tile b = scaled(f.operand(in, 1), f.has(in, 4) ? &f.operand(in, 4) : nullptr, false);
  product(a, b, f.operand(in, 2), {}, out);
  return Step::kNext;
}

std::string_view prepare_scaled(const kernel::Op& op, Instruction& in) {
  for (std::size_t k = 0; k < 2; ++k) {
    if (!kernel::is_float(op.operands[k]->type->dtype)) return "packed elements are not supported";
  }
  for (std::size_t k = 3; k < op.segments.size(); ++k) {
    if (op.segments[k] == 0) continue;
    const auto& scale = op.operand_of(k)->type->shape;
    const auto& values = op.operands[k - 3]->type->shape;
    const std::size_t rank = values.size();
    const bool k_last = k == 3;
    const bool fits = scale.size() == rank && rank >= 2 &&
                      scale[rank - 1] * 32 == values[k_last ? rank - 1 : rank - 2] &&
                      scale[rank - 2] == values[k_last ? rank - 2 : rank - 1];
    if (!fits) return "a scale for each 32 elements along K is needed";
  }
  return check_shapes(op, in);
}

}  // namespace

void add_products(OpTable& table) {
  for (const auto* name : {"tt.dot", "ttng.warp_group_dot"}) {
    table.add({.name = name, .run = multiply, .pure = false, .prepare = prepare_dot});
  }
  table.add(
      {.name = "tt.dot_scaled", .run = multiply_scaled, .pure = false, .prepare = prepare_scaled});
  table.add({.name = "tpu.matmul", .run = multiply, .pure = false, .prepare = prepare_matmul});
}

}  // namespace xpusim::exec
