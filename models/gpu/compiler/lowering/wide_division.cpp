// Quotients and remainders of 64-bit integers. By a constant: a shift, or the upper half of a
// product of two times two words. By a number in registers: where the upper halves of both are
// zero, which is the common case, the 32-bit expansion; others call a routine of the vendor's,
// which is not modelled.

#include <bit>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

class WideDivision {
 public:
  WideDivision(Lowering& l, const kernel::Op& op)
      : l_(l),
        b_(l.builder()),
        is_signed_(op.name() == "arith.divsi" || op.name() == "arith.remsi"),
        remainder_(op.name() == "arith.remsi" || op.name() == "arith.remui") {}

  Element by_constant(const Element& x, std::int64_t divisor) {
    const VReg low = l_.in_register(x), high = l_.high_half(x);
    const auto d = static_cast<std::uint64_t>(divisor < 0 && is_signed_ ? -divisor : divisor);
    const Element r = std::has_single_bit(d)
                          ? by_power(low, high, static_cast<std::uint32_t>(std::countr_zero(d)))
                          : by_product(low, high, static_cast<std::uint32_t>(d));
    if (divisor > 0 || remainder_ || !is_signed_) return r;
    const VReg negated = alu("IADD3", {r.reg}, 0x80000000u);
    return {negated, 0, 0, alu("IADD3.X", {r.high, negated}, 0)};
  }

  Element by_register(const Element& x, const Element& d) {
    const VReg low = l_.in_register(x), divisor = l_.in_register(d);
    const VReg any = alu("LOP3", {l_.high_half(x), l_.high_half(d)}, 0xfc);
    const VReg large = b_.predicate();
    b_.emit(Opcode::kAlu, "ISETP", {large}, {any});
    b_.emit(Opcode::kNop, "BSSY", {}, {});
    b_.emit(Opcode::kNop, "BRA", {}, {}).guard = large;
    const Element r = by_word(low, divisor);
    b_.emit(Opcode::kNop, "BRA", {}, {});
    b_.emit(Opcode::kNop, "BSYNC", {}, {});
    return r;
  }

 private:
  VReg alu(std::string_view mnemonic, std::initializer_list<VReg> uses, std::uint32_t immediate) {
    return b_.value(Opcode::kAlu, mnemonic, uses, immediate);
  }
  VReg fma(std::string_view mnemonic, std::initializer_list<VReg> uses, std::uint32_t immediate) {
    return b_.value(Opcode::kFma, mnemonic, uses, immediate);
  }
  std::pair<VReg, VReg> wide(std::string_view mnemonic, std::initializer_list<VReg> uses,
                             std::uint32_t immediate) {
    const VReg low = b_.general(), high = b_.general();
    b_.code().tie({low, high});
    b_.emit(Opcode::kFma, mnemonic, {low, high}, uses, immediate);
    return {low, high};
  }

  Element by_power(VReg low, VReg high, std::uint32_t bits) {
    if (!is_signed_) {
      if (remainder_) {
        const VReg zero = b_.constant(0);
        return {alu("LOP3", {low}, (1u << (bits % 32)) - 1), 0, 0,
                bits > 32 ? alu("LOP3", {high}, (1u << (bits - 32)) - 1) : zero};
      }
      return {alu("SHF.R.U64", {low, high}, bits), 0, 0, alu("SHF.R.U32.HI", {high}, bits)};
    }
    const VReg sign = alu("SHF.R.S32.HI", {high}, 31);
    const VReg biased = alu("LEA.HI", {sign, low}, bits);
    const VReg carried = alu("IADD3.X", {high, biased}, 0);
    if (!remainder_) {
      return {alu("SHF.R.S64", {biased, carried}, bits), 0, 0,
              alu("SHF.R.S32.HI", {carried}, bits)};
    }
    const VReg multiple = alu("LOP3", {biased}, ~((1u << (bits % 32)) - 1));
    const VReg rest = alu("IADD3", {low, multiple}, 0);
    return {rest, 0, 0, alu("IADD3.X", {high, carried, rest}, 0)};
  }

  Element by_product(VReg low, VReg high, std::uint32_t d) {
    const auto first = wide("IMAD.WIDE.U32", {high}, d);
    const auto second = wide("IMAD.WIDE.U32", {low, first.first, first.second}, d ^ 1);
    const auto lowest = wide("IMAD.WIDE.U32", {low}, d);
    const VReg carry = fma("IMAD.X", {second.second}, 0);
    const VReg sum = alu("IADD3", {lowest.second, second.first}, 0);
    const VReg moved = fma("IMAD.MOV.U32", {second.second}, 0);
    auto [q, q_high] = wide("IMAD.WIDE.U32.X", {high, moved, carry, sum}, d);
    if (is_signed_) {
      const VReg negative = b_.predicate();
      b_.emit(Opcode::kAlu, "ISETP", {negative}, {high});
      const VReg less = alu("IADD3", {q}, d);
      const VReg less_high = alu("IADD3.X", {q_high, less}, d);
      q = alu("SEL", {less, q, negative}, 0);
      q_high = alu("SEL", {less_high, q_high, negative}, 0);
      const VReg shifted = alu("SHF.R.S64", {q, q_high}, 2);
      q = alu("LEA.HI", {q_high, shifted}, 1);
      q_high = alu("LEA.HI.X.SX32", {q_high, q}, 0);
    } else {
      q = alu("SHF.R.U64", {q, q_high}, 2);
      q_high = alu("SHF.R.U32.HI", {q_high}, 2);
    }
    if (!remainder_) return {q, 0, 0, q_high};
    const auto product = wide("IMAD.WIDE.U32", {q, low, high}, d);
    const VReg upper = fma("IMAD", {q_high}, d);
    return {product.first, 0, 0, alu("IADD3", {product.second, q, upper}, d)};
  }

  Element by_word(VReg x, VReg d) {
    const VReg as_float = b_.value(Opcode::kMufu, "I2F.U32.RP", {d});
    const VReg inverse = b_.value(Opcode::kMufu, "MUFU.RCP", {as_float});
    const VReg raised = alu("IADD3", {inverse}, 0xffffffe);
    const VReg guess = b_.value(Opcode::kMufu, "F2I.FTZ.U32.TRUNC.NTZ", {raised});
    const VReg minus = alu("IADD3", {guess}, 0x80000000u);
    const VReg error = fma("IMAD", {minus, d}, 0);
    const VReg multiplier = fma("IMAD.HI.U32", {guess, error}, 0);
    const VReg quotient = fma("IMAD.HI.U32", {multiplier, x}, 0);
    const VReg negative = alu("IADD3", {quotient}, 0x80000000u);
    const VReg rest = fma("IMAD", {d, negative, x}, 0);
    const VReg wanted = remainder_ ? rest : quotient;
    for (std::uint32_t step = 0; step < 2; ++step) {
      const VReg large = b_.predicate();
      b_.emit(Opcode::kAlu, "ISETP", {large}, {d, rest}, step);
      b_.redefine(Opcode::kAlu, "IADD3", rest, large, false, {d}, step);
      if (!remainder_) b_.redefine(Opcode::kAlu, "IADD3", quotient, large, false, {}, 1);
    }
    const VReg defined = b_.predicate();
    b_.emit(Opcode::kAlu, "ISETP", {defined}, {d});
    b_.redefine(Opcode::kAlu, "LOP3", wanted, defined, true, {d}, 0x33);
    return {wanted, 0, 0, b_.constant(0)};
  }

  Lowering& l_;
  Builder& b_;
  bool is_signed_, remainder_;
};

}  // namespace

bool lower_wide_division(Lowering& l, const kernel::Op& op) {
  const auto constant = kernel::integer_constant(*op.operands[1]);
  if (constant && *constant == 0) return l.error(op, "a division by zero");
  const bool by_constant = constant && *constant > -(1ll << 31) && *constant < (1ll << 32);
  WideDivision division(l, op);
  return map_elements(l, op, [&](std::span<const Element> e) {
    return by_constant ? division.by_constant(e[0], *constant) : division.by_register(e[0], e[1]);
  });
}

}  // namespace xpusim::gpu
