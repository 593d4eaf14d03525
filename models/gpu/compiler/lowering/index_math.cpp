#include "models/gpu/compiler/lowering/index_math.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace xpusim::gpu {
namespace {

constexpr int kTidBits = 10;  ///< the compiler knows that tid is below 1024
constexpr std::uint32_t kTidMask = (1u << kTidBits) - 1;

std::uint64_t shifted(std::uint64_t bits, int shift) {
  return shift >= 0 ? bits << shift : bits >> -shift;
}

}  // namespace

VReg IndexMath::tid() {
  if (tid_ != kNoVReg) return tid_;
  tid_ = b_.value(Opcode::kS2r, "S2R", {}, 0);
  if (group_ == nullptr) return tid_;
  const auto threads = static_cast<std::uint32_t>(group_->warps * kWarpLanes);
  const auto first = static_cast<std::uint32_t>(group_->first * kWarpLanes);
  // Masking takes away what comes before whole groups.
  if (first % threads != 0) tid_ = b_.value(Opcode::kAlu, "IADD3", {tid_}, 0 - first);
  return tid_ = b_.value(Opcode::kAlu, "LOP3", {tid_}, threads - 1);
}

std::int64_t IndexMath::register_offset(const IndexForm& form, std::uint32_t reg) {
  std::int64_t offset = form.offset;
  if (!form.layout) return offset;
  const kernel::Basis at = form.layout->at(reg, 0, 0);
  for (std::size_t d = 0; d < at.size(); ++d) offset += form.factors[d] * at[d];
  return offset;
}

IndexMath::ThreadPart IndexMath::thread_part(const IndexForm& form) const {
  ThreadPart part;
  if (!form.layout) return part;
  std::vector<const kernel::Basis*> bases;
  for (const auto& b : form.layout->lanes) bases.push_back(&b);
  for (const auto& b : form.layout->warps) bases.push_back(&b);
  std::map<std::int64_t, std::vector<std::pair<std::size_t, int>>> scaled;  // bits: power of two
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    std::int64_t value = 0;
    for (std::size_t d = 0; d < bases[bit]->size(); ++d)
      value += form.factors[d] * (*bases[bit])[d];
    if (value == 0) continue;
    const int power = std::countr_zero(static_cast<std::uint64_t>(value));
    const std::int64_t odd = value / (std::int64_t{1} << power);
    if (odd == 1) {
      add_bit(part.segments, bit, value);
    } else {
      scaled[odd].emplace_back(bit, power);
    }
  }
  for (const auto& [odd, bits] : scaled) {
    int least = bits[0].second;
    for (const auto& [bit, power] : bits) least = std::min(least, power);
    Multiple& multiple = part.multiples.emplace_back();
    multiple.factor = odd * (std::int64_t{1} << least);
    for (const auto& [bit, power] : bits) {
      add_bit(multiple.segments, bit, std::int64_t{1} << (power - least));
    }
  }
  return part;
}

/// `value`: a power of two.
void IndexMath::add_bit(std::vector<Segment>& segments, std::size_t bit, std::int64_t value) {
  const int shift = std::countr_zero(static_cast<std::uint64_t>(value)) - static_cast<int>(bit);
  auto same = [&](const Segment& s) { return s.shift == shift; };
  auto it = std::find_if(segments.begin(), segments.end(), same);
  if (it == segments.end()) it = segments.insert(it, {shift, 0});
  it->tid_bits |= 1u << bit;
}

VReg IndexMath::thread_offset(const std::vector<std::int64_t>& of_bits) {
  auto [slot, fresh] = thread_offsets_.try_emplace(of_bits, kNoVReg);
  if (!fresh) return slot->second;
  ThreadPart part;
  for (std::size_t bit = 0; bit < of_bits.size(); ++bit) {
    for (std::int64_t rest = of_bits[bit]; rest != 0; rest &= rest - 1) {
      add_bit(part.segments, bit, rest & -rest);
    }
  }
  return slot->second = thread_index(part, kNoVReg);
}

VReg IndexMath::exclusive_or(VReg reg, std::int64_t bits) {
  if (bits == 0) return reg;
  auto [slot, fresh] = turned_over_.try_emplace(std::pair{reg, bits}, kNoVReg);
  if (fresh) {
    slot->second =
        b_.value(Opcode::kAlu, "LOP3", {reg}, static_cast<std::uint32_t>(bits) | 1u << 31);
  }
  return slot->second;
}

std::uint64_t IndexMath::masked_off(const ThreadPart& part) const {
  if (part.segments.size() != 1 || !part.multiples.empty() || part.segments[0].shift < 0) return 0;
  const Segment& s = part.segments[0];
  return shifted(kTidMask & ~s.tid_bits, s.shift);
}

bool IndexMath::covers(const IndexForm& form, const ThreadPart& part, std::int64_t offset) const {
  const std::uint64_t cleared = masked_off(part);
  return form.layout && cleared != 0 && offset > 0 &&
         (static_cast<std::uint64_t>(offset) & cleared) == cleared;
}

bool IndexMath::is_disjoint(const IndexForm& form, const ThreadPart& part,
                            std::int64_t offset) const {
  std::uint64_t limit = form.scalar == kNoScalar
                            ? std::uint64_t{1} << 62
                            : static_cast<std::uint64_t>(scalars_.multiple_of(form.scalar));
  for (const Multiple& m : part.multiples) {
    limit =
        std::min(limit, std::uint64_t{1} << std::countr_zero(static_cast<std::uint64_t>(m.factor)));
  }
  std::uint64_t bits = 0;
  for (const Segment& s : part.segments) bits |= shifted(s.tid_bits, s.shift);
  const auto added = static_cast<std::uint64_t>(offset);
  return offset >= 0 && added < limit && (added & bits) == 0;
}

VReg IndexMath::sign(const IndexForm& form, std::uint32_t reg) {
  const ThreadPart part = thread_part(form);
  const std::int64_t offset = register_offset(form, reg);
  if (form.scalar == kNoScalar || !part.multiples.empty() || !is_disjoint(form, part, offset)) {
    return kNoVReg;
  }
  const auto multiple = static_cast<std::uint64_t>(scalars_.multiple_of(form.scalar));
  for (const Segment& s : part.segments) {
    if (shifted(s.tid_bits, s.shift) >= multiple) return kNoVReg;
  }
  auto [slot, fresh] = signs_.try_emplace(form.scalar, kNoVReg);
  if (!fresh) return slot->second;
  constexpr int kSignBit = 31;
  ScalarId inner;
  const int shift = scalars_.shift_of(form.scalar, &inner);
  if (shift <= 0) {
    return slot->second =
               b_.value(Opcode::kAlu, "SHF.R.S32.HI", {scalars_.operand(form.scalar)}, kSignBit);
  }
  const VReg bit = b_.value(Opcode::kAlu, "SHF.R.S32.HI", {scalars_.operand(inner)},
                            static_cast<std::uint32_t>(kSignBit - shift));
  return signs_[form.scalar] = b_.value(Opcode::kAlu, "SGXT", {bit}, 1);
}

bool IndexMath::any_cover(const IndexForm& form, const ThreadPart& part) const {
  for (std::uint32_t r = 0; form.layout && r < form.layout->register_count(); ++r) {
    if (covers(form, part, register_offset(form, r))) return true;
  }
  return false;
}

VReg IndexMath::shifted_tid(int shift) {
  if (shift == 0) return tid();
  if (auto it = shifted_.find(shift); it != shifted_.end()) return it->second;
  const VReg from = tid();
  return shifted_[shift] = b_.value(Opcode::kAlu, shift > 0 ? "SHF.L" : "SHF.R", {from},
                                    static_cast<std::uint32_t>(std::abs(shift)));
}

VReg IndexMath::masked(const Segment& segment, VReg also) {
  const VReg from = shifted_tid(segment.shift);
  const bool all = (segment.tid_bits & kTidMask) == kTidMask;
  if (all && also == kNoVReg) return from;
  return b_.value(Opcode::kAlu, "LOP3", {from, also},
                  static_cast<std::uint32_t>(shifted(segment.tid_bits, segment.shift)));
}

VReg IndexMath::joined(const std::vector<Segment>& segments, VReg also) {
  for (const Segment& segment : segments) also = masked(segment, also);
  return also;
}

VReg IndexMath::thread_index(const ThreadPart& part, VReg also) {
  VReg sum = joined(part.segments, also);
  for (const Multiple& multiple : part.multiples) {
    const VReg number = joined(multiple.segments, kNoVReg);
    sum =
        b_.value(Opcode::kFma, "IMAD", {number, sum}, static_cast<std::uint32_t>(multiple.factor));
  }
  return sum;
}

/// scalar + thread part, for the register whose constant is zero.
VReg IndexMath::with_scalar(const IndexForm& form, const ThreadPart& part) {
  if (form.scalar == kNoScalar) return thread_index(part, kNoVReg);
  if (part.empty()) return scalars_.operand(form.scalar);
  ScalarId inner;
  const int shift = scalars_.shift_of(form.scalar, &inner);
  if (shift >= 0 && any_cover(form, part)) {
    return thread_index(part, scalars_.general(form.scalar));  // or-ed in by the same LOP3
  }
  const VReg thread = thread_index(part, kNoVReg);
  if (shift >= 0) {
    return b_.value(Opcode::kAlu, "LEA", {scalars_.operand(inner), thread},
                    static_cast<std::uint32_t>(shift));
  }
  if (const std::int64_t factor = scalars_.factor_of(form.scalar, &inner); factor != 0) {
    return b_.value(Opcode::kFma, "IMAD", {scalars_.operand(inner), thread},
                    static_cast<std::uint32_t>(factor));
  }
  return b_.value(Opcode::kAlu, "IADD3", {scalars_.operand(form.scalar), thread});
}

VReg IndexMath::compute(const IndexForm& form, std::int64_t offset) {
  const ThreadPart part = thread_part(form);
  const auto immediate = static_cast<std::uint32_t>(offset);
  if (offset == 0) return with_scalar(form, part);
  if (form.scalar == kNoScalar && part.empty()) {
    return b_.constant(immediate);
  }
  if (covers(form, part, offset)) {
    const VReg scalar = form.scalar == kNoScalar ? kNoVReg : scalars_.general(form.scalar);
    return b_.value(Opcode::kAlu, "IADD3", {shifted_tid(part.segments[0].shift), scalar},
                    immediate);
  }
  const Key base_key{form.layout, form.factors, form.scalar, 0};
  auto it = indices_.find(base_key);
  if (it == indices_.end()) it = indices_.emplace(base_key, with_scalar(form, part)).first;
  const bool disjoint = form.layout && (form.scalar == kNoScalar || any_cover(form, part));
  return b_.value(Opcode::kAlu, disjoint ? "LOP3.OR" : "IADD3", {it->second}, immediate);
}

VReg IndexMath::index(const IndexForm& form, std::uint32_t reg) {
  const std::int64_t offset = register_offset(form, reg);
  const Key key{form.layout, form.factors, form.scalar, offset};
  if (auto it = indices_.find(key); it != indices_.end()) return it->second;
  const VReg result = compute(form, offset);
  return indices_[key] = result;
}

std::pair<VReg, std::uint32_t> IndexMath::parts_of(VReg index) const {
  for (const auto& [key, reg] : indices_) {
    if (reg != index || key.offset == 0) continue;
    Key base = key;
    base.offset = 0;
    const auto it = indices_.find(base);
    if (it != indices_.end()) return {it->second, static_cast<std::uint32_t>(key.offset)};
  }
  return {index, 0};
}

std::pair<VReg, VReg> IndexMath::bytes_of(const Element& index, std::int64_t bytes) {
  const auto key = std::tuple{index.reg, kNoScalar, bytes};
  if (auto it = addresses_.find(key); it != addresses_.end()) return it->second;
  const VReg low = b_.general(), high = b_.general();
  const auto scale = static_cast<std::uint32_t>(bytes);
  if (index.high == kNoVReg) {
    b_.emit(Opcode::kFma, "IMAD.WIDE", {low, high}, {index.reg}, scale);
  } else {
    b_.emit(Opcode::kAlu, "SHF.L", {low}, {index.reg}, scale);
    b_.emit(Opcode::kAlu, "SHF.L.U64.HI", {high}, {index.reg, index.high}, scale);
  }
  return addresses_[key] = {low, high};
}

Address IndexMath::address_of(const Element& index, ScalarId base, std::int64_t bytes) {
  const auto key = std::tuple{index.reg, base, bytes};
  if (auto it = addresses_.find(key); it != addresses_.end()) {
    return {it->second.first, it->second.second, 0};
  }
  const auto [low, high] = scalars_.pointer(base);
  const bool moves = scalars_.is_moving_pointer(base);
  const auto [offset, offset_high] = moves ? bytes_of(index, bytes) : std::pair{kNoVReg, kNoVReg};
  const VReg a = b_.general(), b = b_.general();
  b_.code().tie({a, b});
  const auto scale = static_cast<std::uint32_t>(bytes);
  if (moves) {
    b_.emit(Opcode::kAlu, "IADD3.CO", {a}, {low, offset});
    b_.emit(Opcode::kFma, "IMAD.X", {b}, {high, offset_high, a});
    return {a, b, 0};  // good until the pointer moves on
  }
  if (index.high == kNoVReg) {
    b_.emit(Opcode::kFma, "IMAD.WIDE", {a, b}, {index.reg, low, high}, scale);
  } else {
    b_.emit(Opcode::kAlu, "LEA.CO", {a}, {index.reg, low}, scale);
    b_.emit(Opcode::kAlu, "LEA.HI.X", {b}, {index.reg, index.high, high, a}, scale);
  }
  addresses_[key] = {a, b};
  return {a, b, 0};
}

Address IndexMath::address(const IndexForm& form, ScalarId base, std::int64_t bytes,
                           std::uint32_t reg) {
  const ThreadPart part = thread_part(form);
  const std::int64_t offset = register_offset(form, reg);
  if (form.scalar == kNoScalar && part.empty()) {
    const auto [low, high] = scalars_.pointer(base);
    return {low, high, offset * bytes};
  }
  const bool masked_anew = !in_copies && covers(form, part, offset);
  if (masked_anew || (offset != 0 && !is_disjoint(form, part, offset))) {
    return address_of({index(form, reg)}, base, bytes);
  }
  const Key base_key{form.layout, form.factors, form.scalar, 0};
  auto it = indices_.find(base_key);
  if (it == indices_.end()) it = indices_.emplace(base_key, with_scalar(form, part)).first;
  Address address = address_of({it->second}, base, bytes);
  address.immediate = offset * bytes;
  return address;
}

}  // namespace xpusim::gpu
