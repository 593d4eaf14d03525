// Ops that move elements between lanes and sublanes.

#include "models/tpu/compiler/mosaic_front.h"

namespace xpusim::tpu {

using kernel::Op;

/// Along lanes through the XLU, along sublanes by the vector ALU's rotation; where the value is
/// several registers long in that direction, each result takes a part of its neighbour too.
void MosaicFront::rotate(const Op& o) {
  const ValueId v = get(*o.operands[0]);
  if (build_.is_uniform(v)) return set(*o.result(), v);
  const Element e = element(*o.result(), o);
  const auto rank = static_cast<std::int64_t>(o.result()->type->shape.size());
  const std::int64_t d = o.int_attr("dimension");
  if (d + 2 < rank) return refuse(o, "only the last two dimensions can be rotated");
  const bool lanes = d == rank - 1;
  const VregGrid g = build_.value(v).grid;
  ValueId turned = build_.compute(lanes ? Opcode::kVRotateLanes : Opcode::kVSublaneRotate, e, {v});
  if ((lanes ? g.cols : g.rows) > 1) turned = build_.compute(Opcode::kVSelect, e, {turned});
  set(*o.result(), turned);
}

/// Within a register: one instruction of the XLU picks each lane's element.
void MosaicFront::gather(const Op& o) {
  const ValueId v = get(*o.operands[0]), index = get(*o.operands[1]);
  if (!build_.is_uniform(v) && build_.value(v).grid.count() > 1) {
    return refuse(o, "only gathers within one register are modelled");
  }
  set(*o.result(), build_.compute(Opcode::kVRotateLanes, element(*o.result(), o), {v, index}));
}

/// Rows that lie apart: VMEM gives eight of them at once.
void MosaicFront::strided_load(const Op& o) {
  const Element e = element(*o.result(), o);
  const std::span<kernel::Value* const> indices = std::span(o.operands).subspan(1);
  std::optional<TileOp> op = access(o, *o.operands[0], indices, *o.result()->type);
  if (!op) return;
  op->unaligned = false;
  set(*o.result(), build_.load(*op, grid_of(extent(*o.result()->type), e)));
}

/// One element for the scalar unit. Its way there is not timed.
void MosaicFront::extract(const Op& o) {
  if (o.result()->type->is_shaped()) return refuse(o, "only single elements can be taken out");
  set(*o.result(), build_.scalar(element_of(o.result()->type->dtype)));
  build_.scalar_op(Opcode::kSMove, {}, get(*o.result()));
}

}  // namespace xpusim::tpu
