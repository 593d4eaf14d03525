// Tensor maps that a block writes: 128 bytes put together in shared memory by its first thread,
// copied to the block's scratch memory, and fenced before a copy uses them. No listing of one has
// been measured: each field counts as one store to shared memory. Left out: the 128 bytes' way to
// memory and back (the SM's first copy waits for a descriptor, see core/tma.h).

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/tma_values.h"

namespace xpusim::gpu {
namespace {

constexpr std::int64_t kMapBytes = 128;
constexpr std::uint32_t kWord = 4;

MachineInstruction& access(Lowering& l, Opcode op, std::string_view mnemonic, VReg value,
                           std::uint32_t at) {
  MachineInstruction& i = l.builder().emit(op, mnemonic, {}, {l.shared_base(), value}, at);
  i.active_warps = 1;
  i.width = kWord;
  i.effect = op == Opcode::kLds ? MemoryEffect::kSharedLoad : MemoryEffect::kSharedStore;
  return i;
}

}  // namespace

/// Pointers to a place of the block's own, behind a hidden parameter.
bool lower_scratch(Lowering& l, const kernel::Op& op) {
  ScalarGraph& s = l.scalars();
  const auto bytes = std::max<std::int64_t>(1, op.int_attr("nbytes", kMapBytes));
  ValueState& to = l.state(*op.result());
  to.kind = ValueKind::kPointer;
  to.bytes = 1;
  to.index.offset = l.tma.scratch;
  to.base = s.pointer_add(s.parameter(l.parameter_count()), s.program_id(0), bytes);
  l.tma.scratch += bytes;
  return true;
}

/// desc_ptr, global_address, box*, sizes*, strides*, element strides*; and five constant fields.
bool lower_tensormap_create(Lowering& l, const kernel::Op& op) {
  constexpr std::uint32_t kConstantFields = 5;  // rank, element type, interleave, swizzle, fill
  l.use_shared(kMapBytes);
  if (l.take_shared_dirty()) l.barrier();
  Builder& b = l.builder();
  access(l, Opcode::kSts, "STS", b.constant(0), 0);
  std::uint32_t at = 0;
  auto write = [&](VReg value) {
    const VReg first = first_thread(l, nullptr);
    MachineInstruction& i = access(l, Opcode::kSts, "STS", value, at += kWord);
    i.active_lanes = 1;
    i.guard = first;
  };
  const Address tensor = address(l, *op.operands[1], 0);
  write(tensor.low);
  for (std::size_t n = 2; n < op.operands.size(); ++n) {
    write(l.in_register(l.elements(*op.operands[n])[0]));
  }
  for (std::uint32_t n = 0; n < kConstantFields; ++n) write(b.constant(n));
  const VReg word = b.general();
  access(l, Opcode::kLds, "LDS", kNoVReg, 0).defs.push_back(word);
  MachineInstruction& fence = b.emit(Opcode::kMembar, "MEMBAR.ALL.GPU", {}, {word});
  fence.effect = MemoryEffect::kBarrier;
  return true;
}

/// One warp's fence; the others meet it.
bool lower_tensormap_acquire(Lowering& l, const kernel::Op&) {
  l.builder().emit(Opcode::kUniform, "UTMACCTL.IV", {}, {}).effect = MemoryEffect::kBarrier;
  l.barrier();
  return true;
}

/// The descriptor is the pointer.
bool lower_reinterpret_descriptor(Lowering& l, const kernel::Op& op) {
  l.state(*op.result()) = l.operand(op, 0);
  l.state(*op.result()).alias = true;
  return true;
}

}  // namespace xpusim::gpu
