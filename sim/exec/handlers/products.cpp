// tt.dot, ttng.warp_group_dot and tpu.matmul.

#include "sim/exec/product.h"

#include <algorithm>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/shared.h"
#include "sim/exec/op_table.h"

namespace xpusim::exec {
namespace {

constexpr std::int64_t kLhsTransposed = 1, kRhsTransposed = 2,
                       kTensorFloat = 4;  // bits of `immediate`

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

Step multiply(Frame& f, const Instruction& in) {
  Tile& out = f.result(in);
  const std::uint64_t flops = product_flops(f, in);
  f.counts.flops += flops;
  f.counts.dot_flops += flops;
  Tile held[2];
  const Tile* operands[2];
  for (std::size_t k = 0; k < 2; ++k) {
    operands[k] = read_operand(f, in, k, held[k]);
    if (!operands[k]) return Step::kFail;
  }
  if (!f.wants(in)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  const ProductOptions options{(in.immediate & kLhsTransposed) != 0,
                               (in.immediate & kRhsTransposed) != 0,
                               (in.immediate & kTensorFloat) != 0};
  product(*operands[0], *operands[1], f.operand(in, 2), options, out);
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
  constexpr std::int64_t kTf32 = 0;
  in.immediate = op.int_attr("inputPrecision") == kTf32 ? kTensorFloat : 0;
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
    if (lhs[0] == rank - 2) in.immediate |= kLhsTransposed;
    if (rhs[0] == rank - 1) in.immediate |= kRhsTransposed;
  } else {
    if (op.int_attr("transpose_lhs") != 0) in.immediate |= kLhsTransposed;
    if (op.int_attr("transpose_rhs") != 0) in.immediate |= kRhsTransposed;
  }
  return check_shapes(op, in);
}

}  // namespace

void add_products(OpTable& table) {
  for (const auto* name : {"tt.dot", "ttng.warp_group_dot"}) {
    table.add({.name = name, .run = multiply, .pure = false, .prepare = prepare_dot});
  }
  table.add({.name = "tpu.matmul", .run = multiply, .pure = false, .prepare = prepare_matmul});
}

}  // namespace xpusim::exec
