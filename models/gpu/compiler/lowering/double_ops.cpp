// Floating-point ops on elements of 64 bits, each in a pair of registers. Sums, products and
// comparisons are one instruction; divisions, roots and functions are the straight-line code that
// the vendor's compiler makes of them, for arguments in the common range (listings of compiled
// kernels; constants are not told apart).

#include <array>
#include <bit>
#include <utility>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

/// An instruction of a function, so often in a row; each reads what the one before it made.
struct Step {
  Opcode op;
  std::string_view mnemonic;
  std::uint8_t times = 1;
};
using Steps = std::vector<Step>;

Step fma(std::uint8_t n) { return {Opcode::kFp64, "DFMA", n}; }
Step add(std::uint8_t n) { return {Opcode::kFp64, "DADD", n}; }
Step mul(std::uint8_t n) { return {Opcode::kFp64, "DMUL", n}; }
Step alu(std::string_view mnemonic, std::uint8_t n = 1) { return {Opcode::kAlu, mnemonic, n}; }
Step xu(std::string_view mnemonic) { return {Opcode::kMufu, mnemonic, 1}; }
Step move(std::uint8_t n) { return {Opcode::kFma, "IMAD.MOV.U32", n}; }
Step control(std::string_view mnemonic) { return {Opcode::kNop, mnemonic, 1}; }

/// A reciprocal of the upper half, refined; the quotient, corrected; extreme arguments branch off.
const Steps& division() {
  static const Steps steps = {
      move(1),        xu("MUFU.RCP64H"),      fma(5),          mul(1),
      fma(2),         {Opcode::kFma, "FFMA"}, alu("FSETP", 2), control("BSSY"),
      control("BRA"), control("BSYNC")};
  return steps;
}

const std::vector<std::pair<std::string_view, Steps>>& functions() {
  static const std::vector<std::pair<std::string_view, Steps>> all = {
      {"sqrt",
       {xu("MUFU.RSQ64H"), alu("VIADD"), alu("ISETP"), move(1), mul(1), fma(3), mul(1),
        alu("VIADD"), fma(2), control("BSSY"), control("BRA"), control("BSYNC")}},
      {"rsqrt",
       {xu("MUFU.RSQ64H"), alu("VIADD"), alu("ISETP"), move(1), mul(1), fma(4), control("BSSY"),
        control("BRA"), control("BSYNC")}},
      // The argument over ln 2, rounded by a large constant; a polynomial; the exponent added.
      {"exp",
       {fma(1),
        add(1),
        fma(2),
        fma(11),
        alu("LEA"),
        move(3),
        {Opcode::kFma, "FADD"},
        alu("FSETP"),
        control("BSSY"),
        control("BRA"),
        control("BSYNC")}},
      {"exp2",
       {add(2),
        fma(12),
        alu("LEA"),
        move(3),
        {Opcode::kFma, "FADD"},
        alu("FSETP"),
        control("BSSY"),
        control("BRA"),
        control("BSYNC")}},
      {"log",
       {alu("ISETP", 2), mul(1), alu("SEL", 2), alu("LOP3", 2), alu("ISETP"), alu("IADD3", 2),
        xu("MUFU.RCP64H"), xu("I2F.F64"), add(3), fma(6), mul(3), fma(10), add(2), alu("FSEL", 2)}},
      {"log2",
       {alu("ISETP", 2), mul(1), alu("SEL", 2), alu("LOP3", 2), alu("ISETP"), alu("IADD3", 2),
        xu("MUFU.RCP64H"), xu("I2F.F64"), add(3), fma(8), mul(4), fma(10), add(2), alu("FSEL", 2)}},
      // The argument less a multiple of pi/2, two polynomials of one form (coefficients selected).
      {"sin",
       {mul(1), xu("F2I.F64"), xu("I2F.F64"), fma(3), mul(1), fma(8), alu("FSEL", 4),
        alu("LOP3", 2), move(4), control("BSSY"), control("BRA"), control("BSYNC")}},
      {"cos",
       {mul(1), xu("F2I.F64"), alu("VIADD"), xu("I2F.F64"), fma(3), mul(1), fma(8), alu("FSEL", 4),
        alu("LOP3", 2), move(4), control("BSSY"), control("BRA"), control("BSYNC")}},
      {"erf", {alu("FSETP", 2), fma(23), add(2), mul(1), move(8), alu("FSEL", 4), alu("LOP3")}},
      {"tanh",
       {alu("LOP3"), alu("ISETP", 2), fma(16), add(3), mul(1), xu("MUFU.RCP64H"), move(4),
        alu("FSEL", 2), alu("LOP3")}},
      {"floor", {xu("FRND.F64.FLOOR")}},
      {"ceil", {xu("FRND.F64.CEIL")}},
      {"trunc", {xu("FRND.F64.TRUNC")}},
      {"roundeven", {xu("FRND.F64")}},
  };
  return all;
}

/// "exp" of "math.exp", "__nv_exp" and the like.
const Steps* find(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"math.", "__nv_", "tt.precise_"};
  for (std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (name == "rint" || name == "nearbyint") name = "roundeven";
  for (const auto& [symbol, steps] : functions()) {
    if (symbol == name) return &steps;
  }
  return name == "divf" ? &division() : nullptr;
}

class Doubles {
 public:
  explicit Doubles(Lowering& l) : l_(l), b_(l.builder()) {}

  /// An instruction of the FP64 pipe with a result in a pair.
  Element compute(std::string_view mnemonic, std::span<const Element> e, std::uint32_t variant) {
    const VReg low = b_.general(), high = b_.general();
    b_.code().tie({low, high});
    MachineInstruction& i = b_.emit(Opcode::kFp64, mnemonic, {low, high}, {}, variant);
    for (const Element& one : e) {
      i.uses.push_back(one.reg);
      i.uses.push_back(one.high);
    }
    return {low, 0, 0, high};
  }

  Element expand(const Steps& steps, std::span<const Element> e) {
    Element value = e[0];
    std::uint32_t number = 0;
    for (const Step& step : steps) {
      for (std::uint8_t n = 0; n < step.times; ++n) {
        ++number;
        if (step.op == Opcode::kNop) {
          b_.emit(Opcode::kNop, step.mnemonic, {}, {});
        } else if (step.op == Opcode::kFp64) {
          value = compute(step.mnemonic, std::array{value, e[n % e.size()]}, number);
        } else {
          value.high = b_.value(step.op, step.mnemonic, {value.high, e[0].high}, number);
        }
      }
    }
    return value;
  }

  /// A comparison, then each half selected.
  Element extreme(std::span<const Element> e, std::uint32_t variant) {
    const VReg p = compare(e, variant);
    return {b_.value(Opcode::kAlu, "SEL", {e[0].reg, e[1].reg, p}), 0, 0,
            b_.value(Opcode::kAlu, "FSEL", {e[0].high, e[1].high, p})};
  }

  VReg compare(std::span<const Element> e, std::uint32_t variant) {
    const VReg p = b_.predicate();
    b_.emit(Opcode::kFp64, "DSETP", {p}, {e[0].reg, e[0].high, e[1].reg, e[1].high}, variant);
    return p;
  }

  /// The sign is a bit of the upper half.
  Element sign(const Element& e, std::uint32_t variant) {
    return {e.reg, 0, 0, b_.value(Opcode::kAlu, "LOP3", {e.high}, variant)};
  }

  /// A conversion from or to 64 bits by the special-function unit.
  Element convert(std::string_view mnemonic, const Element& e, bool from_pair, bool to_pair) {
    Element result{b_.general()};
    if (to_pair) {
      result.high = b_.general();
      b_.code().tie({result.reg, result.high});
    }
    MachineInstruction& i = b_.emit(Opcode::kMufu, mnemonic, {result.reg}, {e.reg});
    if (to_pair) i.defs.push_back(result.high);
    if (from_pair) i.uses.push_back(e.high);
    return result;
  }

 private:
  Lowering& l_;
  Builder& b_;
};

bool is_wide(kernel::Type type) { return kernel::bit_width(type->dtype) > 32; }

/// Elements with both halves in registers where their type has them.
std::vector<Element> in_registers(Lowering& l, const kernel::Op& op, std::span<const Element> e) {
  std::vector<Element> result;
  for (std::size_t n = 0; n < e.size(); ++n) {
    const bool wide = is_wide(op.operands[n]->type);
    const VReg high = wide ? l.high_half(e[n]) : kNoVReg;
    result.push_back({l.in_register(e[n]), 0, 0, high});
  }
  return result;
}

std::string_view conversion(const kernel::Op& op) {
  const bool from = is_wide(op.operands[0]->type), to = is_wide(op.result()->type);
  const std::string_view name = op.name();
  if (name == "arith.extf") return "F2F.F64.F32";
  if (name == "arith.truncf") return "F2F.F32.F64";
  if (name == "arith.sitofp" || name == "arith.uitofp") {
    return from && to ? "I2F.F64.S64" : to ? "I2F.F64" : "I2F.S64";
  }
  if (name == "arith.fptosi" || name == "arith.fptoui") {
    return from && to ? "F2I.S64.F64.TRUNC" : from ? "F2I.F64.TRUNC" : "F2I.S64.TRUNC";
  }
  return "";
}

}  // namespace

/// Ops of which an operand or the result has 64 bits.
bool lower_double(Lowering& l, const kernel::Op& op) {
  const std::string_view name =
      op.name() == "tt.extern_elementwise" ? op.str_attr("symbol") : op.name();
  Doubles d(l);
  const auto map = [&](auto&& compute) {
    return map_elements(l, op, [&](std::span<const Element> e) {
      return compute(std::span<const Element>(in_registers(l, op, e)));
    });
  };
  using In = std::span<const Element>;
  if (name == "arith.addf" || name == "arith.subf") {
    return map([&](In e) { return d.compute("DADD", e, name == "arith.subf"); });
  }
  if (name == "arith.mulf") return map([&](In e) { return d.compute("DMUL", e, 0); });
  if (name == "math.fma") return map([&](In e) { return d.compute("DFMA", e, 0); });
  if (name == "arith.divf") return map([&](In e) { return d.expand(division(), e); });
  if (name == "arith.cmpf") {
    const auto how = static_cast<std::uint32_t>(op.int_attr("predicate"));
    return map([&](In e) { return Element{d.compare(e, how)}; });
  }
  if (name == "arith.negf" || name == "math.absf") {
    return map([&](In e) { return d.sign(e[0], name == "arith.negf"); });
  }
  if (name.starts_with("arith.max") || name.starts_with("arith.min")) {
    return map([&](In e) { return d.extreme(e, name.starts_with("arith.max")); });
  }
  if (const std::string_view mnemonic = conversion(op); !mnemonic.empty()) {
    const bool from = is_wide(op.operands[0]->type), to = is_wide(op.result()->type);
    return map([&](In e) { return d.convert(mnemonic, e[0], from, to); });
  }
  if (const Steps* steps = find(name)) {
    return map([&](In e) { return d.expand(*steps, e); });
  }
  return l.error(op, std::string(name) + " on 64-bit elements is not yet lowered for the GPU");
}

}  // namespace xpusim::gpu
