// tt.dot on the matrix units.

#include "models/tpu/compiler/matmul_code.h"
#include "models/tpu/compiler/triton_front.h"

namespace xpusim::tpu {

using kernel::Op;
using kernel::Value;

namespace {

/// bf16 products that make one of f32 numbers: what the vendor's 19-bit floats hold takes the three
/// of bf16x3, exact ones six.
std::int64_t passes_of(const Op& o) {
  const kernel::Attr precision = o.attr("inputPrecision");
  constexpr std::int64_t kIeee = 2;  // as the reader numbers tf32, tf32x3, ieee
  return precision && precision->integer == kIeee ? 6 : 3;
}

}  // namespace

/// The second factor may lie as [N, K]: the matrix unit takes weights either way.
void TritonFront::dot(const Op& o) {
  const Value &lhs = *o.operands[0], &rhs = *o.operands[1], &acc = *o.operands[2];
  if (o.result()->type->shape.size() != 2) return refuse(o, "products in batches are not modelled");
  const Element from = element(lhs, o), to = element(*o.result(), o);
  if (problems_.has_errors()) return;
  if (const std::string why = refuse_elements(core_.mxu, from, element(rhs, o)); !why.empty()) {
    return refuse(o, why);
  }
  const auto factor = [&](const Value& v, Layout layout) {
    const ValueId id = get(v, o, layout);
    const Element e = element(v, o);
    const VregGrid whole = grid_of(*v.type, layout, e);
    if (build_.is_uniform(id)) return build_.generate(Opcode::kVMove, e, whole);
    if (const std::string why = refuse_registers(build_.value(id), whole); !why.empty()) {
      refuse(o, why);
    }
    return id;
  };
  get(rhs, o);
  TileOp op;
  op.transposed = known(rhs).layout == Layout::kTransposed;
  op.operands = {factor(lhs, Layout::kTiled),
                 factor(rhs, op.transposed ? Layout::kTransposed : Layout::kTiled), kNoValue};
  if (problems_.has_errors()) return;
  const auto& shape = o.result()->type->shape;
  op.grid = grid_of(*o.result()->type, Layout::kTiled, to);
  op.ragged_rows = shape[0] % kSublanes != 0;
  op.ragged_cols = shape[1] % kLanes != 0;
  op.ragged_depth = lhs.type->shape[1] % kLanes != 0;
  if (from == Element::kF32) op.passes = passes_of(o);
  ValueId product = build_.matmul(to, std::move(op));
  const ValueId before = get(acc, o, Layout::kTiled);
  if (!build_.is_constant(before)) product = build_.compute(Opcode::kVAdd, to, {product, before});
  known(*o.result()) = {product, Layout::kTiled};
}

}  // namespace xpusim::tpu
