// tpu.matmul and tpu.transpose.

#include <fmt/format.h>

#include "models/tpu/compiler/matmul_code.h"
#include "models/tpu/compiler/mosaic_front.h"

namespace xpusim::tpu {

using kernel::Op;
using kernel::Value;

namespace {

/// The dimension over which a product sums, of its first (0) or second (1) operand; -1 where it is
/// not one.
std::int64_t summed_dimension(const Op& o, std::size_t operand) {
  const kernel::Attr numbers = o.attr("dimension_numbers");
  if (!numbers || numbers->elements.size() < 2) {
    const bool transposed = o.int_attr(operand == 0 ? "transpose_lhs" : "transpose_rhs") != 0;
    const auto rank = static_cast<std::int64_t>(o.result()->type->shape.size());
    return rank - ((operand == 0) == transposed ? 2 : 1);
  }
  const auto dims = numbers->elements[operand]->int_list();
  return dims.size() == 1 ? dims[0] : -1;
}

/// Products of bf16 numbers that make one of f32 numbers: each is split in two (bf16x3) or three
/// parts (fp32), and the smallest products are left out.
std::int64_t passes_of(const Op& o) {
  const kernel::Attr precision = o.attr("precision");
  if (!precision || precision->body == "bf16") return 1;
  return precision->body == "bf16x3" ? 3 : 6;
}

}  // namespace

void MosaicFront::matmul(const Op& o) {
  const Value &lhs = *o.operands[0], &rhs = *o.operands[1], &acc = *o.operands[2];
  const auto rank = static_cast<std::int64_t>(o.result()->type->shape.size());
  if (rank < 2 || rank > 3) return refuse(o, "batches of more than one dimension are not modelled");
  const Element from = element(lhs, o), weights = element(rhs, o);
  if (const std::string why = refuse_elements(core_.mxu, from, weights); !why.empty()) {
    return refuse(o, why);
  }
  const std::int64_t lhs_dim = summed_dimension(o, 0), rhs_dim = summed_dimension(o, 1);
  if (lhs_dim < 0 || rhs_dim < 0) return refuse(o, "a product over several dimensions");
  const auto factor = [&](const Value& v, Element e) {
    const ValueId id = get(v);
    const VregGrid whole = grid_of(extent(*v.type), e);
    if (build_.is_uniform(id)) return build_.generate(Opcode::kVMove, e, whole);
    if (const std::string why = refuse_registers(build_.value(id), whole); !why.empty()) {
      refuse(o, why);
    }
    return id;
  };
  ValueId rows = factor(lhs, from);
  const ValueId columns = factor(rhs, weights);
  if (problems_.has_errors()) return;
  const auto& shape = lhs.type->shape;
  const std::int64_t depth = shape[static_cast<std::size_t>(lhs_dim)];
  if (lhs_dim == rank - 2) {
    if (rank == 3) return refuse(o, "a transposed first factor in batches is not modelled");
    rows = build_.transpose(from, vreg_grid(shape[1], shape[0], from), rows);
  }
  TileOp op;
  const Element to = element(*o.result(), o);
  cover(extent(*o.result()->type), to, op);
  op.operands = {rows, columns, kNoValue};
  op.transposed = rhs_dim == rank - 1;
  if (rank == 3) op.batches = shape[0];
  op.ragged_depth = depth % kLanes != 0;
  if (from == Element::kF32 && weights == Element::kF32) op.passes = passes_of(o);
  ValueId product = build_.matmul(to, std::move(op));
  if (!build_.is_constant(get(acc)))
    product = build_.compute(Opcode::kVAdd, to, {product, get(acc)});
  set(*o.result(), product);
}

void MosaicFront::transpose(const Op& o) {
  const Value& from = *o.operands[0];
  const kernel::Attr order = o.attr("permutation");
  if (from.type->shape.size() != 2 ||
      (order && order->int_list() != std::vector<std::int64_t>{1, 0})) {
    return refuse(o, "only the transpose of a matrix is modelled");
  }
  const Element e = element(from, o);
  if (is_8bit(e)) return refuse(o, "transposes of 8-bit elements are not modelled");
  set(*o.result(), build_.transpose(e, grid_of(extent(*o.result()->type), e), get(from)));
}

}  // namespace xpusim::tpu
