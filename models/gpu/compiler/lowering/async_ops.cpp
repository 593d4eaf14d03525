// Asynchronous copies from global to shared memory (cp.async), their groups and waits.

#include <algorithm>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/memory_vectors.h"
#include "models/gpu/compiler/lowering/shared_access.h"

namespace xpusim::gpu {
namespace {

std::string_view copy_mnemonic(std::uint32_t bytes) {
  return bytes == 16 ? "LDGSTS.E.BYPASS.128" : bytes == 8 ? "LDGSTS.E.64" : "LDGSTS.E";
}

/// Copies take the number of bytes to read in a register, 0 where the mask is off; the assembler
/// turns that into a predicate again: SEL, one more SEL for each condition that all threads share,
/// ISETP.
class CopyMasks {
 public:
  CopyMasks(Lowering& l, const kernel::Value& mask, std::uint32_t bytes)
      : l_(l), mask_(mask), bytes_(bytes) {
    const ValueState& s = l.state(mask);
    if (s.kind != ValueKind::kMask) return;
    for (const Comparison& c : s.comparisons) (is_shared(c) ? shared_ : own_).push_back(c);
  }

  VReg predicate(std::uint32_t of) {
    Builder& b = l_.builder();
    const ValueState& s = l_.state(mask_);
    const std::uint32_t reg = s.layout ? l_.same_register(mask_, *s.layout, of) : of;
    const bool closed = !shared_.empty() || !own_.empty();
    const VReg own = closed ? l_.predicate(own_, reg) : l_.predicate(mask_, reg);
    auto [slot, fresh] = known_.try_emplace(own, kNoVReg);
    if (!fresh) return slot->second;
    VReg bytes = b.value(Opcode::kAlu, "SEL", {own}, bytes_);
    for (const Comparison& c : shared_) {
      bytes = b.value(Opcode::kAlu, "SEL", {bytes, l_.predicate(std::span(&c, 1), reg)}, 1);
    }
    slot->second = b.predicate();
    b.emit(Opcode::kAlu, "ISETP", {slot->second}, {bytes}, 0);
    return slot->second;
  }

 private:
  static bool is_shared(const Comparison& c) {
    const auto scalar = [](const IndexForm& f) {
      return std::all_of(f.factors.begin(), f.factors.end(), [](auto x) { return x == 0; });
    };
    return scalar(c.left) && scalar(c.right);
  }

  Lowering& l_;
  const kernel::Value& mask_;
  std::uint32_t bytes_;
  std::vector<Comparison> shared_, own_;
  std::map<VReg, VReg> known_;
};

/// Before the first copy, and before the first that follows a barrier, the vendor's compiler places
/// three loads that are switched off (in all measured listings with cp.async for sm_90).
void switched_off_loads(Lowering& l) {
  constexpr int kLoads = 3;
  for (int n = 0; n < kLoads; ++n) {
    l.builder().emit(Opcode::kLds, "LDS", {}, {}, static_cast<std::uint32_t>(n)).effect =
        MemoryEffect::kBarrier;
  }
}

}  // namespace

bool lower_async_copy(Lowering& l, const kernel::Op& op) {
  Builder& b = l.builder();
  const kernel::Value& pointers = *op.operand_of(0);
  const kernel::Value* mask = op.operand_of(2);
  if (mask && kernel::integer_constant(*mask).value_or(0) != 0) mask = nullptr;
  Vectors v;
  if (!cut_access(l, op, pointers, mask, kAnyWidth, v)) return false;
  const BufferView view = l.state(*op.operand_of(1)).buffer;
  const auto access =
      SharedAccess::make(l, op, pointers.type, op.operand_of(1)->type, view, v.bytes);
  if (!access) return false;
  if (access->bytes() < v.bytes) {  // as wide as both sides allow
    const std::uint32_t elements = v.elements * access->bytes() / v.bytes;
    if (!cut_access(l, op, pointers, mask, elements, v)) return false;
  }
  const bool after_barrier = l.shared_plan().barrier_before(op);
  if (after_barrier) l.barrier();
  if (l.take_first_copy() || after_barrier) switched_off_loads(l);
  std::map<std::uint32_t, const SharedAccess::Vector*> to;
  for (const auto& vector : access->vectors()) to[vector.registers[0]] = &vector;
  std::map<VReg, VReg> addresses;
  const std::uint32_t lanes = l.add_shared_lanes(access->lanes());
  std::optional<CopyMasks> masks;
  if (mask) masks.emplace(l, *mask, v.bytes);
  for (std::uint32_t n = 0; n < v.first.size(); ++n) {
    const Address from = address(l, pointers, v.first[n]);
    const auto target = to.find(v.first[n]);
    if (target == to.end()) return l.error(op, "the layouts cut a copy into different vectors");
    auto [at, fresh] = addresses.try_emplace(target->second->address, kNoVReg);
    if (fresh) {
      at->second = b.value(Opcode::kAlu, "IADD3", {target->second->address, access->base(l)});
    }
    const VReg predicate = masks ? masks->predicate(v.first[n]) : kNoVReg;
    const VReg descriptor = l.descriptor();
    MachineInstruction& i = b.emit(Opcode::kLdgsts, copy_mnemonic(v.bytes), {},
                                   {at->second, from.low, from.high, descriptor, predicate},
                                   static_cast<std::uint32_t>(from.immediate));
    i.effect = MemoryEffect::kBarrier;
    i.site = l.site(op);
    i.copy = static_cast<std::uint16_t>(l.copy.number);
    i.vector = static_cast<std::uint16_t>(n);
    i.width = static_cast<std::uint16_t>(v.bytes);
    i.extra_passes = access->extra_passes();
    i.shared_lanes = lanes;
    i.shared_offset = target->second->offset;
  }
  return true;
}

bool lower_commit_group(Lowering& l, const kernel::Op&) {
  l.builder().emit(Opcode::kLdgdepbar, "LDGDEPBAR", {}, {}).effect = MemoryEffect::kBarrier;
  return true;
}

/// A warp waits for its own copies; the barrier after it makes all warps' copies visible.
bool lower_async_wait(Lowering& l, const kernel::Op& op) {
  MachineInstruction& i = l.builder().emit(Opcode::kDepbar, "DEPBAR.LE", {}, {});
  i.pending = static_cast<std::uint8_t>(std::min<std::int64_t>(255, op.int_attr("num")));
  i.effect = MemoryEffect::kBarrier;
  l.barrier();
  return true;
}

}  // namespace xpusim::gpu
