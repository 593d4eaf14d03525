// Copies by TMA between tensors that descriptors describe and shared memory, and the waits for
// those that leave it. One elected lane of each warp that has a part of the box gives the engine
// the descriptor's address, the place in shared memory and the coordinates, all in uniform
// registers; a warp that is alone in its group elects nobody and takes all parts in turn. Left out:
// the turns of warps of which there are several, and that each part is a copy of its own (the
// first instruction stands for the whole box).

#include <algorithm>
#include <array>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/tma_values.h"

namespace xpusim::gpu {
namespace {

constexpr std::int64_t kLargestBox = 256;  ///< elements along a dimension

/// How a block is cut into boxes: rows as wide as the swizzle, at most 256 elements a dimension.
struct Boxes {
  std::uint32_t parts = 1;
  std::uint32_t warps = 1;  ///< that have a part
  std::uint32_t bytes = 0;  ///< of a part
  Boxes(const kernel::Type buffer, int num_warps) {
    const std::int64_t size = kernel::byte_size(buffer->dtype);
    const kernel::Attr width =
        buffer->encoding ? buffer->encoding->get("swizzlingByteWidth") : nullptr;
    std::int64_t count = 1, elements = 1;
    for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
      std::int64_t most = kLargestBox;
      const bool innermost = d + 1 == buffer->shape.size();
      if (innermost && width && width->integer > 0) most = width->integer / size;
      const std::int64_t box = std::min(most, buffer->shape[d]);
      count *= (buffer->shape[d] + box - 1) / box;
      elements *= box;
    }
    parts = static_cast<std::uint32_t>(count);
    warps = static_cast<std::uint32_t>(std::min<std::int64_t>(count, num_warps));
    bytes = static_cast<std::uint32_t>(elements * size);
  }
};

/// The number of the warp among those that have a part of a box.
VReg part_number(Lowering& l, const Boxes& boxes) {
  auto [slot, fresh] = l.tma.part_numbers.try_emplace(boxes.warps, kNoVReg);
  if (fresh) {
    if (l.tma.warp == kNoVReg) {
      const VReg warp = l.builder().value(Opcode::kAlu, "SHF.R.U32.HI", {l.index_math().tid()}, 5);
      l.tma.warp = to_uniform(l, warp, kNoVReg);
    }
    slot->second = uniform_value(l, "ULOP3", {l.tma.warp}, boxes.warps - 1);
  }
  return slot->second;
}

/// A predicate of one lane of each warp that has a part of the box.
VReg elect(Lowering& l, const Boxes& boxes, const kernel::Value* condition) {
  Builder& b = l.builder();
  const VReg elected = b.predicate();
  b.emit(Opcode::kAlu, "ELECT", {elected}, {});
  const VReg wanted = and_condition(l, condition, elected);
  b.emit(Opcode::kAlu, "ISETP.LT.U32", {elected}, {l.index_math().tid(), wanted},
         boxes.warps * kWarpLanes);
  return elected;
}

/// The address of a descriptor: a place among the parameters, or a pointer.
std::pair<VReg, VReg> descriptor_address(Lowering& l, const kernel::Value& value, VReg guard) {
  const kernel::Value& descriptor = kernel::source_of(value);
  Builder& b = l.builder();
  std::pair<VReg, VReg> from;
  std::int64_t offset = descriptor.index;
  if (l.is_parameter(descriptor)) {
    if (l.tma.parameters.first == kNoVReg) {
      l.tma.parameters = {b.general(), b.general()};
      b.code().tie({l.tma.parameters.first, l.tma.parameters.second});
      b.emit(Opcode::kLdc, "LDC.64", {l.tma.parameters.first, l.tma.parameters.second}, {},
             kParameterAddress);
    }
    from = l.tma.parameters;
  } else {
    const Address at = address(l, descriptor, 0);
    from = {at.low, at.high};
    offset = at.immediate;
  }
  const VReg low = b.general(), high = b.general();
  b.emit(Opcode::kAlu, "IADD3.CO", {low}, {from.first}, static_cast<std::uint32_t>(offset)).guard =
      guard;
  b.emit(Opcode::kAlu, "IADD3.X", {high}, {from.second, low}).guard = guard;
  return {low, high};
}

/// A descriptor's address on the uniform datapath; each half goes there, back and there again.
std::pair<VReg, VReg> uniform_descriptor(Lowering& l, const kernel::Value& descriptor, VReg guard) {
  const auto [low, high] = descriptor_address(l, descriptor, guard);
  auto move = [&](VReg half) {
    return to_uniform(l, l.builder().move(to_uniform(l, half, guard)), guard);
  };
  const VReg first = move(low);
  return {first, move(high)};
}

/// A coordinate in a uniform register of the copy's own: the first copy that wants a value may have
/// the value's.
VReg coordinate(Lowering& l, const kernel::Value& value) {
  if (const auto c = kernel::integer_constant(value)) {
    return uniform_value(l, "UMOV", {}, static_cast<std::uint32_t>(*c));
  }
  const ValueState& s = l.state(value);
  VReg from =
      s.kind == ValueKind::kIndex ? l.uniform(s.index) : l.in_register(l.elements(value)[0]);
  if (l.builder().code().registers[from] != RegFile::kUniform) {
    from = to_uniform(l, from, kNoVReg);
  }
  return l.tma.placed.insert(from).second ? from : uniform_value(l, "UMOV", {from}, 1);
}

/// The coordinates, innermost first; each warp's part begins at one of its own.
VRegList coordinates(Lowering& l, std::span<kernel::Value* const> values, const Boxes& boxes) {
  VRegList all;
  for (std::size_t n = values.size(); n-- > 0;) {
    VReg c = coordinate(l, *values[n]);
    if (all.empty() && boxes.warps > 1) c = uniform_value(l, "ULEA", {c, part_number(l, boxes)});
    all.push_back(c);
  }
  return all;
}

/// Where a warp's part of a box lies in shared memory.
UniformAddress part_address(Lowering& l, const BufferView& view, const Boxes& boxes) {
  UniformAddress at = address_of(l, view);
  if (boxes.warps > 1)
    at.base = uniform_value(l, "ULEA", {at.base, part_number(l, boxes)}, boxes.bytes);
  return at;
}

constexpr std::array<std::string_view, 6> kLoads = {"UTMALDG",    "UTMALDG.1D", "UTMALDG.2D",
                                                    "UTMALDG.3D", "UTMALDG.4D", "UTMALDG.5D"};
constexpr std::array<std::string_view, 6> kStores = {"UTMASTG",    "UTMASTG.1D", "UTMASTG.2D",
                                                     "UTMASTG.3D", "UTMASTG.4D", "UTMASTG.5D"};
constexpr std::array<std::string_view, 6> kReductions = {
    "UTMAREDG", "UTMAREDG.1D", "UTMAREDG.2D", "UTMAREDG.3D", "UTMAREDG.4D", "UTMAREDG.5D"};

MachineInstruction& copy_box(Lowering& l, const kernel::Op& op, std::string_view mnemonic,
                             std::initializer_list<VReg> uses, const VRegList& more) {
  MachineInstruction& i = l.builder().emit(Opcode::kUtma, mnemonic, {}, uses);
  i.uses.insert(i.uses.end(), more.begin(), more.end());
  i.effect = MemoryEffect::kBarrier;
  i.active_warps = 1;
  i.active_lanes = 1;
  i.site = l.site(op);
  l.site_layout(i.site);
  return i;
}

/// Whether a copy is the work of one warp that is alone in its group, and of a descriptor among the
/// parameters: then nothing leaves the uniform datapath.
bool is_alone(const Lowering& l, const kernel::Op& op) {
  return l.groups().specialize && l.num_warps() == 1 &&
         l.is_parameter(kernel::source_of(*op.operands[0]));
}

/// The parts of a box by a warp alone, each with a descriptor, a place and coordinates of its own;
/// into shared memory also with an mbarrier.
void copy_parts(Lowering& l, const kernel::Op& op, std::string_view mnemonic, const Boxes& boxes,
                const BufferView& view, const BufferView* barrier) {
  if (l.tma.uniform_parameters.first == kNoVReg) {
    l.tma.uniform_parameters = {l.builder().uniform(), l.builder().uniform()};
    const auto [low, high] = l.tma.uniform_parameters;
    l.builder().emit(Opcode::kUniform, "ULDC.64", {low, high}, {}, kParameterAddress);
  }
  l.builder().emit(Opcode::kNop, "NOP", {}, {}).effect = MemoryEffect::kBarrier;  // ELECT's lanes
  const auto [from_low, from_high] = l.tma.uniform_parameters;
  for (std::uint32_t part = 0; part < boxes.parts; ++part) {
    const std::uint32_t own = op.id * boxes.parts + part;  // tells immediates apart
    const VReg low = uniform_value(l, "UIADD3", {from_low}, own);
    const VReg high = uniform_value(l, "UIADD3.X", {from_high, low});
    const UniformAddress at = address_of(l, view);
    const VReg place =
        uniform_value(l, "UIADD3", {at.base}, at.offset + part * boxes.bytes + (own << 20));
    VRegList more{low, high};
    if (barrier != nullptr) {
      const UniformAddress arrives = address_of(l, *barrier);
      more.push_back(uniform_value(l, "UIADD3", {arrives.base}, arrives.offset ^ (own << 20)));
    }
    const VRegList where = coordinates(l, op.group(1), boxes);
    more.insert(more.end(), where.begin(), where.end());
    if (part == 0) {
      copy_box(l, op, mnemonic, {place}, more);
      continue;
    }
    MachineInstruction& i = l.builder().emit(Opcode::kUniform, mnemonic, {}, {place});
    i.uses.insert(i.uses.end(), more.begin(), more.end());
    i.effect = MemoryEffect::kBarrier;
  }
}

/// desc, coord*, src: the last operand.
bool copy_out(Lowering& l, const kernel::Op& op, const std::array<std::string_view, 6>& mnemonics) {
  place_planned_barrier(l, op);
  const std::size_t source = op.operands.size() - 1, rank = source - 1;
  if (rank >= mnemonics.size()) return l.error(op, "TMA copies have at most five dimensions");
  const Boxes boxes(op.operands[source]->type, l.num_warps());
  if (is_alone(l, op)) {
    copy_parts(l, op, mnemonics[rank], boxes, l.operand(op, source).buffer, nullptr);
    l.builder().emit(Opcode::kUniform, "UTMACMDFLUSH", {}, {}).effect = MemoryEffect::kBarrier;
    return true;
  }
  const VReg elected = elect(l, boxes, nullptr);
  const auto [low, high] = uniform_descriptor(l, *op.operands[0], elected);
  const VReg runs = uniform_value(l, "VOTEU.ANY", {elected});
  UniformAddress at = part_address(l, l.operand(op, source).buffer, boxes);
  if (at.offset != 0) at.base = uniform_value(l, "UIADD3", {at.base, runs}, at.offset);
  const auto to = coordinates(l, std::span(op.operands).subspan(1, rank), boxes);
  copy_box(l, op, mnemonics[rank], {at.base, low, high, runs}, to);
  l.builder().emit(Opcode::kUniform, "UTMACMDFLUSH", {}, {}).effect = MemoryEffect::kBarrier;
  return true;
}

}  // namespace

bool lower_tma_load(Lowering& l, const kernel::Op& op) {
  place_planned_barrier(l, op);
  const auto from = op.group(1);
  const std::size_t rank = from.size(), barrier = 1 + rank, target = barrier + 1;
  if (rank >= kLoads.size()) return l.error(op, "TMA copies have at most five dimensions");
  const Boxes boxes(op.operands[target]->type, l.num_warps());
  const bool always = kernel::integer_constant(*op.operands[target + 1]).value_or(0) != 0;
  if (always && is_alone(l, op)) {
    copy_parts(l, op, kLoads[rank], boxes, l.operand(op, target).buffer,
               &l.operand(op, barrier).buffer);
    return true;
  }
  const VReg elected = elect(l, boxes, op.operands[target + 1]);
  const auto [low, high] = uniform_descriptor(l, *op.operands[0], elected);
  const VReg sets = uniform_value(l, "VOTEU.ANY", {elected});
  const VReg runs = uniform_value(l, "VOTEU.ANY", {elected}, 1);
  UniformAddress at = part_address(l, l.operand(op, target).buffer, boxes);
  if (at.offset != 0) at.base = uniform_value(l, "UIADD3", {at.base, sets}, at.offset);
  const UniformAddress arrives = address_of(l, l.operand(op, barrier).buffer);
  const VReg event = uniform_value(l, "UIADD3", {arrives.base, sets}, arrives.offset);
  const auto where = coordinates(l, std::span(op.operands).subspan(1, rank), boxes);
  copy_box(l, op, kLoads[rank], {at.base, event, low, high, runs}, where);
  return true;
}

bool lower_tma_store(Lowering& l, const kernel::Op& op) { return copy_out(l, op, kStores); }

bool lower_tma_reduce(Lowering& l, const kernel::Op& op) { return copy_out(l, op, kReductions); }

/// What a thread has written to shared memory is there before copies read it.
bool lower_async_fence(Lowering& l, const kernel::Op&) {
  l.builder().emit(Opcode::kNop, "MEMBAR.ALL.CTA", {}, {}).effect = MemoryEffect::kBarrier;
  l.builder().emit(Opcode::kFence, "FENCE.VIEW.ASYNC", {}, {}).effect = MemoryEffect::kBarrier;
  return true;
}

/// After the wait all warps meet: what the copies have read may be written then.
bool lower_tma_store_wait(Lowering& l, const kernel::Op& op) {
  MachineInstruction& i = l.builder().emit(Opcode::kUtmaWait, "DEPBAR.LE", {}, {});
  i.pending = static_cast<std::uint8_t>(std::clamp<std::int64_t>(op.int_attr("pendings"), 0, 255));
  i.effect = MemoryEffect::kBarrier;
  l.barrier();
  return true;
}

}  // namespace xpusim::gpu
