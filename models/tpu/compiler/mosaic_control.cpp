// scf.for and scf.if: vectors that they carry go through VMEM, scalars stay in scalar registers.

#include "models/tpu/compiler/mosaic_front.h"

namespace xpusim::tpu {

using kernel::Op;
using kernel::Value;

/// The buffer of a carried vector; kNoBuffer for a scalar.
std::uint16_t MosaicFront::carry(const Value& v) {
  if (v.type->kind != kernel::TypeKind::kVector) return kNoBuffer;
  const Element e = element_of(v.type->dtype);
  Buffer b;
  b.name = v.name.empty() ? "carried" : v.name;
  b.kind = BufferKind::kSpill;
  b.bytes = grid_of(extent(*v.type), e).count() * tile_bytes(e);
  plan_.program.buffers.push_back(b);
  return static_cast<std::uint16_t>(plan_.program.buffers.size() - 1);
}

ValueId MosaicFront::load_carried(std::uint16_t buffer, const Value& v) {
  const Element e = element_of(v.type->dtype);
  if (buffer == kNoBuffer) return build_.scalar(e);
  TileOp op;
  op.buffer = buffer;
  op.element = e;
  const VregGrid g = grid_of(extent(*v.type), e);
  op.pitch = g.cols;
  return build_.load(op, g);
}

void MosaicFront::store_carried(std::uint16_t buffer, const Value& from) {
  if (buffer == kNoBuffer) return;
  const Element e = element_of(from.type->dtype);
  TileOp op;
  op.kind = TileOp::Kind::kStore;
  op.buffer = buffer;
  op.element = e;
  op.grid = grid_of(extent(*from.type), e);
  op.pitch = op.grid.cols;
  op.operands[0] = get(from);
  build_.store(op);
}

void MosaicFront::yield_to(const kernel::Block& b, const std::vector<std::uint16_t>& carried) {
  const Op* last = b.ops.empty() ? nullptr : b.ops.back().get();
  if (!last || last->name() != "scf.yield") return;
  for (std::size_t i = 0; i < carried.size() && i < last->operands.size(); ++i) {
    store_carried(carried[i], *last->operands[i]);
  }
}

void MosaicFront::for_loop(const Op& o) {
  const kernel::Block& body = *o.regions[0]->blocks[0];
  std::vector<std::uint16_t> carried;
  for (std::size_t i = 0; i < o.results.size(); ++i) {
    carried.push_back(carry(*o.result(i)));
    store_carried(carried.back(), *o.operands[3 + i]);
  }
  TileOp loop;
  loop.kind = TileOp::Kind::kFor;
  const auto low = constant_of(*o.operands[0]), high = constant_of(*o.operands[1]),
             step = constant_of(*o.operands[2]);
  if (low && high && step && *step > 0) {
    loop.trips = *high > *low ? (*high - *low + *step - 1) / *step : 0;
  }
  loop.site = prepared_.site(o);
  loop.regions.resize(1);
  TileRegion* outer = build_.enter(&loop.regions[0]);
  const std::uint32_t line = build_.line();
  for (std::size_t i = 0; i < carried.size(); ++i) {
    set(*body.args[1 + i], load_carried(carried[i], *body.args[1 + i]));
  }
  block(body);
  yield_to(body, carried);
  build_.enter(outer);
  build_.at_line(line);
  build_.control(std::move(loop));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    set(*o.result(i), load_carried(carried[i], *o.result(i)));
  }
}

void MosaicFront::if_else(const Op& o) {
  std::vector<std::uint16_t> carried;
  for (const auto& r : o.results) carried.push_back(carry(*r));
  TileOp branch;
  branch.kind = TileOp::Kind::kIf;
  branch.site = prepared_.site(o);
  branch.regions.resize(o.regions.size());
  const std::uint32_t line = build_.line();
  for (std::size_t r = 0; r < o.regions.size(); ++r) {
    if (o.regions[r]->blocks.empty()) continue;
    TileRegion* outer = build_.enter(&branch.regions[r]);
    block(*o.regions[r]->blocks[0]);
    yield_to(*o.regions[r]->blocks[0], carried);
    build_.enter(outer);
  }
  build_.at_line(line);
  build_.control(std::move(branch));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    set(*o.result(i), load_carried(carried[i], *o.result(i)));
  }
}

}  // namespace xpusim::tpu
