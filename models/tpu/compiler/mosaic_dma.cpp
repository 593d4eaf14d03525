// Memory that a Mosaic kernel handles itself: parts of memrefs, allocations, DMAs and semaphores.

#include "models/tpu/compiler/mosaic_front.h"

namespace xpusim::tpu {

using kernel::Op;

/// A part of a memref: an offset, computed by the scalar unit.
void MosaicFront::slice(const Op& o) {
  buffers_[o.result()->id] = buffers_[o.operands[0]->id];
  for (std::size_t i = 1; i < o.operands.size(); ++i) {
    if (!constant_of(*o.operands[i])) {
      build_.scalar_op(Opcode::kSMul, {}, build_.scalar(Element::kI32));
    }
  }
}

/// A copy that the kernel starts itself: its descriptor is written to SMEM.
void MosaicFront::start_dma(const Op& o) {
  if (o.operand_of(4)) return refuse(o, "copies to other chips are not modelled");
  constexpr int kDescriptorWords = 4;
  for (int i = 0; i < kDescriptorWords; ++i) build_.scalar_op(Opcode::kSStore, {}, kNoValue);
  TileOp op;
  op.kind = TileOp::Kind::kStartDma;
  build_.control(std::move(op));
}

void MosaicFront::wait_dma(const Op&) {
  TileOp op;
  op.kind = TileOp::Kind::kWaitDma;
  build_.control(std::move(op));
}

/// A semaphore of the core's own, which only the core itself counts up and down: a scalar
/// instruction each.
void MosaicFront::semaphore(const Op& o) {
  const ValueId result = o.results.empty() ? kNoValue : build_.scalar(Element::kI32);
  if (result != kNoValue) set(*o.result(), result);
  build_.scalar_op(result == kNoValue ? Opcode::kSStore : Opcode::kSLoad, {}, result);
}

/// VMEM for the rest of the kernel.
void MosaicFront::allocate(const Op& o) {
  const kernel::Value& memref = *o.result();
  const kernel::Attr space = memref.type->memory_space;
  if (!space || space->text.find("vmem") == std::string::npos) return;
  add_buffer(memref, extent(*memref.type), element(memref, o), BufferKind::kScratch, 1);
}

/// A region only bounds what lives in it.
void MosaicFront::region(const Op& o) {
  const kernel::Block& body = *o.regions[0]->blocks[0];
  block(body);
  for (std::size_t i = 0; i < o.results.size(); ++i) {
    set(*o.result(i), get(*body.ops.back()->operands[i]));
  }
}

}  // namespace xpusim::tpu
