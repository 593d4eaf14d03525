// tt.extern_elementwise: functions of the vendor's math library, by name.

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// Functions from floats to floats, without their prefix and the f of their f32 forms.
struct FloatFunction {
  std::string_view name;
  FloatOp op;
};
constexpr FloatFunction kFloatFunctions[] = {
    {"tanh", FloatOp::kTanh},
    {"exp", FloatOp::kExp},
    {"exp2", FloatOp::kExp2},
    {"exp10", FloatOp::kExp10},
    {"expm1", FloatOp::kExpM1},
    {"log", FloatOp::kLog},
    {"log2", FloatOp::kLog2},
    {"log10", FloatOp::kLog10},
    {"log1p", FloatOp::kLog1p},
    {"sqrt", FloatOp::kSqrt},
    {"sqrt_rn", FloatOp::kSqrt},
    {"rsqrt", FloatOp::kRsqrt},
    {"cbrt", FloatOp::kCbrt},
    {"sin", FloatOp::kSin},
    {"cos", FloatOp::kCos},
    {"tan", FloatOp::kTan},
    {"asin", FloatOp::kAsin},
    {"acos", FloatOp::kAcos},
    {"atan", FloatOp::kAtan},
    {"sinh", FloatOp::kSinh},
    {"cosh", FloatOp::kCosh},
    {"asinh", FloatOp::kAsinh},
    {"acosh", FloatOp::kAcosh},
    {"atanh", FloatOp::kAtanh},
    {"erf", FloatOp::kErf},
    {"erfc", FloatOp::kErfc},
    {"lgamma", FloatOp::kLgamma},
    {"tgamma", FloatOp::kTgamma},
    {"fabs", FloatOp::kAbs},
    {"floor", FloatOp::kFloor},
    {"ceil", FloatOp::kCeil},
    {"trunc", FloatOp::kTrunc},
    {"round", FloatOp::kRound},
    {"rint", FloatOp::kRoundEven},
    {"nearbyint", FloatOp::kRoundEven},
    {"pow", FloatOp::kPow},
    {"atan2", FloatOp::kAtan2},
    {"hypot", FloatOp::kHypot},
    {"fdim", FloatOp::kFdim},
    {"fmod", FloatOp::kRem},
    {"fmax", FloatOp::kMaxNum},
    {"fmin", FloatOp::kMinNum},
    {"fma", FloatOp::kFma},
    {"fma_rn", FloatOp::kFma},
    {"add_rn", FloatOp::kAdd},
    {"sub_rn", FloatOp::kSub},
    {"mul_rn", FloatOp::kMul},
    {"div_rn", FloatOp::kDiv},
    {"fadd_rn", FloatOp::kAdd},
    {"fsub_rn", FloatOp::kSub},
    {"fmul_rn", FloatOp::kMul},
    {"fdiv_rn", FloatOp::kDiv},
    {"fsqrt_rn", FloatOp::kSqrt},
    {"copysign", FloatOp::kCopySign},
};

/// Functions from one integer to an i32; operands come zero-extended.
struct BitFunction {
  std::string_view name;
  std::int64_t (*apply)(std::uint64_t bits, int width);
};

std::uint64_t reversed(std::uint64_t bits, int width) {
  std::uint64_t r = 0;
  for (int i = 0; i < width; ++i) r |= (bits >> i & 1) << (width - 1 - i);
  return r;
}

constexpr BitFunction kBitFunctions[] = {
    {"popc", [](std::uint64_t b, int) -> std::int64_t { return std::popcount(b); }},
    {"clz",
     [](std::uint64_t b, int width) -> std::int64_t { return std::countl_zero(b) - (64 - width); }},
    {"ffs",
     [](std::uint64_t b, int) -> std::int64_t { return b == 0 ? 0 : std::countr_zero(b) + 1; }},
    {"brev",
     [](std::uint64_t b, int width) { return static_cast<std::int64_t>(reversed(b, width)); }},
};

/// Questions about one float; the answer is an i32, 0 or 1.
struct Question {
  std::string_view name;
  bool (*holds)(double x);
};
constexpr Question kQuestions[] = {
    {"isnan", [](double x) { return std::isnan(x); }},
    {"isinf", [](double x) { return std::isinf(x); }},
    {"finite", [](double x) { return std::isfinite(x); }},
    {"isfinite", [](double x) { return std::isfinite(x); }},
    {"signbit", [](double x) { return std::signbit(x); }},
};

/// Whether a symbol of the library is this function: alone, or as the form for f32 or 64 bits.
bool is_form_of(std::string_view symbol, std::string_view name) {
  if (!symbol.starts_with(name)) return false;
  const std::string_view rest = symbol.substr(name.size());
  return rest.empty() || rest == "f" || rest == "d" || rest == "ll" || rest == "l";
}

template <class T, std::size_t kSize>
int find(const T (&table)[kSize], std::string_view symbol) {
  const auto it = std::find_if(std::begin(table), std::end(table),
                               [&](const T& t) { return is_form_of(symbol, t.name); });
  return it == std::end(table) ? -1 : static_cast<int>(it - std::begin(table));
}

enum Family : std::int64_t { kFloats, kBits, kQuestion };

std::string_view prepare(const kernel::Op& op, Instruction& in) {
  std::string_view symbol = op.str_attr("symbol");
  if (!symbol.starts_with("__nv_")) return "a function of another library than the vendor's";
  symbol.remove_prefix(5);
  const bool one = op.operands.size() == 1;
  const bool from_float = !op.operands.empty() && kernel::is_float(op.operands[0]->type->dtype);
  const bool to_float = kernel::is_float(op.result()->type->dtype);
  if (from_float && to_float) {
    const int k = find(kFloatFunctions, symbol);
    if (k < 0) return "no functional model of this function";
    in.immediate = kFloats;
    in.code = static_cast<std::uint8_t>(kFloatFunctions[k].op);
    return static_cast<int>(op.operands.size()) == arity(kFloatFunctions[k].op)
               ? ""
               : "another number of operands";
  }
  const int k = from_float ? find(kQuestions, symbol) : find(kBitFunctions, symbol);
  if (k < 0 || !one || to_float) return "no functional model of this function";
  in.immediate = from_float ? kQuestion : kBits;
  in.code = static_cast<std::uint8_t>(k);
  in.flops = 0;
  return "";
}

void answer(const Question& question, const Tile& a, Tile& out) {
  ChunkReader<double> reader(a);
  std::int64_t result[kChunk];
  dense_storage(out);
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const double* x = reader.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) result[i] = question.holds(x[i]);
    write_integers(out, start, n, result);
  });
}

void apply_bits(const BitFunction& function, const Tile& a, Tile& out) {
  ChunkReader<std::int64_t> reader(a);
  std::int64_t result[kChunk];
  const int width = kernel::bit_width(a.dtype);
  dense_storage(out);
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* x = reader.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) {
      result[i] = wrap(out.dtype, function.apply(zero_extend(a.dtype, x[i]), width));
    }
    write_integers(out, start, n, result);
  });
}

Step run(Frame& f, const Instruction& in) {
  Tile& out = f.result(in);
  const Tile& a = f.operand(in, 0);
  if (in.immediate == kFloats) {
    const Tile* operands[3];
    for (std::size_t k = 0; k < in.operand_count; ++k) operands[k] = &f.operand(in, k);
    float_op(static_cast<FloatOp>(in.code), {operands, in.operand_count}, out);
    count_elementwise(f, in);
  } else if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
  } else if (out.shape.empty() && in.immediate == kQuestion) {
    set_integer(out, kQuestions[in.code].holds(a.real));
  } else if (out.shape.empty()) {
    const std::uint64_t bits = zero_extend(a.dtype, a.bits);
    set_integer(out,
                wrap(out.dtype, kBitFunctions[in.code].apply(bits, kernel::bit_width(a.dtype))));
  } else if (in.immediate == kQuestion) {
    answer(kQuestions[in.code], a, out);
  } else {
    apply_bits(kBitFunctions[in.code], a, out);
  }
  return Step::kNext;
}

}  // namespace

void add_external(OpTable& table) {
  table.add({.name = "tt.extern_elementwise", .run = run, .flops = 1, .prepare = prepare});
}

}  // namespace xpusim::exec
