// Memory that a Mosaic kernel handles itself: parts of memrefs, allocations, DMAs and semaphores.

#include "models/tpu/compiler/mosaic_front.h"

namespace xpusim::tpu {

using kernel::Op;

namespace {
constexpr std::size_t kCopyDevice = 4, kSignalDevice = 2;  // operands
constexpr const char* kAlone = "this goes to another chip, but the machine is one chip alone";
}  // namespace

/// A part of a memref: an offset, computed by the scalar unit.
void MosaicFront::slice(const Op& o) {
  buffers_[o.result()->id] = buffers_[o.operands[0]->id];
  for (std::size_t i = 1; i < o.operands.size(); ++i) {
    if (!constant_of(*o.operands[i])) {
      build_.scalar_op(Opcode::kSMul, {}, build_.scalar(Element::kI32));
    }
  }
}

void MosaicFront::control(TileOp::Kind kind) {
  TileOp op;
  op.kind = kind;
  build_.control(std::move(op));
}

/// A copy that the kernel starts itself: its descriptor is written to SMEM.
void MosaicFront::start_dma(const Op& o) {
  if (o.operand_of(kCopyDevice) && !joined_) return refuse(o, kAlone);
  constexpr int kDescriptorWords = 4;
  for (int i = 0; i < kDescriptorWords; ++i) build_.scalar_op(Opcode::kSStore, {}, kNoValue);
  control(TileOp::Kind::kStartDma);
}

void MosaicFront::wait_dma(const Op&) { control(TileOp::Kind::kWaitDma); }

/// A register of the core holds it.
void MosaicFront::device_id(const Op& o) {
  const ValueId result = build_.scalar(Element::kI32);
  set(*o.result(), result);
  build_.scalar_op(Opcode::kSMove, {}, result);
}

/// A semaphore that only the core itself counts up and down costs a scalar instruction each. Where
/// other chips may signal it, a wait is one for the outside, and a look at it has its own cycle.
void MosaicFront::semaphore(const Op& o) {
  const bool to_others = o.name() == "tpu.sem_signal" && o.operand_of(kSignalDevice) != nullptr;
  if (to_others && !joined_) return refuse(o, kAlone);
  if (to_others || (joined_ && o.name() == "tpu.sem_read")) control(TileOp::Kind::kSync);
  if (joined_ && o.name() == "tpu.sem_wait") return control(TileOp::Kind::kWaitSync);
  if (to_others) return;
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
