// Tiles to and from shared memory, by matrix instructions or by vectors.

#include "models/gpu/compiler/lowering/tile_access.h"

#include <algorithm>
#include <bit>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_access.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kMostBytes = 16;  ///< a shared-memory instruction moves for a lane

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

bool is_single(const kernel::Basis& b) {
  return std::count_if(b.begin(), b.end(), [](auto x) { return x != 0; }) == 1;
}

std::uint32_t element_bytes(const kernel::SharedLayout& shared) {
  return static_cast<std::uint32_t>(shared.element_bytes);
}

/// The registers that an instruction moves, from the first on.
std::vector<std::uint32_t> registers_from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> registers(count);
  for (std::uint32_t n = 0; n < count; ++n) registers[n] = first + n;
  return registers;
}

/// Where the rows of an instruction's matrices lie: the part of the naming thread and the rest.
class MatrixAddresses {
 public:
  MatrixAddresses(Lowering& l, const kernel::LinearLayout& layout,
                  const kernel::SharedLayout& shared, const MatrixRows& rows,
                  const BufferView& view)
      : l_(l), layout_(layout), shared_(shared), view_(view) {
    lanes_ =
        l.add_shared_lanes(lanes_of(shared, rows.lanes, layout.warps, kMostBytes, view.offset));
    std::vector<std::int64_t> images;
    for (const auto* bases : {&rows.lanes, &layout.warps}) {
      for (const kernel::Basis& basis : *bases) images.push_back(shared.unpadded(basis));
    }
    for (std::int64_t image : images) set_by_threads_ |= image;
    thread_ = l.index_math().thread_offset(images);
    base_ = view.address == kNoVReg ? l.shared_base() : view.address;
  }
  VReg base() const { return base_; }
  /// Notes where an instruction's rows lie.
  void note(MachineInstruction& i, std::uint32_t reg) const {
    i.shared_lanes = lanes_;
    i.shared_offset = static_cast<std::uint32_t>(offset(reg));
  }
  /// Offset bits of the thread's part that a register turns over.
  std::int64_t crossed(std::uint32_t reg) const { return offset(reg) & set_by_threads_; }
  VReg thread(std::uint32_t reg) { return l_.index_math().exclusive_or(thread_, crossed(reg)); }
  std::uint32_t immediate(std::uint32_t reg) const {
    return static_cast<std::uint32_t>(offset(reg) - crossed(reg) + view_.offset);
  }

 private:
  std::int64_t offset(std::uint32_t reg) const { return shared_.unpadded(layout_.at(reg, 0, 0)); }

  Lowering& l_;
  const kernel::LinearLayout& layout_;
  const kernel::SharedLayout& shared_;
  const BufferView& view_;
  std::int64_t set_by_threads_ = 0;
  VReg thread_ = kNoVReg, base_ = kNoVReg;
  std::uint32_t lanes_ = kNoLanes;
};

std::string_view matrix_mnemonic(bool load, std::uint32_t matrices) {
  switch (matrices) {
    case 1:
      return load ? "LDSM.16.M88" : "STSM.16.M88";
    case 2:
      return load ? "LDSM.16.M88.2" : "STSM.16.M88.2";
    default:
      return load ? "LDSM.16.M88.4" : "STSM.16.M88.4";
  }
}

}  // namespace

std::optional<MatrixRows> matrix_rows(const kernel::LinearLayout& layout,
                                      const kernel::SharedLayout& shared) {
  const std::uint32_t bytes = element_bytes(shared);
  if (bytes > kWordBytes || layout.lanes.size() != 5 || !shared.is_linear() ||
      !std::all_of(layout.lanes.begin(), layout.lanes.end(), is_single)) {
    return std::nullopt;
  }
  MatrixRows rows;
  rows.word_bits = static_cast<std::uint32_t>(std::countr_zero(kWordBytes / bytes));
  if (layout.registers.size() < rows.word_bits) return std::nullopt;
  bool straight = shared.unpadded(layout.lanes[0]) == kWordBytes || rows.word_bits > 0;
  for (std::uint32_t bit = 0; bit < rows.word_bits; ++bit) {
    straight = straight && shared.unpadded(layout.registers[bit]) == std::int64_t{bytes} << bit;
  }
  if (straight) {
    rows.lanes = {layout.lanes[2], layout.lanes[3], layout.lanes[4]};
  } else if (bytes == 2 && shared.unpadded(layout.lanes[2]) == 2) {
    rows.lanes = {layout.registers[0], layout.lanes[0], layout.lanes[1]};
  } else {
    return std::nullopt;
  }
  const std::size_t others = std::min<std::size_t>(2, layout.registers.size() - rows.word_bits);
  for (std::size_t n = 0; n < others; ++n) {
    rows.lanes.push_back(layout.registers[rows.word_bits + n]);
  }
  rows.matrices = 1u << others;
  return rows;
}

bool has_whole_rows(const kernel::LinearLayout& layout, const kernel::SharedLayout& shared) {
  const auto at = [&](const kernel::Basis& b) { return shared.unpadded(b); };
  if (at(layout.registers[0]) == 2) return at(layout.lanes[0]) == 4 && at(layout.lanes[1]) == 8;
  return at(layout.lanes[3]) == 4 && at(layout.lanes[4]) == 8;
}

/// The base is added to each address once.
void store_matrices(Lowering& l, const kernel::LinearLayout& layout,
                    const kernel::SharedLayout& shared, const MatrixRows& rows,
                    const std::vector<Element>& values, const BufferView& view) {
  Builder& b = l.builder();
  MatrixAddresses at(l, layout, shared, rows, view);
  std::map<std::int64_t, VReg> addresses;
  const std::uint32_t count = rows.matrices << rows.word_bits;
  for (std::uint32_t first = 0; first < layout.register_count(); first += count) {
    auto [address, fresh] = addresses.try_emplace(at.crossed(first), kNoVReg);
    if (fresh) {
      address->second = b.value(Opcode::kAlu, "IADD3", {at.thread(first), at.base()});
    }
    const auto words = words_of(l, values, registers_from(first, count), element_bytes(shared));
    MachineInstruction& i = b.emit(Opcode::kStsm, matrix_mnemonic(false, rows.matrices), {},
                                   {address->second}, at.immediate(first));
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.width = static_cast<std::uint16_t>(kWordBytes * rows.matrices);
    at.note(i, first);
    i.effect = MemoryEffect::kSharedStore;
  }
}

std::vector<Element> load_matrices(Lowering& l, const kernel::LinearLayout& layout,
                                   const kernel::SharedLayout& shared, const MatrixRows& rows,
                                   const BufferView& view) {
  Builder& b = l.builder();
  MatrixAddresses at(l, layout, shared, rows, view);
  const std::uint32_t count = rows.matrices << rows.word_bits;
  std::vector<Element> result(layout.register_count());
  for (std::uint32_t first = 0; first < layout.register_count(); first += count) {
    std::vector<VReg> words(rows.matrices);
    for (auto& w : words) w = b.general();
    if (words.size() > 1) b.code().tie(words);
    MachineInstruction& i = b.emit(Opcode::kLdsm, matrix_mnemonic(true, rows.matrices), {},
                                   {at.thread(first), at.base()}, at.immediate(first));
    i.defs.assign(words.begin(), words.end());
    i.width = static_cast<std::uint16_t>(kWordBytes * rows.matrices);
    at.note(i, first);
    i.effect = MemoryEffect::kSharedLoad;
    spread(words, registers_from(first, count), element_bytes(shared), result);
  }
  return result;
}

void store_vectors(Lowering& l, const kernel::LinearLayout& layout,
                   const kernel::SharedLayout& shared, const std::vector<Element>& values,
                   const BufferView& view) {
  const auto access = SharedAccess(l, layout, shared, view, kMostBytes);
  const std::uint32_t copies = layout.copy_lanes() | layout.copy_warps() << 5;
  const VReg guard = copies == 0 ? kNoVReg : l.tid_bits_clear(copies);
  const std::uint32_t lanes = l.add_shared_lanes(access.lanes(layout.copy_lanes()));
  for (const auto& v : access.vectors()) {
    const auto words = words_of(l, values, v.registers, element_bytes(shared));
    MachineInstruction& i =
        l.builder().emit(Opcode::kSts, memory_mnemonic(Opcode::kSts, access.bytes()), {},
                         {v.address, access.base(l)}, static_cast<std::uint32_t>(v.immediate));
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.guard = guard;
    i.width = static_cast<std::uint16_t>(access.bytes());
    i.extra_passes = access.extra_passes();
    i.shared_lanes = lanes;
    i.shared_offset = v.offset;
    i.active_lanes = static_cast<std::uint8_t>(
        layout.copy_lanes() == 0 ? 0 : kWarpLanes >> std::popcount(layout.copy_lanes()));
    i.effect = MemoryEffect::kSharedStore;
  }
}

std::vector<Element> load_vectors(Lowering& l, const kernel::LinearLayout& layout,
                                  const kernel::SharedLayout& shared, const BufferView& view) {
  const auto access = SharedAccess(l, layout, shared, view, kMostBytes);
  Builder& b = l.builder();
  const std::uint32_t lanes = l.add_shared_lanes(access.lanes());
  std::vector<Element> result(layout.register_count());
  for (const auto& v : access.vectors()) {
    std::vector<VReg> words(std::max(1u, access.bytes() / kWordBytes));
    for (auto& w : words) w = b.general();
    if (words.size() > 1) b.code().tie(words);
    MachineInstruction& i =
        b.emit(Opcode::kLds, memory_mnemonic(Opcode::kLds, access.bytes()), {},
               {v.address, access.base(l)}, static_cast<std::uint32_t>(v.immediate));
    i.defs.assign(words.begin(), words.end());
    i.width = static_cast<std::uint16_t>(access.bytes());
    i.extra_passes = access.extra_passes();
    i.shared_lanes = lanes;
    i.shared_offset = v.offset;
    i.effect = MemoryEffect::kSharedLoad;
    spread(words, v.registers, element_bytes(shared), result);
  }
  const std::uint32_t copies = layout.copy_registers();
  for (std::uint32_t r = 0; r < result.size(); ++r) result[r] = result[r & ~copies];
  return result;
}

}  // namespace xpusim::gpu
