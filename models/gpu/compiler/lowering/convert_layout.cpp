// ttg.convert_layout: elements move to other registers, lanes or warps, by the cheapest of three
// ways: registers are renamed, lanes exchange by shuffles, warps through shared memory.

#include <algorithm>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_words.h"
#include "models/gpu/compiler/lowering/tile_access.h"
#include "sim/kernel/analysis/exchange_layout.h"

namespace xpusim::gpu {
namespace {

std::uint32_t bits_of(const kernel::Type type) {
  return type->is_pointer_like() ? 64 : std::max(8, kernel::bit_width(type->dtype));
}

/// What the threads of one layout move in a round.
class ExchangeSide {
 public:
  ExchangeSide(const kernel::LinearLayout& whole, const kernel::ExchangeLayout& exchange)
      : layout_(whole) {
    layout_.registers.clear();
    std::vector<std::pair<std::int64_t, std::uint32_t>> moved;
    for (std::uint32_t bit = 0; bit < whole.registers.size(); ++bit) {
      if ((whole.copy_registers() >> bit & 1) != 0) continue;
      const kernel::Basis& basis = whole.registers[bit];
      if (const std::uint32_t round = exchange.round(basis)) {
        rounds_.emplace_back(round, 1u << bit);
      } else {
        moved.emplace_back(exchange.shared.unpadded(basis), bit);
      }
    }
    // Elements of a word come first, the others in their order.
    constexpr std::int64_t kWordBytes = 4;
    std::stable_sort(moved.begin(), moved.end(), [&](const auto& a, const auto& b) {
      return std::min(a.first, kWordBytes) < std::min(b.first, kWordBytes);
    });
    for (const auto& [offset, bit] : moved) {
      bits_.push_back(1u << bit);
      layout_.registers.push_back(whole.registers[bit]);
    }
  }
  /// Of a round's registers.
  const kernel::LinearLayout& layout() const { return layout_; }
  /// Their numbers in the whole layout.
  std::vector<std::uint32_t> registers(std::uint32_t round) const {
    std::uint32_t first = 0;
    for (const auto& [number, bit] : rounds_) first |= (number & round) != 0 ? bit : 0;
    std::vector<std::uint32_t> list{first};
    for (std::uint32_t bit : bits_) {
      for (std::size_t n = 0, count = list.size(); n < count; ++n) list.push_back(list[n] | bit);
    }
    return list;
  }

 private:
  kernel::LinearLayout layout_;
  std::vector<std::uint32_t> bits_;  ///< [bit of a round's register] of the whole layout's
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rounds_;  ///< round number, register bit
};

class Conversion {
 public:
  Conversion(Lowering& l, const kernel::Op& op, const kernel::LinearLayout& from,
             const kernel::LinearLayout& to)
      : l_(l),
        b_(l.builder()),
        from_(from),
        to_(to),
        bits_(bits_of(op.result()->type)),
        even_(l.is_even(*op.operands[0])) {}

  std::vector<Element> run(const std::vector<Element>& source) {
    if (source.size() == 1 && (even_ || from_.register_count() > 1)) {
      return std::vector<Element>(to_.register_count(), source[0]);
    }
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
  /// To other lanes or warps. Triton shuffles within warps unless two or more bits of the lane's
  /// number come from the register's.
  std::vector<Element> moved(const std::vector<Element>& source) {
    constexpr std::size_t kMostFromRegisters = 1;
    const bool shuffles = from_.warps == to_.warps && lanes_from_registers() <= kMostFromRegisters;
    return shuffles ? by_shuffles(source) : through_shared_memory(source);
  }
  std::size_t lanes_from_registers() const {
    const auto& own = from_.registers;
    return static_cast<std::size_t>(
        std::count_if(to_.lanes.begin(), to_.lanes.end(), [&](const kernel::Basis& lane) {
          return std::find(own.begin(), own.end(), lane) != own.end() &&
                 std::any_of(lane.begin(), lane.end(), [](auto step) { return step != 0; });
        }));
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

  /// In rounds, where both layouts keep a part of the tile in other registers than the rest.
  std::vector<Element> through_shared_memory(const std::vector<Element>& source) {
    constexpr int kFirstWithLdsm = 75, kFirstWithStsm = 90;
    const kernel::ExchangeLayout exchange = kernel::exchange_layout(
        from_, to_, bits_, {l_.capability() >= kFirstWithStsm, l_.capability() >= kFirstWithLdsm});
    const ExchangeSide stored(from_, exchange), loaded(to_, exchange);
    l_.use_shared(exchange.shared.bytes);
    std::vector<Element> result(to_.register_count());
    for (std::uint32_t round = 0; round < exchange.rounds; ++round) {
      if (round == 0) {
        if (l_.take_shared_dirty()) l_.barrier();
      } else {
        meet();
      }
      store(stored, exchange, source, round);
      meet();
      load(loaded, exchange, round, result);
    }
    for (std::uint32_t r = 0; r < result.size(); ++r) result[r] = result[r & ~to_.copy_registers()];
    return result;
  }
  /// All that have written or read: only the warp's own lanes, where no other warp wants of it.
  void meet() {
    if (from_.warps != to_.warps) {
      barrier_before_loads(l_);
    } else {
      b_.emit(Opcode::kNop, "NOP", {}, {}).effect = MemoryEffect::kBarrier;
    }
  }
  void store(const ExchangeSide& side, const kernel::ExchangeLayout& exchange,
             const std::vector<Element>& source, std::uint32_t round) {
    std::vector<Element> values;
    for (std::uint32_t r : side.registers(round)) values.push_back(source[r]);
    const kernel::LinearLayout& layout = side.layout();
    const auto rows = exchange.store == kernel::ExchangeAccess::kVectors
                          ? std::nullopt
                          : matrix_rows(layout, exchange.shared);
    if (rows) {
      store_matrices(l_, layout, exchange.shared, *rows, values, {});
    } else {
      store_vectors(l_, layout, exchange.shared, values, {});
    }
  }
  void load(const ExchangeSide& side, const kernel::ExchangeLayout& exchange, std::uint32_t round,
            std::vector<Element>& result) {
    const kernel::LinearLayout& layout = side.layout();
    const auto rows = exchange.load == kernel::ExchangeAccess::kVectors
                          ? std::nullopt
                          : matrix_rows(layout, exchange.shared);
    const std::vector<Element> values = rows ? load_matrices(l_, layout, exchange.shared, *rows, {})
                                             : load_vectors(l_, layout, exchange.shared, {});
    const std::vector<std::uint32_t> registers = side.registers(round);
    for (std::size_t n = 0; n < values.size(); ++n) result[registers[n]] = values[n];
  }

  Lowering& l_;
  Builder& b_;
  const kernel::LinearLayout &from_, &to_;
  std::uint32_t bits_;
  bool even_;  ///< all elements are one number
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
