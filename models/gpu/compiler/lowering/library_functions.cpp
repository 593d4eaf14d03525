// Functions of the vendor's device library, called by name or behind an op. Each function is the
// straight-line code that the vendor's assembler makes of it, for arguments in the common range:
// the instructions by pipe, in a chain of dependences like theirs. Listings of compiled kernels are
// the source of the sequences; constants are not told apart.

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

/// One step of a function: an instruction that reads the value before it, and the argument or what
/// an earlier step made.
struct Step {
  Opcode op;
  std::string_view mnemonic;
  std::uint8_t times = 1;
  std::uint8_t reads = 0;  ///< number of that step, from 1; 0: the argument
};

constexpr std::size_t kMostSteps = 18;

struct Function {
  std::string_view symbol;
  std::array<Step, kMostSteps> steps;
};

/// The branch around what is called in rare cases: a few moves and the call.
constexpr Step kBranch{Opcode::kBra, "BRA", 4};
constexpr Step kFfma{Opcode::kFma, "FFMA"};
constexpr Step kFadd{Opcode::kFma, "FADD"};
constexpr Step kFmul{Opcode::kFma, "FMUL"};
constexpr Step kConstant{Opcode::kHfma2, "HFMA2.MMA"};

Step times(Step s, std::uint8_t n) {
  s.times = n;
  return s;
}
Step reading(std::uint8_t number, Step s) {
  s.reads = number;
  return s;
}
Step alu(std::string_view mnemonic, std::uint8_t n = 1) { return {Opcode::kAlu, mnemonic, n}; }
Step xu(std::string_view mnemonic) { return {Opcode::kMufu, mnemonic, 1}; }
Step control(std::string_view mnemonic) { return {Opcode::kNop, mnemonic, 1}; }

/// Instructions that take large arguments less a multiple of pi/2, inline in each sine and cosine.
constexpr std::uint8_t kReductionOfLarge = 51;

/// Sine and cosine: the argument less a multiple of pi/2 (large ones branch off), two polynomials
/// of one form; the cosine counts a quarter turn more. Whoever computes both keeps the number of
/// quarter turns (step 2) and the reduced argument (step 4) of each element.
std::array<Step, kMostSteps> angle(std::uint8_t quarter_turns) {
  return {kFmul,
          xu("F2I"),
          alu("I2FP"),
          times(kFfma, 3),
          kFadd,
          alu("FSETP"),
          control("BSSY"),
          reading(4, times(kBranch, kReductionOfLarge)),
          control("BSYNC"),
          reading(2, {Opcode::kFma, "VIADD", quarter_turns}),
          reading(2, alu("LOP3", 2)),
          {Opcode::kFma, "IMAD.MOV.U32", 6},
          reading(4, kFmul),
          times(kFfma, 5),
          alu("FSEL")};
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      // x * log2e + 0.5, saturated, split into integer and fraction; 2^fraction, scaled.
      {"__nv_expf",
       {kFfma,
        {Opcode::kFma, "FADD.FTZ.SAT"},
        times(kFfma, 1),
        kFadd,
        times(kFfma, 2),
        xu("MUFU.EX2"),
        alu("SHF.L"),
        kFmul}},
      {"__nv_sinf", angle(0)},
      {"__nv_cosf", angle(1)},
      // A rounded root, corrected once; extreme arguments branch off.
      {"sqrt.rn",
       {alu("IADD3"), xu("MUFU.RSQ"), alu("ISETP"), control("BSSY"), kBranch, times(kFmul, 2),
        times(kFfma, 2), control("BSYNC")}},
      {"div.rn",
       {xu("MUFU.RCP"), alu("FCHK"), control("BSSY"), times(kFfma, 6), kBranch, control("BSYNC")}},
      {"__nv_rsqrtf", {xu("MUFU.RSQ")}},
      {"__nv_popc", {xu("POPC")}},
      {"__nv_clz", {xu("FLO.U32.SH")}},
      {"__nv_isnanf", {alu("FSETP"), alu("SEL")}},
      // The smaller over the larger, a polynomial of the square, the octant put right.
      {"__nv_atan2f",
       {alu("FMNMX", 2), xu("MUFU.RCP"), alu("FCHK"), control("BSSY"), times(kFfma, 4), kBranch,
        control("BSYNC"), kFmul, times(kFfma, 9), alu("FSETP", 3), kFadd, alu("FSEL", 4),
        alu("LOP3")}},
      {"__nv_sqrtf", {xu("MUFU.SQRT")}},
      {"__nv_fabsf", {kFadd}},
      {"__nv_floorf", {{Opcode::kMufu, "FRND.FLOOR"}}},
      {"__nv_ceilf", {{Opcode::kMufu, "FRND.CEIL"}}},
      {"__nv_truncf", {{Opcode::kMufu, "FRND.TRUNC"}}},
      {"__nv_nearbyintf", {{Opcode::kMufu, "FRND"}}},
      {"__nv_rintf", {{Opcode::kMufu, "FRND"}}},
      // The rational form for large arguments and the polynomial for small ones: a warp whose lanes
      // differ takes both, one after the other.
      {"__nv_tanhf",
       {kFadd, control("BSSY"), alu("FSETP"), times(kBranch, 0), kFmul, kConstant, alu("FSETP"),
        xu("MUFU.EX2"), kFadd, xu("MUFU.RCP"), kFfma, alu("FSEL"), alu("LOP3"), times(kBranch, 0),
        alu("MOV"), kFmul, times(kFfma, 5), control("BSYNC")}},
      // Two polynomials of one form: the coefficients are selected.
      {"__nv_erff",
       {kFadd, alu("FSETP"), kFmul, alu("MOV", 14), times(kFfma, 7), alu("FSEL"), xu("MUFU.EX2"),
        kFadd, alu("LOP3")}},
      // Scaled into [2/3, 4/3), a polynomial of the mantissa, the exponent times ln 2.
      {"__nv_logf",
       {alu("FSETP"), kFmul, alu("FSEL"), alu("IADD3"), alu("LOP3"), alu("IADD3"), alu("I2FP"),
        kFadd, times(kFfma, 11), alu("ISETP"), alu("MOV"), kFfma, kFmul, alu("FSETP"),
        alu("FSEL")}},
      {"__nv_log1pf",
       {kFadd, alu("VIADD"), alu("LOP3"), alu("IADD3"), alu("I2FP"), times(kFadd, 2),
        times(kFfma, 11), alu("ISETP", 2), alu("FSETP"), kFmul, alu("FSEL", 2)}},
      {"__nv_log2f", {alu("FSETP"), kFmul, xu("MUFU.LG2"), kFadd}},
      {"__nv_exp2f", {alu("FSETP"), kFmul, xu("MUFU.EX2"), kFmul}},
      {"__nv_expm1f",
       {kFmul,
        {Opcode::kMufu, "FRND"},
        times(kFfma, 8),
        xu("MUFU.EX2"),
        alu("FSETP", 2),
        kFadd,
        kFfma,
        alu("FSEL", 2)}},
      // log2 in two words, times y in two words, 2^ of the sum, the special cases.
      {"__nv_powf",
       {alu("FSETP", 4), kFmul, alu("VIADD", 2), alu("LOP3", 3), alu("IADD3", 2), alu("I2FP"),
        times(kFadd, 9), xu("MUFU.RCP"), times(kFfma, 18), xu("MUFU.EX2"), alu("FSEL", 4),
        alu("ISETP", 3)}},
      {"__nv_fmodf",
       {alu("LOP3", 3),
        alu("ISETP", 3),
        alu("FSETP", 2),
        xu("MUFU.RCP"),
        times(kFfma, 6),
        times(kFmul, 3),
        {Opcode::kMufu, "FRND.TRUNC"},
        alu("FSEL", 3)}},
  };
  return all;
}

const Function* find(std::string_view symbol) {
  const auto& all = functions();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.symbol == symbol; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace

namespace {

/// The branch around the code of a rare case, which is taken: what comes after it is a block of its
/// own. The rare code takes its place among the lines that are fetched, as so many NOPs: it is why
/// long chains of sines wait for instructions. `reads`: what it would read.
void skip_rare_case(Builder& b, std::uint8_t size, const VRegList& reads) {
  MachineInstruction& i = b.emit(Opcode::kBra, "BRA", {}, {});
  i.uses = reads;
  i.target = static_cast<std::int32_t>(b.code().blocks.size() + 1);
  i.effect = MemoryEffect::kEnd;
  b.code().blocks.emplace_back();
  for (std::uint8_t n = 0; n < size; ++n) b.emit(Opcode::kNop, "NOP", {}, {});
  b.code().blocks.emplace_back();
}

/// The code of a function for one element. What functions of one argument begin with alike (sine
/// and cosine reduce it to a quarter turn) is computed once.
class Expansion {
 public:
  Expansion(Lowering& l, VReg argument, VReg second)
      : l_(l), argument_(argument), second_(second), value_(argument) {}

  VReg run(const Function& function) {
    for (const Step& step : function.steps) {
      if (step.mnemonic.empty()) break;
      take(step);
      made_.push_back(value_);
    }
    return value_;
  }

 private:
  void take(const Step& step) {
    begins_ = begins_ && step.op != Opcode::kBra && step.op != Opcode::kNop;
    if (step.op == Opcode::kBra) {
      VRegList reads;
      if (step.reads != 0) reads = {value_, made_[step.reads - 1u], argument_};
      skip_rare_case(l_.builder(), step.times, reads);
    } else if (step.op == Opcode::kNop) {
      l_.builder().emit(Opcode::kNop, step.mnemonic, {}, {});
    } else {
      for (std::uint8_t n = 0; n < step.times; ++n) instruction(step, n % 2 == 0);
    }
  }
  void instruction(const Step& step, bool first) {
    const VReg other = step.reads != 0 ? made_[step.reads - 1u] : first ? argument_ : second_;
    const auto key = std::tuple{step.mnemonic, value_, other, ++number_};
    const auto known = l_.function_steps.find(key);
    if (begins_ && known != l_.function_steps.end()) {
      value_ = known->second;
      return;
    }
    value_ = l_.builder().value(step.op, step.mnemonic, {value_, other}, number_);
    if (begins_) l_.function_steps[key] = value_;
  }

  Lowering& l_;
  VReg argument_, second_, value_;
  std::vector<VReg> made_;  // [step]
  std::uint32_t number_ = 0;
  bool begins_ = true;  // no branch so far
};

bool expand(Lowering& l, const kernel::Op& op, const Function& function) {
  return map_elements(l, op, [&](std::span<const Element> e) {
    const VReg argument = l.in_register(e[0]);
    const VReg second = e.size() > 1 ? l.in_register(e[1]) : argument;
    return Element{Expansion(l, argument, second).run(function)};
  });
}

/// The function behind an op.
std::string_view symbol_of(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> kSymbols[] = {
      {"math.sin", "__nv_sinf"},      {"math.cos", "__nv_cosf"},
      {"math.erf", "__nv_erff"},      {"math.log", "__nv_logf"},
      {"math.log1p", "__nv_log1pf"},  {"math.expm1", "__nv_expm1f"},
      {"math.tanh", "__nv_tanhf"},    {"math.powf", "__nv_powf"},
      {"math.floor", "__nv_floorf"},  {"math.ceil", "__nv_ceilf"},
      {"math.trunc", "__nv_truncf"},  {"math.roundeven", "__nv_rintf"},
      {"tt.precise_sqrt", "sqrt.rn"}, {"tt.precise_divf", "div.rn"},
  };
  for (const auto& [name, symbol] : kSymbols) {
    if (name == op) return symbol;
  }
  return "";
}

}  // namespace

bool lower_extern(Lowering& l, const kernel::Op& op) {
  const std::string_view symbol = op.str_attr("symbol");
  if (kernel::bit_width(op.operands[0]->type->dtype) > 32) return lower_double(l, op);
  if (const Function* function = find(symbol)) return expand(l, op, *function);
  return l.error(
      op, "the device function '" + std::string(symbol) + "' is not yet lowered for the GPU");
}

bool lower_library_function(Lowering& l, const kernel::Op& op) {
  if (kernel::bit_width(op.result()->type->dtype) > 32) return lower_double(l, op);
  return expand(l, op, *find(symbol_of(op.name())));
}

}  // namespace xpusim::gpu
