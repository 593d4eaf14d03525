// Integer quotients and remainders: shifts and high products for constant divisors, the long
// expansion by way of a reciprocal for others.

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

/// x / d = high(x * multiplier) >> shift for 32-bit numbers, after an addition of x where the
/// multiplier does not fit (Granlund and Montgomery 1994).
struct Magic {
  std::uint32_t multiplier = 0, shift = 0;
  bool adds = false;
};

__extension__ using Wide = unsigned __int128;

Magic magic_of(std::uint64_t divisor, bool is_signed) {
  const std::uint32_t bits = is_signed ? 31 : 32;
  for (std::uint32_t shift = 0; shift < 32; ++shift) {
    const Wide power = static_cast<Wide>(1) << (32 + shift);
    const auto multiplier = static_cast<std::uint64_t>((power + divisor - 1) / divisor);
    const auto rest = static_cast<std::uint64_t>(static_cast<Wide>(multiplier) * divisor - power);
    if (rest <= (std::uint64_t{1} << (32 + shift - bits))) {
      return {static_cast<std::uint32_t>(multiplier), shift, multiplier >> bits != 0};
    }
  }
  return {};
}

/// Quotient and remainder of one element, emitted as far as they are asked for.
class Division {
 public:
  Division(Lowering& l, const kernel::Op& op)
      : b_(l.builder()),
        is_signed_(op.name() == "arith.divsi" || op.name() == "arith.remsi"),
        remainder_(op.name() == "arith.remsi" || op.name() == "arith.remui") {}

  /// Numbers that are not negative divide as unsigned ones do.
  void set_signed(bool is_signed) { is_signed_ = is_signed; }
  /// `sign`: of x in all bits, if it is known; else kNoVReg.
  VReg by_constant(VReg x, std::int64_t divisor, VReg sign) {
    const auto d = static_cast<std::uint64_t>(divisor < 0 ? -divisor : divisor);
    const VReg r = std::has_single_bit(d)
                       ? by_power(x, static_cast<std::uint32_t>(std::countr_zero(d)), sign)
                       : by_product(x, d);
    if (divisor > 0 || remainder_) return r;
    return b_.value(Opcode::kAlu, "IADD3", {r}, 0x80000000u);  // negated
  }

  /// By a number in a register: the magnitudes by a rounded reciprocal, a correction, the sign.
  VReg by_register(VReg x, VReg d) {
    const VReg divisor = is_signed_ ? b_.value(Opcode::kAlu, "IABS", {d}) : d;
    const VReg as_float = b_.value(Opcode::kMufu, "I2F.RP", {divisor});
    const VReg inverse = b_.value(Opcode::kMufu, "MUFU.RCP", {as_float});
    const VReg raised = b_.value(Opcode::kAlu, "IADD3", {inverse}, 0xffffffe);
    const VReg guess = b_.value(Opcode::kMufu, "F2I.FTZ.U32.TRUNC.NTZ", {raised});
    const VReg minus = b_.value(Opcode::kAlu, "IADD3", {guess}, 0x80000000u);
    const VReg error = b_.value(Opcode::kFma, "IMAD", {minus, divisor});
    const VReg multiplier = b_.value(Opcode::kFma, "IMAD.HI.U32", {guess, error});
    const VReg magnitude = is_signed_ ? b_.value(Opcode::kAlu, "IABS", {x}) : x;
    const VReg quotient = b_.value(Opcode::kFma, "IMAD.HI.U32", {multiplier, magnitude});
    const VReg negative = b_.value(Opcode::kAlu, "IADD3", {quotient}, 0x80000000u);
    const VReg rest = b_.value(Opcode::kFma, "IMAD", {divisor, negative, magnitude});
    const VReg wanted = remainder_ ? rest : quotient;
    for (std::uint32_t step = 0; step < 2; ++step) {
      const VReg large = b_.predicate();
      b_.emit(Opcode::kAlu, "ISETP", {large}, {divisor, rest}, step);
      b_.redefine(Opcode::kAlu, "IADD3", rest, large, step == 0, {divisor}, step);
      if (!remainder_) b_.redefine(Opcode::kAlu, "IADD3", quotient, large, step == 0, {}, 1);
    }
    if (is_signed_) {
      const VReg sign = b_.predicate();
      const VReg both = remainder_ ? x : b_.value(Opcode::kAlu, "LOP3", {x, d}, 0x3c);
      b_.emit(Opcode::kAlu, "ISETP", {sign}, {both});
      b_.redefine(Opcode::kAlu, "IADD3", wanted, sign, true, {}, 0x80000000u);
    }
    const VReg defined = b_.predicate();
    b_.emit(Opcode::kAlu, "ISETP", {defined}, {d});
    b_.redefine(Opcode::kAlu, "LOP3", wanted, defined, true, {d}, 0x33);
    return wanted;
  }

 private:
  VReg by_power(VReg x, std::uint32_t bits, VReg known_sign) {
    if (!is_signed_) {
      return remainder_ ? b_.value(Opcode::kAlu, "LOP3", {x}, (1u << bits) - 1)
                        : b_.value(Opcode::kAlu, "SHF.R", {x}, bits);
    }
    const VReg sign =
        known_sign != kNoVReg ? known_sign : b_.value(Opcode::kAlu, "SHF.R.S32.HI", {x}, 31);
    const VReg biased = b_.value(Opcode::kAlu, "LEA.HI", {sign, x}, bits);
    if (!remainder_) return b_.value(Opcode::kAlu, "SHF.R.S32.HI", {biased}, bits);
    const VReg multiple = b_.value(Opcode::kAlu, "LOP3", {biased}, ~((1u << bits) - 1));
    return b_.value(Opcode::kAlu, "IADD3", {x, multiple});
  }
  VReg by_product(VReg x, std::uint64_t d) {
    const Magic m = magic_of(d, is_signed_);
    VReg high = b_.value(Opcode::kFma, is_signed_ ? "IMAD.HI" : "IMAD.HI.U32", {x}, m.multiplier);
    if (m.adds) high = b_.value(Opcode::kAlu, "IADD3", {high, x});
    VReg quotient;
    if (is_signed_) {
      const VReg sign = b_.value(Opcode::kAlu, "SHF.R.U32.HI", {high}, 31);
      quotient = b_.value(Opcode::kAlu, "LEA.HI.SX32", {high, sign}, 32 - m.shift);
    } else {
      quotient = m.shift == 0 ? high : b_.value(Opcode::kAlu, "SHF.R.U32.HI", {high}, m.shift);
    }
    if (!remainder_) return quotient;
    return b_.value(Opcode::kFma, "IMAD", {quotient, x}, static_cast<std::uint32_t>(d));
  }

  Builder& b_;
  bool is_signed_, remainder_;
};

/// Whether an index in closed form is zero or more without doubt.
bool is_never_negative(Lowering& l, const IndexForm& f) {
  std::int64_t most = f.offset;
  for (std::size_t d = 0; d < f.factors.size(); ++d) {
    if (f.factors[d] < 0) return false;
    most += f.factors[d] * (f.layout->shape[d] - 1);
  }
  if (f.scalar == kNoScalar) return f.offset >= 0;
  const std::int64_t scalar = l.scalars().largest_natural(f.scalar);
  return f.offset >= 0 && scalar >= 0 && most + scalar <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

/// Elements that follow one another share what their addresses do not need: unread results are
/// dropped by the assembler. Indices in closed form may share their sign.
bool lower_divide_int(Lowering& l, const kernel::Op& op) {
  if (kernel::bit_width(op.result()->type->dtype) > 32) return lower_wide_division(l, op);
  const auto constant = kernel::integer_constant(*op.operands[1]);
  if (constant && *constant == 0) return l.error(op, "a division by zero");
  Division division(l, op);
  const ValueState from = l.operand(op, 0);
  const bool is_signed = op.name() == "arith.divsi" || op.name() == "arith.remsi";
  const bool closed = from.kind == ValueKind::kIndex && constant && is_signed;
  if (closed && *constant > 0) division.set_signed(!is_never_negative(l, from.index));
  return map_elements_by_register(l, op, [&](std::span<const Element> e, std::uint32_t reg) {
    const VReg x = l.in_register(e[0]);
    if (!constant) return Element{division.by_register(x, l.in_register(e[1]))};
    const VReg sign = closed ? l.index_math().sign(from.index, reg) : kNoVReg;
    return Element{division.by_constant(x, *constant, sign)};
  });
}

}  // namespace xpusim::gpu
