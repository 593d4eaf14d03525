// Atomics of a Triton program on the TPU, which has none: the grid steps of a core run in order, so
// that kernels with such run on one core, and an atomic is a load and a store.

#include <algorithm>

#include "models/tpu/compiler/triton_front.h"

namespace xpusim::tpu {

using kernel::Op;
using kernel::Value;

void TritonFront::atomic(const Op& o) {
  if (values_.is_needed(*o.result())) {
    return refuse(o, "a TPU has no atomics; that of one whose result is used is not modelled");
  }
  if (loops_ + branches_ > 0) {
    return refuse(o, "a TPU has no atomics; those in loops and branches are not modelled");
  }
  plan_.one_core = true;
  if (o.operands[0]->type->is_shaped()) return scatter(o);
  if (is_gather(o)) {
    return refuse(o, "a TPU has no atomics; one number at a loaded address is not modelled");
  }
  auto in = place(o, o.operands[1]->type, false);
  auto out = in ? place(o, o.operands[1]->type, true) : std::nullopt;
  if (!out) return;
  const Element e = element_of(o.operands[1]->type->dtype);
  TileOp load;
  load.buffer = in->buffer;
  load.element = e;
  const ValueId sum =
      build_.compute(Opcode::kVAdd, e, {build_.load(load, {1, 1}), get(*o.operands[1], o)});
  TileOp store;
  store.kind = TileOp::Kind::kStore;
  store.buffer = out->buffer;
  store.element = e;
  store.ragged_cols = true;
  store.operands[0] = sum;
  build_.store(store);
}

/// Atomics at many addresses, which may be the same: one element after the other by the scalar
/// unit, on a tensor that is in SMEM from the first step to the last. The indices are taken to be
/// there too, where their window's DMA brings them.
void TritonFront::scatter(const Op& o) {
  const Value& value = *o.operands[1];
  const Element e = element(value, o);
  if (e != Element::kI32 && e != Element::kF32) {
    return refuse(o, "SMEM holds words of 32 bits, those of atomics on others are not modelled");
  }
  Place table;
  table.whole = true;
  if (tensor_of(*o.operands[0]) >= launch_.args.size()) {
    return refuse(o, "which tensor it points into is not known before it runs");
  }
  for (const bool output : {false, true}) add_window(o, table, output);
  TileOp loop;
  loop.kind = TileOp::Kind::kFor;
  loop.trips = value.type->count();
  loop.regions.resize(1);
  TileRegion* outer = build_.enter(&loop.regions[0]);
  const auto then = [&](Opcode opcode, std::vector<ValueId> operands) {
    const ValueId made = build_.scalar(e);
    build_.scalar_op(opcode, operands, made);
    return made;
  };
  ValueId at = then(Opcode::kSLoad, {});
  for (std::int64_t n = pointer_ops(*o.operands[0]); n > 0; --n) at = then(Opcode::kSAdd, {at});
  if (o.operands.size() > 2) at = then(Opcode::kSSelect, {then(Opcode::kSCompare, {}), at});
  const ValueId old = then(Opcode::kSLoad, {at});
  std::vector<ValueId> both = {old};
  if (!build_.is_uniform(get(value, o))) both.push_back(then(Opcode::kSMove, {}));  // out of a lane
  build_.scalar_op(Opcode::kSStore, std::vector{then(Opcode::kSAdd, both)}, kNoValue);
  build_.enter(outer);
  build_.control(std::move(loop));
}

}  // namespace xpusim::tpu
