// Buffers in shared memory: their views, and the stores and loads of tiles.

#include <algorithm>
#include <bit>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_access.h"
#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kMatrixBytes = 16;  ///< a lane's part of four 8x8 matrices of 16 bits

std::uint32_t element_bytes(const kernel::Type type) {
  return static_cast<std::uint32_t>(std::max(8, kernel::bit_width(type->dtype))) / 8;
}

/// The words that hold elements of some registers, side by side.
std::vector<VReg> words_of(Lowering& l, const std::vector<Element>& values,
                           const std::vector<std::uint32_t>& registers, std::uint32_t bytes) {
  std::vector<Element> wanted;
  for (std::uint32_t r : registers) wanted.push_back(values[values.size() == 1 ? 0 : r]);
  std::vector<VReg> words;
  const std::uint32_t a_word = std::max(1u, kWordBytes / bytes);
  for (std::size_t first = 0; first < wanted.size(); first += a_word) {
    const auto count =
        std::min<std::uint32_t>(a_word, static_cast<std::uint32_t>(wanted.size() - first));
    words.push_back(word_of(l, wanted, first, count, bytes * 8));
    if (bytes > kWordBytes) words.push_back(l.high_half(wanted[first]));
  }
  if (words.size() == 1 || l.builder().code().tie(words)) return words;
  for (auto& w : words) w = l.builder().move(w);
  l.builder().code().tie(words);
  return words;
}

void place_barrier(Lowering& l, const kernel::Op& op) {
  if (l.shared_plan().barrier_before(op)) l.barrier();
}

/// Elements of `bytes` bytes that lie one behind the other in words.
void spread(const std::vector<VReg>& words, const std::vector<std::uint32_t>& registers,
            std::uint32_t bytes, std::vector<Element>& result) {
  for (std::size_t n = 0; n < registers.size(); ++n) {
    const std::size_t at = n * bytes;
    Element& e = result[registers[n]];
    e = {words[at / kWordBytes]};
    if (bytes < kWordBytes) e.shift = static_cast<std::uint32_t>(at % kWordBytes * 8);
    if (bytes > kWordBytes) e.high = words[at / kWordBytes + 1];
  }
}

/// How LDSM reads the factor of an mma.sync, and STSM stores the result: a lane names a row of 16
/// bytes of one of four 8x8 matrices. Rows of the matrices are rows of the buffer, or (transposed)
/// its columns.
struct MatrixRows {
  std::vector<kernel::Basis> lanes;  ///< [bit of the lane] what it adds to the coordinates
};
std::optional<MatrixRows> matrix_rows(const kernel::LinearLayout& layout,
                                      const kernel::SharedLayout& shared) {
  if (shared.element_bytes != 2 || layout.registers.size() < 3 || layout.lanes.size() != 5 ||
      !shared.is_linear()) {
    return std::nullopt;
  }
  const auto step = [&](const kernel::Basis& b) { return shared.unpadded(b) == 2; };
  const auto single = [](const kernel::Basis& b) {
    return std::count_if(b.begin(), b.end(), [](auto x) { return x != 0; }) == 1;
  };
  for (const kernel::Basis& b : layout.lanes) {
    if (!single(b)) return std::nullopt;
  }
  MatrixRows rows;
  if (step(layout.registers[0])) {
    rows.lanes = {layout.lanes[2], layout.lanes[3], layout.lanes[4]};
  } else if (step(layout.lanes[2])) {
    rows.lanes = {layout.registers[0], layout.lanes[0], layout.lanes[1]};
  } else {
    return std::nullopt;
  }
  rows.lanes.push_back(layout.registers[1]);
  rows.lanes.push_back(layout.registers[2]);
  return rows;
}

bool is_dot_operand(const kernel::Type tile) {
  return tile->encoding && tile->encoding->text.find("dot_op") != std::string::npos;
}

/// Loads a factor of an mma.sync by LDSM, four matrices at a time.
bool load_matrices(Lowering& l, const kernel::Op& op, const kernel::LinearLayout& layout,
                   const kernel::SharedLayout& shared, const MatrixRows& rows,
                   const BufferView& view) {
  Builder& b = l.builder();
  std::vector<std::int64_t> images;
  for (const auto* bases : {&rows.lanes, &layout.warps}) {
    for (const kernel::Basis& basis : *bases) images.push_back(shared.unpadded(basis));
  }
  std::int64_t set_by_threads = 0;
  for (std::int64_t image : images) set_by_threads |= image;
  const VReg thread = l.index_math().thread_offset(images);
  const VReg base = view.address == kNoVReg ? l.shared_base() : view.address;
  constexpr std::uint32_t kElements = kMatrixBytes / 2;
  std::vector<Element> result(layout.register_count());
  for (std::uint32_t first = 0; first < layout.register_count(); first += kElements) {
    const std::int64_t offset = shared.unpadded(layout.at(first, 0, 0));
    const std::int64_t crossed = offset & set_by_threads;
    std::vector<VReg> words(kMatrixBytes / kWordBytes);
    for (auto& w : words) w = b.general();
    b.code().tie(words);
    MachineInstruction& i = b.emit(Opcode::kLdsm, "LDSM.16.M88.4", {},
                                   {l.index_math().exclusive_or(thread, crossed), base},
                                   static_cast<std::uint32_t>(offset - crossed + view.offset));
    i.defs.assign(words.begin(), words.end());
    i.width = kMatrixBytes;
    i.effect = MemoryEffect::kSharedLoad;
    for (std::uint32_t e = 0; e < kElements; ++e) {
      result[first + e] = {words[e / 2], 0, e % 2 * 16};
    }
  }
  l.set_elements(*op.result(), &layout, std::move(result));
  return true;
}

/// Whether the rows of matrices are 16 bytes of the buffer each.
bool has_whole_rows(const kernel::LinearLayout& layout, const kernel::SharedLayout& shared) {
  const auto at = [&](const kernel::Basis& b) { return shared.unpadded(b); };
  if (at(layout.registers[0]) == 2) return at(layout.lanes[0]) == 4 && at(layout.lanes[1]) == 8;
  return at(layout.lanes[3]) == 4 && at(layout.lanes[4]) == 8;
}

/// Stores the result of matrix units by STSM, four matrices at a time. The base is added to each
/// address once.
void store_matrices(Lowering& l, const kernel::LinearLayout& layout,
                    const kernel::SharedLayout& shared, const MatrixRows& rows,
                    const std::vector<Element>& values, const BufferView& view) {
  Builder& b = l.builder();
  std::vector<std::int64_t> images;
  for (const auto* bases : {&rows.lanes, &layout.warps}) {
    for (const kernel::Basis& basis : *bases) images.push_back(shared.unpadded(basis));
  }
  std::int64_t set_by_threads = 0;
  for (std::int64_t image : images) set_by_threads |= image;
  const VReg thread = l.index_math().thread_offset(images);
  const VReg base = view.address == kNoVReg ? l.shared_base() : view.address;
  std::map<std::int64_t, VReg> addresses;
  constexpr std::uint32_t kElements = kMatrixBytes / 2;
  for (std::uint32_t first = 0; first < layout.register_count(); first += kElements) {
    const std::int64_t offset = shared.unpadded(layout.at(first, 0, 0));
    const std::int64_t crossed = offset & set_by_threads;
    auto [address, fresh] = addresses.try_emplace(crossed, kNoVReg);
    if (fresh) {
      address->second =
          b.value(Opcode::kAlu, "IADD3", {l.index_math().exclusive_or(thread, crossed), base});
    }
    std::vector<std::uint32_t> registers(kElements);
    for (std::uint32_t n = 0; n < kElements; ++n) registers[n] = first + n;
    const auto words = words_of(l, values, registers, 2);
    MachineInstruction& i = b.emit(Opcode::kStsm, "STSM.16.M88.4", {}, {address->second},
                                   static_cast<std::uint32_t>(offset - crossed + view.offset));
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.width = kMatrixBytes;
    i.effect = MemoryEffect::kSharedStore;
  }
}

/// How STSM stores a tile, where it can: what matrix units leave, in elements of 16 bits.
std::optional<MatrixRows> rows_to_store(Lowering& l, const kernel::LinearLayout& layout,
                                        const kernel::SharedLayout& shared,
                                        const kernel::Type tile) {
  constexpr int kFirstWithStsm = 90;
  const bool of_matrix_unit = tile->encoding && tile->encoding->text.find("#ttg.nvidia_mma<") == 0;
  if (!of_matrix_unit || l.capability() < kFirstWithStsm) return std::nullopt;
  if (layout.copy_lanes() != 0 || layout.copy_warps() != 0 || layout.copy_registers() != 0) {
    return std::nullopt;
  }
  auto rows = matrix_rows(layout, shared);
  return rows && has_whole_rows(layout, shared) ? rows : std::nullopt;
}

bool store_tile(Lowering& l, const kernel::Op& op, const kernel::Value& tile,
                const kernel::Type buffer, const BufferView& view) {
  place_barrier(l, op);
  const auto access = SharedAccess::make(l, op, tile.type, buffer, view, kMatrixBytes);
  if (!access) return false;
  const kernel::LinearLayout& layout = *l.layout(tile.type, op);
  const std::uint32_t copies = layout.copy_lanes() | layout.copy_warps() << 5;
  const VReg guard = copies == 0 ? kNoVReg : l.tid_bits_clear(copies);
  const std::vector<Element> values = l.elements(tile);
  if (values.empty()) return l.error(op, "a stored tile has no value in registers");
  const auto shared = kernel::shared_layout(buffer, op.text);
  if (const auto rows = shared ? rows_to_store(l, layout, *shared, tile.type) : std::nullopt) {
    store_matrices(l, layout, *shared, *rows, values, view);
    return true;
  }
  for (const auto& v : access->vectors()) {
    const auto words = words_of(l, values, v.registers, element_bytes(tile.type));
    MachineInstruction& i =
        l.builder().emit(Opcode::kSts, memory_mnemonic(Opcode::kSts, access->bytes()), {},
                         {v.address, access->base(l)}, static_cast<std::uint32_t>(v.immediate));
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.guard = guard;
    i.width = static_cast<std::uint16_t>(access->bytes());
    i.extra_passes = access->extra_passes();
    i.active_lanes = static_cast<std::uint8_t>(
        layout.copy_lanes() == 0 ? 0 : kWarpLanes >> std::popcount(layout.copy_lanes()));
    i.effect = MemoryEffect::kSharedStore;
  }
  return true;
}

}  // namespace

bool lower_local_alloc(Lowering& l, const kernel::Op& op) {
  ValueState& s = l.state(*op.result());
  s.kind = ValueKind::kBuffer;
  s.buffer = {kNoVReg, l.shared_plan().offset(op)};
  if (op.operands.empty()) return true;
  const BufferView view = s.buffer;
  return store_tile(l, op, *op.operands[0], op.result()->type, view);
}

bool lower_local_dealloc(Lowering&, const kernel::Op&) { return true; }

bool lower_local_store(Lowering& l, const kernel::Op& op) {
  const BufferView view = l.operand(op, 1).buffer;
  return store_tile(l, op, *op.operands[0], op.operands[1]->type, view);
}

bool lower_local_load(Lowering& l, const kernel::Op& op) {
  place_barrier(l, op);
  const kernel::Type tile = op.result()->type, buffer = op.operands[0]->type;
  const BufferView view = l.operand(op, 0).buffer;
  const kernel::LinearLayout* layout = l.layout(tile, op);
  if (!layout) return false;
  if (is_dot_operand(tile)) {
    const auto shared = kernel::shared_layout(buffer, op.text);
    const auto rows = shared ? matrix_rows(*layout, *shared) : std::nullopt;
    if (rows) return load_matrices(l, op, *layout, *shared, *rows, view);
  }
  const auto access = SharedAccess::make(l, op, tile, buffer, view, kMatrixBytes);
  if (!access) return false;
  Builder& b = l.builder();
  std::vector<Element> result(layout->register_count());
  for (const auto& v : access->vectors()) {
    std::vector<VReg> words(std::max(1u, access->bytes() / kWordBytes));
    for (auto& w : words) w = b.general();
    if (words.size() > 1) b.code().tie(words);
    MachineInstruction& i =
        b.emit(Opcode::kLds, memory_mnemonic(Opcode::kLds, access->bytes()), {},
               {v.address, access->base(l)}, static_cast<std::uint32_t>(v.immediate));
    i.defs.assign(words.begin(), words.end());
    i.width = static_cast<std::uint16_t>(access->bytes());
    i.extra_passes = access->extra_passes();
    i.effect = MemoryEffect::kSharedLoad;
    spread(words, v.registers, element_bytes(tile), result);
  }
  const std::uint32_t copies = layout->copy_registers();
  for (std::uint32_t r = 0; r < result.size(); ++r) result[r] = result[r & ~copies];
  l.set_elements(*op.result(), layout, std::move(result));
  return true;
}

/// One of several buffers: a constant number moves the offset, another one is an address on the
/// uniform datapath.
bool lower_buffer_index(Lowering& l, const kernel::Op& op) {
  const BufferView from = l.operand(op, 0).buffer;
  const kernel::Type type = op.result()->type;
  const std::int64_t bytes = type->count() * element_bytes(type);
  ValueState& to = l.state(*op.result());
  to.kind = ValueKind::kBuffer;
  to.buffer = from;
  const ValueState& number = l.operand(op, 1);
  if (number.kind == ValueKind::kIndex && number.index.scalar == kNoScalar) {
    to.buffer.offset += number.index.offset * bytes;
    return true;
  }
  const VReg n = number.kind == ValueKind::kIndex ? l.uniform(number.index)
                                                  : l.in_register(l.elements(*op.operands[1])[0]);
  const VReg base = from.address == kNoVReg ? l.shared_base() : from.address;
  to.buffer.address = l.builder().uniform();
  const bool power = (bytes & (bytes - 1)) == 0;
  l.builder().emit(Opcode::kUniform, power ? "ULEA" : "UIMAD", {to.buffer.address}, {n, base},
                   static_cast<std::uint32_t>(bytes));
  return true;
}

/// A part of a buffer lies where the whole buffer has its first element.
bool lower_buffer_slice(Lowering& l, const kernel::Op& op) {
  const auto shared = kernel::shared_layout(op.operands[0]->type, op.text);
  if (!shared) return l.error(op, shared.error().list().front().message);
  const kernel::Attr offsets = op.attr("offsets");
  ValueState& to = l.state(*op.result());
  to.kind = ValueKind::kBuffer;
  to.buffer = l.operand(op, 0).buffer;
  to.buffer.offset += shared->offset(offsets ? offsets->int_list() : kernel::Basis{});
  return true;
}

/// Transposed, reshaped, reinterpreted: the same bytes.
bool lower_buffer_view(Lowering& l, const kernel::Op& op) {
  l.state(*op.result()) = l.operand(op, 0);
  return true;
}

}  // namespace xpusim::gpu
