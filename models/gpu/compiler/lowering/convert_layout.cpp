// ttg.convert_layout: elements move to other registers, lanes or warps, by the cheapest of three
// ways: registers are renamed, lanes exchange by shuffles, warps through shared memory.

#include <algorithm>
#include <bit>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kMostBytes = 16;  ///< a shared-memory instruction moves for a lane

std::uint32_t bits_of(const kernel::Type type) {
  return type->is_pointer_like() ? 64 : std::max(8, kernel::bit_width(type->dtype));
}

class Conversion {
 public:
  Conversion(Lowering& l, const kernel::Op& op, const kernel::LinearLayout& from,
             const kernel::LinearLayout& to)
      : l_(l), b_(l.builder()), from_(from), to_(to), bits_(bits_of(op.result()->type)) {}

  std::vector<Element> run(const std::vector<Element>& source) {
    if (source.size() == 1) return std::vector<Element>(to_.register_count(), source[0]);
    if (from_.warps == to_.warps && from_.lanes == to_.lanes) return renamed(source);
    const bool masks = std::any_of(source.begin(), source.end(), [&](const Element& e) {
      return !e.is_constant() && b_.code().registers[e.reg] == RegFile::kPredicate;
    });
    if (!masks) return moved(source);
    std::vector<Element> numbers;
    for (const Element& e : source) {
      numbers.push_back(e.is_constant() ? e : Element{b_.value(Opcode::kAlu, "SEL", {e.reg})});
    }
    std::vector<Element> result = moved(numbers);
    std::map<Element, VReg> predicates;
    for (Element& e : result) {
      auto [known, fresh] = predicates.try_emplace(e, kNoVReg);
      if (fresh) {
        known->second = b_.predicate();
        b_.emit(Opcode::kAlu, "ISETP", {known->second}, {l_.in_register(e)});
      }
      e = {known->second};
    }
    return result;
  }

 private:
  /// To other lanes or warps.
  std::vector<Element> moved(const std::vector<Element>& source) {
    return from_.warps != to_.warps ? through_shared_memory(source) : by_shuffles(source);
  }
  /// The registers of a layout that hold no copies, in order.
  static std::vector<std::uint32_t> own_registers(const kernel::LinearLayout& layout) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t r = 0; r < layout.register_count(); ++r) {
      if ((r & layout.copy_registers()) == 0) own.push_back(r);
    }
    return own;
  }
  std::vector<Element> spread(const std::vector<Element>& own) const {
    std::vector<Element> all;
    std::map<std::uint32_t, Element> known;
    const auto registers = own_registers(to_);
    for (std::size_t n = 0; n < registers.size(); ++n) known[registers[n]] = own[n];
    for (std::uint32_t r = 0; r < to_.register_count(); ++r) {
      all.push_back(known.at(r & ~to_.copy_registers()));
    }
    return all;
  }

  std::vector<Element> renamed(const std::vector<Element>& source) const {
    std::map<kernel::Basis, Element> at;
    for (std::uint32_t r = 0; r < from_.register_count(); ++r) {
      at.try_emplace(from_.at(r, 0, 0), source[r]);
    }
    std::vector<Element> result;
    for (std::uint32_t r = 0; r < to_.register_count(); ++r) {
      const auto it = at.find(to_.at(r, 0, 0));
      result.push_back(it != at.end() ? it->second : source[r % source.size()]);
    }
    return result;
  }

  /// A shuffle for each register that takes part; where a lane needs one of several, it selects.
  std::vector<Element> by_shuffles(const std::vector<Element>& source) {
    const auto sent = own_registers(from_), wanted = own_registers(to_);
    const VReg lane = b_.value(Opcode::kAlu, "LOP3", {l_.index_math().tid()}, kWarpLanes - 1);
    const VReg partner = b_.value(Opcode::kAlu, "LOP3", {lane}, 0x1c);
    const std::size_t shuffles = std::max(sent.size(), wanted.size());
    std::vector<Element> got;
    for (std::size_t n = 0; n < shuffles; ++n) {
      const Element& e = source[sent[n % sent.size()]];
      const auto number = static_cast<std::uint32_t>(n);
      got.push_back({exchange(l_.in_register(e), partner, number), 0, 0,
                     bits_ > 32 ? exchange(l_.high_half(e), partner, number) : kNoVReg});
    }
    const std::size_t choices = shuffles / wanted.size();
    std::vector<VReg> chooses;
    for (std::size_t half = 1; half < choices; half *= 2) {
      chooses.push_back(b_.predicate());
      b_.emit(Opcode::kAlu, "LOP3", {chooses.back()}, {lane}, static_cast<std::uint32_t>(half));
    }
    std::vector<Element> own;
    for (std::size_t n = 0; n < wanted.size(); ++n) {
      std::vector<Element> left(got.begin() + static_cast<std::ptrdiff_t>(n * choices),
                                got.begin() + static_cast<std::ptrdiff_t>((n + 1) * choices));
      for (std::size_t level = 0; left.size() > 1; ++level) {
        std::vector<Element> fewer;
        for (std::size_t i = 0; i < left.size(); i += 2) {
          fewer.push_back(choose(left[i], left[i + 1], chooses[level]));
        }
        left = std::move(fewer);
      }
      own.push_back(left[0]);
    }
    return spread(own);
  }

  VReg exchange(VReg value, VReg partner, std::uint32_t number) {
    return b_.value(Opcode::kShfl, "SHFL.IDX", {value, partner}, number);
  }
  Element choose(const Element& a, const Element& b, VReg which) {
    Element chosen{b_.value(Opcode::kAlu, "SEL", {a.reg, b.reg, which})};
    if (bits_ > 32) chosen.high = b_.value(Opcode::kAlu, "SEL", {a.high, b.high, which});
    return chosen;
  }

  /// Elements that both layouts keep side by side in registers move as one.
  std::uint32_t common_elements() const {
    std::uint32_t common = 1;
    for (const kernel::Basis& basis : from_.registers) {
      const bool moves = std::any_of(basis.begin(), basis.end(), [](auto x) { return x != 0; });
      const bool both =
          std::find(to_.registers.begin(), to_.registers.end(), basis) != to_.registers.end();
      if (moves && both && common * 2 * bits_ <= kMostBytes * 8) common *= 2;
    }
    return common;
  }

  VReg address(std::uint32_t which) {
    const VReg tid = l_.index_math().tid();
    const VReg lane = b_.value(Opcode::kAlu, "LOP3", {tid}, 0x1f | which << 8);
    const VReg warp = b_.value(Opcode::kAlu, "SHF.R", {tid}, 5 | which << 8);
    const VReg row = b_.value(Opcode::kAlu, "LOP3", {warp, lane}, which);
    const VReg swizzled = b_.value(Opcode::kAlu, "LOP3", {row, lane}, 0x78 | which);
    return b_.value(Opcode::kAlu, "LEA", {swizzled, l_.shared_base()}, which);
  }

  std::vector<Element> through_shared_memory(const std::vector<Element>& source) {
    const auto stored = own_registers(from_), loaded = own_registers(to_);
    const std::uint32_t together = common_elements();
    const std::uint32_t bytes = std::max(1u, together * bits_ / 8);
    std::int64_t elements = 1;
    for (auto extent : to_.shape) elements *= extent;
    l_.use_shared(elements * bits_ / 8);
    if (l_.take_shared_dirty()) barrier();
    const VReg to_store = address(0);
    const std::uint32_t idle = from_.copy_lanes() | from_.copy_warps() << 5;
    const VReg guard = idle == 0 ? kNoVReg : l_.tid_bits_clear(idle);
    for (std::size_t first = 0; first < stored.size(); first += together) {
      store(source, stored, first, together, bytes, to_store, guard);
    }
    barrier();
    const VReg to_load = address(1);
    std::vector<Element> own;
    for (std::size_t first = 0; first < loaded.size(); first += together) {
      load(first, together, bytes, to_load, own);
    }
    return spread(own);
  }

  void store(const std::vector<Element>& source, const std::vector<std::uint32_t>& registers,
             std::size_t first, std::uint32_t count, std::uint32_t bytes, VReg at, VReg guard) {
    std::vector<VReg> words;
    const std::uint32_t a_word = std::max(1u, 32 / bits_);
    for (std::uint32_t e = 0; e < count; e += a_word) {
      VReg word = l_.in_register(source[registers[first + e]]);
      const Element& lowest = source[registers[first + e]];
      for (std::uint32_t n = 1; n < a_word && e + n < count; ++n) {
        const Element& next = source[registers[first + e + n]];
        if (!next.is_constant() && next.reg == lowest.reg) continue;
        word = b_.value(Opcode::kAlu, "PRMT", {word, l_.in_register(next)}, n);
      }
      words.push_back(word);
      if (bits_ > 32) words.push_back(l_.high_half(lowest));
    }
    if (words.size() > 1 && !b_.code().tie(words)) {
      for (auto& w : words) w = b_.move(w);
      b_.code().tie(words);
    }
    MachineInstruction& i = b_.emit(Opcode::kSts, memory_mnemonic(Opcode::kSts, bytes), {}, {at},
                                    static_cast<std::uint32_t>(first));
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.guard = guard;
    i.width = static_cast<std::uint16_t>(bytes);
    i.active_lanes = static_cast<std::uint8_t>(
        guard == kNoVReg ? 0 : kWarpLanes >> std::popcount(from_.copy_lanes()));
    i.effect = MemoryEffect::kSharedStore;
  }
  void load(std::size_t first, std::uint32_t count, std::uint32_t bytes, VReg at,
            std::vector<Element>& own) {
    std::vector<VReg> words(std::max(1u, bytes / 4));
    for (auto& w : words) w = b_.general();
    if (words.size() > 1) b_.code().tie(words);
    MachineInstruction& i = b_.emit(Opcode::kLds, memory_mnemonic(Opcode::kLds, bytes), {}, {at},
                                    static_cast<std::uint32_t>(first));
    i.defs.assign(words.begin(), words.end());
    i.width = static_cast<std::uint16_t>(bytes);
    i.effect = MemoryEffect::kSharedLoad;
    for (std::uint32_t e = 0; e < count; ++e) {
      const std::size_t word = e * bits_ / 32;
      own.push_back({words[word], 0, bits_ < 32 ? e * bits_ % 32 : 0,
                     bits_ > 32 ? words[word + 1] : kNoVReg});
    }
  }
  void barrier() {
    b_.emit(Opcode::kBar, "BAR.SYNC.DEFER_BLOCKING", {}, {}).effect = MemoryEffect::kBarrier;
  }

  Lowering& l_;
  Builder& b_;
  const kernel::LinearLayout &from_, &to_;
  std::uint32_t bits_;
};

/// The addresses that a tile of pointers holds, each in two registers.
std::vector<Element> whole_addresses(Lowering& l, const kernel::Value& pointers,
                                     const kernel::LinearLayout& layout) {
  std::vector<Element> addresses;
  for (std::uint32_t r = 0; r < layout.register_count(); ++r) {
    const Address at = address(l, pointers, r);
    Element e{at.low, 0, 0, at.high};
    if (at.immediate != 0) {
      const auto offset = static_cast<std::uint32_t>(at.immediate);
      e.reg = l.builder().value(Opcode::kAlu, "IADD3", {at.low}, offset);
      e.high = l.builder().value(Opcode::kAlu, "IADD3.X", {at.high, e.reg});
    }
    addresses.push_back(e);
  }
  return addresses;
}

}  // namespace

/// Closed forms are computed anew in the other layout. Pointers in registers move as whole
/// addresses.
bool lower_convert_layout(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* from = l.layout(op.operands[0]->type, op);
  const kernel::LinearLayout* to = l.layout(op.result()->type, op);
  if (!from || !to) return false;
  const ValueState source = l.operand(op, 0);
  ValueState& result = l.state(*op.result());
  if (source.kind == ValueKind::kIndex || source.kind == ValueKind::kMask ||
      (source.kind == ValueKind::kPointer && source.elements.empty())) {
    result = source;
    result.layout = to;
    result.index.layout = source.index.layout ? to : nullptr;
    result.elements.clear();
    for (Comparison& c : result.comparisons) {
      if (c.left.layout) c.left.layout = to;
      if (c.right.layout) c.right.layout = to;
    }
    return true;
  }
  Conversion conversion(l, op, *from, *to);
  if (source.kind == ValueKind::kPointer) {
    result = {};
    result.kind = ValueKind::kPointer;
    result.bytes = source.bytes;
    result.layout = result.index.layout = to;
    result.elements = conversion.run(whole_addresses(l, *op.operands[0], *from));
    return true;
  }
  l.set_elements(*op.result(), to, conversion.run(l.elements(*op.operands[0])));
  return true;
}

}  // namespace xpusim::gpu
