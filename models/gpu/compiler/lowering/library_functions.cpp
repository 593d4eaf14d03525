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

/// One step of a function: an instruction that reads the value before it (and the argument).
struct Step {
  Opcode op;
  std::string_view mnemonic;
  std::uint8_t times = 1;
};

constexpr std::size_t kMostSteps = 18;

struct Function {
  std::string_view symbol;
  std::array<Step, kMostSteps> steps;
};

constexpr Step kBranch{Opcode::kBra, "BRA"};
constexpr Step kFfma{Opcode::kFma, "FFMA"};
constexpr Step kFadd{Opcode::kFma, "FADD"};
constexpr Step kFmul{Opcode::kFma, "FMUL"};
constexpr Step kConstant{Opcode::kHfma2, "HFMA2.MMA"};

Step times(Step s, std::uint8_t n) {
  s.times = n;
  return s;
}
Step alu(std::string_view mnemonic, std::uint8_t n = 1) { return {Opcode::kAlu, mnemonic, n}; }
Step xu(std::string_view mnemonic) { return {Opcode::kMufu, mnemonic, 1}; }
Step control(std::string_view mnemonic) { return {Opcode::kNop, mnemonic, 1}; }

/// Sine and cosine: the argument less a multiple of pi/2 (large ones branch off), two polynomials
/// of one form; the cosine counts a quarter turn more.
std::array<Step, kMostSteps> angle(std::uint8_t quarter_turns) {
  return {kFmul,
          xu("F2I"),
          alu("I2FP"),
          times(kFfma, 3),
          kFadd,
          alu("FSETP"),
          control("BSSY"),
          kBranch,
          control("BSYNC"),
          {Opcode::kFma, "VIADD", quarter_turns},
          alu("LOP3", 2),
          {Opcode::kFma, "IMAD.MOV.U32", 6},
          kFmul,
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
       {kFadd, control("BSSY"), alu("FSETP"), kBranch, kFmul, kConstant, alu("FSETP"),
        xu("MUFU.EX2"), kFadd, xu("MUFU.RCP"), kFfma, alu("FSEL"), alu("LOP3"), kBranch, alu("MOV"),
        kFmul, times(kFfma, 5), control("BSYNC")}},
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
/// own.
void skip_rare_case(Builder& b) {
  MachineInstruction& i = b.emit(Opcode::kBra, "BRA", {}, {});
  i.target = static_cast<std::int32_t>(b.code().blocks.size());
  i.effect = MemoryEffect::kEnd;
  b.code().blocks.emplace_back();
}

/// What functions of one argument begin with alike (sine and cosine reduce it to a quarter turn) is
/// computed once.
bool expand(Lowering& l, const kernel::Op& op, const Function& function) {
  return map_elements(l, op, [&](std::span<const Element> e) {
    Builder& b = l.builder();
    const VReg argument = l.in_register(e[0]);
    const VReg second = e.size() > 1 ? l.in_register(e[1]) : argument;
    VReg value = argument;
    std::uint32_t number = 0;
    bool begins = true;  // no branch so far
    for (const Step& step : function.steps) {
      if (step.mnemonic.empty()) break;
      begins = begins && step.op != Opcode::kBra && step.op != Opcode::kNop;
      if (step.op == Opcode::kBra) {
        skip_rare_case(b);
        continue;
      }
      if (step.op == Opcode::kNop) {
        b.emit(Opcode::kNop, step.mnemonic, {}, {});
        continue;
      }
      for (std::uint8_t n = 0; n < step.times; ++n) {
        const VReg other = n % 2 == 0 ? argument : second;
        const auto key = std::tuple{step.mnemonic, value, other, ++number};
        const auto known = l.function_steps.find(key);
        if (begins && known != l.function_steps.end()) {
          value = known->second;
          continue;
        }
        value = b.value(step.op, step.mnemonic, {value, other}, number);
        if (begins) l.function_steps[key] = value;
      }
    }
    return Element{value};
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
