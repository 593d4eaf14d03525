// What a loop carries from one iteration to the next: in which registers, and how the next values
// get there.

#include "models/gpu/compiler/lowering/loop_values.h"

#include <algorithm>
#include <map>
#include <set>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

bool is_tile(const kernel::Value& v) { return v.type->kind == kernel::TypeKind::kTensor; }

/// Whether a tile of pointers only moves by the same number of elements in all threads, from one
/// iteration to the next: then its base moves, and the threads' offsets stay.
bool moves_as_one(const kernel::Value& carried, const kernel::Value& yielded) {
  if (!is_tile(carried)) return true;
  if (&carried == &yielded) return true;
  const kernel::Op* add = yielded.def;
  if (add == nullptr || add->name() != "tt.addptr") return false;
  const kernel::Op* step = add->operands[1]->def;
  const bool same = step && (step->name() == "tt.splat" || step->name() == "arith.constant");
  return same && moves_as_one(carried, *add->operands[0]);
}

/// A fresh register with what another one holds.
VReg copy_of(Lowering& l, VReg from) {
  Builder& b = l.builder();
  switch (b.code().registers[from]) {
    case RegFile::kUniform: {
      const VReg to = b.uniform();
      b.emit(Opcode::kUniform, "UMOV", {to}, {from});
      return to;
    }
    case RegFile::kPredicate: {
      const VReg to = b.predicate();
      b.emit(Opcode::kAlu, "PLOP3", {to}, {from});
      return to;
    }
    case RegFile::kGeneral:
      break;
  }
  return b.move(from);
}

/// The pointer's base becomes a pair of registers that moves.
bool carry_base(Lowering& l, const ValueState& initial, const kernel::Value& carried) {
  const auto [low, high] = l.scalars().pointer(initial.base);
  const VReg a = copy_of(l, low), b = copy_of(l, high);
  l.builder().code().tie({a, b});
  ValueState& s = l.state(carried);
  s = initial;
  s.base = l.scalars().in_register_pair(a, b);
  s.alias = true;
  return true;
}

/// Each thread carries its own pointers.
bool carry_pointers(Lowering& l, const kernel::Op& op, const kernel::Value& initial,
                    const kernel::Value& carried) {
  const kernel::LinearLayout* layout = l.layout(carried.type, op);
  if (!layout) return false;
  ValueState s = l.state(initial);
  std::vector<Element> registers;
  for (std::uint32_t r = 0; r < layout->register_count(); ++r) {
    const Address at = address(l, initial, r);
    Element own{copy_of(l, at.low)};
    own.high = copy_of(l, at.high);
    l.builder().code().tie({own.reg, own.high});
    if (at.immediate != 0) {
      l.builder().emit(Opcode::kAlu, "IADD3", {own.reg}, {own.reg},
                       static_cast<std::uint32_t>(at.immediate));
      l.builder().emit(Opcode::kAlu, "IADD3.X", {own.high}, {own.high, own.reg});
    }
    registers.push_back(own);
  }
  s.base = kNoScalar;
  s.index = {};
  s.index.layout = s.layout = layout;
  s.elements = std::move(registers);
  l.state(carried) = std::move(s);
  return true;
}

/// A constant in a register, or two: zeros go by pairs.
std::vector<Element> constants_in_registers(Lowering& l, const std::vector<Element>& constants) {
  Builder& b = l.builder();
  std::vector<Element> result;
  for (std::size_t n = 0; n < constants.size(); ++n) {
    const bool pair =
        n + 1 < constants.size() && constants[n].bits == 0 && constants[n + 1].bits == 0;
    if (!pair) {
      result.push_back({b.constant(constants[n].bits)});
      continue;
    }
    const VReg low = b.general(), high = b.general();
    b.emit(Opcode::kAlu, "CS2R", {low, high}, {});
    result.push_back({low});
    result.push_back({high});
    ++n;
  }
  return result;
}

/// What one register of the next iteration is set to.
struct HandOn {
  VReg carried, value;  // kNoVReg: a constant
  std::uint32_t constant = 0;
};

/// Lets the instructions that make values in the loop write the registers that the next iteration
/// reads, where that can be: the value is made in the loop, and what it replaces is not read after.
/// Registers that must stand side by side go together.
class InPlace {
 public:
  InPlace(MachineCode& code, std::size_t first_block) : code_(code), first_(first_block) {}

  /// The ones that are left to be copied.
  std::vector<HandOn> run(const std::vector<HandOn>& all) {
    std::map<std::int32_t, std::vector<HandOn>> groups;
    std::int32_t single = -1;
    std::set<VReg> seen;
    std::vector<HandOn> left;
    for (const HandOn& h : all) {
      if (h.value == kNoVReg || !seen.insert(h.value).second ||
          code_.registers[h.value] != code_.registers[h.carried]) {
        left.push_back(h);
        continue;
      }
      const std::int32_t tuple = code_.tuple_of[h.value];
      groups[tuple >= 0 ? tuple : single--].push_back(h);
    }
    for (const auto& [tuple, group] : groups) {
      if (fits(tuple, group)) {
        for (const HandOn& h : group) rename(h);
        if (tuple >= 0 && code_.tuple_of[group[0].carried] < 0) adopt(tuple);
      } else {
        left.insert(left.end(), group.begin(), group.end());
      }
    }
    return left;
  }

 private:
  bool fits(std::int32_t tuple, const std::vector<HandOn>& group) const {
    if (tuple >= 0) {
      const Tuple& members = code_.tuples[static_cast<std::size_t>(tuple)];
      if (members.size() != group.size()) return false;
      Tuple renamed;
      for (VReg m : members) {
        const auto h = std::find_if(group.begin(), group.end(),
                                    [&](const HandOn& one) { return one.value == m; });
        if (h == group.end()) return false;
        renamed.push_back(h->carried);
      }
      for (VReg c : renamed) {
        const std::int32_t other = code_.tuple_of[c];
        if (other >= 0 && code_.tuples[static_cast<std::size_t>(other)] != renamed) return false;
        if ((other >= 0) != (code_.tuple_of[renamed[0]] >= 0)) return false;
      }
    }
    return std::all_of(group.begin(), group.end(), [&](const HandOn& h) { return may_write(h); });
  }
  bool may_write(const HandOn& h) const {
    for (std::size_t b = 0; b < first_; ++b) {
      for (const MachineInstruction& i : code_.blocks[b].code) {
        if (std::count(i.defs.begin(), i.defs.end(), h.value) != 0) return false;
      }
    }
    bool written = false;
    for (std::size_t b = first_; b < code_.blocks.size(); ++b) {
      for (const MachineInstruction& i : code_.blocks[b].code) {
        const bool reads =
            std::count(i.uses.begin(), i.uses.end(), h.carried) != 0 || i.guard == h.carried;
        const bool writes = std::count(i.defs.begin(), i.defs.end(), h.value) != 0;
        const bool redefines = std::count(i.defs.begin(), i.defs.end(), h.carried) != 0;
        if (redefines && !reads) return false;
        if (written && reads) return false;
        if (!writes) continue;
        if (!written && i.guard != kNoVReg) return false;
        written = true;
      }
    }
    return written;
  }
  void rename(const HandOn& h) {
    for (std::size_t b = first_; b < code_.blocks.size(); ++b) {
      for (MachineInstruction& i : code_.blocks[b].code) {
        std::replace(i.defs.begin(), i.defs.end(), h.value, h.carried);
        std::replace(i.uses.begin(), i.uses.end(), h.value, h.carried);
        if (i.guard == h.value) i.guard = h.carried;
      }
    }
    renamed_[h.value] = h.carried;
  }
  void adopt(std::int32_t tuple) {
    Tuple& members = code_.tuples[static_cast<std::size_t>(tuple)];
    for (VReg& m : members) {
      code_.tuple_of[m] = -1;
      m = renamed_.at(m);
      code_.tuple_of[m] = tuple;
    }
  }

  MachineCode& code_;
  std::size_t first_;
  std::map<VReg, VReg> renamed_;
};

void advance_pointer(Lowering& l, const ValueState& carried, const ValueState& next,
                     std::vector<HandOn>& hand_on) {
  const auto [low, high] = l.scalars().pointer(carried.base);
  auto [a, b] = l.scalars().pointer(next.base);
  const std::int64_t bytes = (next.index.offset - carried.index.offset) * next.bytes;
  if (bytes != 0) {
    const VReg x = l.builder().general(), y = l.builder().general();
    l.builder().code().tie({x, y});
    l.builder().emit(Opcode::kAlu, "IADD3.CO", {x}, {a}, static_cast<std::uint32_t>(bytes));
    l.builder().emit(Opcode::kFma, "IMAD.X", {y}, {b, x});
    a = x;
    b = y;
  }
  if (a == low) return;
  hand_on.push_back({low, a});
  hand_on.push_back({high, b});
}

}  // namespace

void copy_into(Lowering& l, VReg to, VReg from, std::uint32_t constant) {
  Builder& b = l.builder();
  const RegFile file = b.code().registers[to];
  if (file == RegFile::kUniform) {
    const bool crosses = from != kNoVReg && b.code().registers[from] != RegFile::kUniform;
    b.emit(Opcode::kUniform, crosses ? "R2UR" : "UMOV", {to}, {from}, constant);
  } else {
    b.emit(Opcode::kAlu, file == RegFile::kPredicate ? "PLOP3" : "MOV", {to}, {from}, constant)
        .hands_on = from != kNoVReg;
  }
}

bool carry(Lowering& l, const kernel::Op& op, const kernel::Value& initial,
           const kernel::Value& carried, const kernel::Value& yielded) {
  const ValueState state = l.state(initial);
  if (state.kind == ValueKind::kPointer) {
    return moves_as_one(carried, yielded) && state.base != kNoScalar
               ? carry_base(l, state, carried)
               : carry_pointers(l, op, initial, carried);
  }
  if (state.kind == ValueKind::kBuffer || carried.type->kind == kernel::TypeKind::kToken) {
    l.state(carried) = state;
    return true;
  }
  if (l.is_uniform(carried) && state.kind == ValueKind::kIndex) {
    const VReg own = l.builder().uniform();
    if (state.index.scalar == kNoScalar) {
      copy_into(l, own, kNoVReg, static_cast<std::uint32_t>(state.index.offset));
    } else {
      l.builder().emit(Opcode::kUniform, "UMOV", {own}, {l.uniform(state.index)});
    }
    l.state(carried) = {};
    l.state(carried).kind = ValueKind::kIndex;
    l.state(carried).index.scalar = l.scalars().in_uniform_register(own);
    return true;
  }
  const bool both_halves = kernel::bit_width(initial.type->dtype) > 32;
  const bool is_mask = initial.type->dtype == kernel::DType::kI1;
  std::vector<Element> from = l.elements(initial);
  const std::size_t count = from.size();
  if (l.is_even(carried) && count > 1) from.resize(1);
  std::vector<Element> registers;
  if (!both_halves && !is_mask &&
      std::all_of(from.begin(), from.end(), [](const Element& e) { return e.is_constant(); })) {
    registers = constants_in_registers(l, from);
  } else {
    for (const Element& e : from) {
      const Element whole = l.whole(e);
      Element own;
      if (is_mask) {
        own.reg = l.builder().predicate();
        copy_into(l, own.reg, whole.reg, whole.bits);
      } else {
        own.reg = l.builder().value(Opcode::kAlu, "MOV", {whole.reg}, whole.bits);
      }
      if (both_halves) own.high = l.builder().move(l.high_half(whole));
      registers.push_back(own);
    }
  }
  if (registers.size() < count) registers.resize(count, registers[0]);
  const kernel::LinearLayout* layout = nullptr;
  if (is_tile(carried)) layout = l.layout(carried.type, op);
  l.set_elements(carried, layout, std::move(registers));
  return true;
}

bool hand_on(Lowering& l, const kernel::Op& yield, const kernel::Block& body,
             std::size_t first_block) {
  std::vector<HandOn> all;
  for (std::size_t n = 0; n < yield.operands.size(); ++n) {
    const ValueState carried = l.state(*body.args[n + 1]);
    const kernel::Value& yielded = *yield.operands[n];
    if (carried.kind == ValueKind::kBuffer || carried.kind == ValueKind::kNone) continue;
    if (carried.kind == ValueKind::kPointer && carried.base != kNoScalar) {
      advance_pointer(l, carried, l.state(yielded), all);
      continue;
    }
    if (carried.kind == ValueKind::kIndex) {  // on the uniform datapath
      const VReg own = l.scalars().uniform(carried.index.scalar);
      const VReg next = l.state(yielded).kind == ValueKind::kIndex
                            ? l.uniform(l.state(yielded).index)
                            : l.in_register(l.elements(yielded)[0]);
      if (next != own) all.push_back({own, next});
      continue;
    }
    std::vector<Element> next;
    if (carried.kind == ValueKind::kPointer) {
      for (std::uint32_t r = 0; r < carried.elements.size(); ++r) {
        const Address at = address(l, yielded, r);
        if (at.immediate != 0) return l.error(yield, "a pointer moves on by a constant only");
        next.push_back({at.low, 0, 0, at.high});
      }
    } else {
      next = l.elements(yielded);
    }
    if (next.empty()) return l.error(yield, "a loop yields a value that has no registers");
    next.resize(carried.elements.size(), next[0]);
    for (std::size_t r = 0; r < next.size(); ++r) {
      const Element& own = carried.elements[r];
      const Element e = l.whole(next[r]);
      if (e == own || (r > 0 && own == carried.elements[0])) continue;
      if (own.high != kNoVReg) all.push_back({own.high, l.high_half(e)});
      all.push_back({own.reg, e.reg, e.bits});
    }
  }
  for (const HandOn& h : InPlace(l.builder().code(), first_block).run(all)) {
    copy_into(l, h.carried, h.value, h.constant);
  }
  return true;
}

}  // namespace xpusim::gpu
