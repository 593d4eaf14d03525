// arith.* and math.*: element-wise arithmetic on tiles and scalars.

#include "sim/exec/handlers/arithmetic.h"

#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"

namespace xpusim::exec {

Step integer_op(Frame& f, const Instruction& in) {
  integer_binary(static_cast<IntOp>(in.code), f.operand(in, 0), f.operand(in, 1), f.result(in));
  return Step::kNext;
}

Step floating_op(Frame& f, const Instruction& in) {
  const Tile* operands[3];
  const std::size_t n = std::min<std::size_t>(in.operand_count, 3);
  for (std::size_t k = 0; k < n; ++k) operands[k] = &f.operand(in, k);
  float_op(static_cast<FloatOp>(in.code), {operands, n}, f.result(in));
  count_elementwise(f, in);
  return Step::kNext;
}

namespace {

/// Predicates are integers, numbered as MLIR numbers them.
template <int kCount>
std::string_view prepare_predicate(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("predicate", -1);
  return in.immediate >= 0 && in.immediate < kCount ? "" : "no such predicate";
}

Step compare_integers(Frame& f, const Instruction& in) {
  compare(static_cast<Predicate>(in.immediate), f.operand(in, 0), f.operand(in, 1), f.result(in));
  return Step::kNext;
}

Step compare_float(Frame& f, const Instruction& in) {
  compare_floats(static_cast<int>(in.immediate), f.operand(in, 0), f.operand(in, 1), f.result(in));
  count_elementwise(f, in);
  return Step::kNext;
}

Step choose(Frame& f, const Instruction& in) {
  const Tile& condition = f.operand(in, 0);
  const Tile& a = f.operand(in, 1);
  const Tile& b = f.operand(in, 2);
  // A scalar condition may choose between whole tiles.
  select(condition, a, b, f.result(in));
  f.live[in.result] = std::min(f.live[f.slot(in, 1)], f.live[f.slot(in, 2)]);
  return Step::kNext;
}

enum class Cast : std::uint8_t {
  kSigned,
  kUnsigned,
  kFloat,
  kFloatTowardsZero,
  kFromSigned,
  kFromUnsigned,
  kToSigned,
  kToUnsigned,
  kBits,
};

Step cast(Frame& f, const Instruction& in) {
  const Tile& a = f.operand(in, 0);
  Tile& out = f.result(in);
  switch (static_cast<Cast>(in.code)) {
    case Cast::kSigned:
      convert_integer(a, false, out);
      break;
    case Cast::kUnsigned:
      convert_integer(a, true, out);
      break;
    case Cast::kFloat:
      convert_float(a, out);
      break;
    case Cast::kFloatTowardsZero:
      convert_float_towards_zero(a, out);
      break;
    case Cast::kFromSigned:
      integer_to_float(a, false, out);
      break;
    case Cast::kFromUnsigned:
      integer_to_float(a, true, out);
      break;
    case Cast::kToSigned:
      float_to_integer(a, false, out);
      break;
    case Cast::kToUnsigned:
      float_to_integer(a, true, out);
      break;
    case Cast::kBits:
      bitcast(a, out);
      break;
  }
  f.live[in.result] = f.live[f.slot(in, 0)];
  return Step::kNext;
}

/// tt.fp_to_fp: "rounding" rtz 0, rtne 1; left out where the result is wider.
std::string_view prepare_float_cast(const kernel::Op& op, Instruction& in) {
  constexpr std::int64_t kTowardsZero = 0;
  if (op.int_attr("rounding", 1) == kTowardsZero) {
    in.code = static_cast<std::uint8_t>(Cast::kFloatTowardsZero);
  }
  return "";
}

/// tt.clampf: x, low, high. Without "propagateNan" a NaN becomes the lower limit.
Step clamp(Frame& f, const Instruction& in) {
  const bool keeps_nan = in.immediate != 0;
  Tile& out = f.result(in);
  Tile raised;
  raised.shape = out.shape;
  raised.dtype = out.dtype;
  const Tile* first[] = {&f.operand(in, 0), &f.operand(in, 1)};
  float_op(keeps_nan ? FloatOp::kMaximum : FloatOp::kMaxNum, first, raised);
  const Tile* second[] = {&raised, &f.operand(in, 2)};
  float_op(keeps_nan ? FloatOp::kMinimum : FloatOp::kMinNum, second, out);
  count_elementwise(f, in);
  return Step::kNext;
}

std::string_view prepare_clamp(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("propagateNan");
  return "";
}

Step advance_pointer(Frame& f, const Instruction& in) {
  add_pointer(f.operand(in, 0), f.operand(in, 1), in.immediate, f.result(in));
  return Step::kNext;
}

std::string_view prepare_pointer(const kernel::Op& op, Instruction& in) {
  const kernel::Type pointee = op.operands[0]->type->pointee();
  if (!pointee) return "its operand is no pointer";
  in.immediate =
      pointee->kind == kernel::TypeKind::kPointer ? 8 : kernel::byte_size(pointee->dtype);
  return in.immediate > 0 ? "" : "its pointee has no size";
}

/// math.absi has one operand.
Step absolute(Frame& f, const Instruction& in) {
  const Tile& a = f.operand(in, 0);
  Tile zero, negated;
  zero.shape = negated.shape = a.shape;
  zero.dtype = negated.dtype = a.dtype;
  set_integer(zero, 0);
  integer_binary(IntOp::kSub, zero, a, negated);
  integer_binary(IntOp::kMaxS, a, negated, f.result(in));
  return Step::kNext;
}

struct Named {
  const char* name;
  std::uint8_t code;
};
template <class E>
constexpr Named named(const char* name, E e) {
  return {name, static_cast<std::uint8_t>(e)};
}

constexpr Named kIntegerOps[] = {
    named("arith.addi", IntOp::kAdd),
    named("arith.subi", IntOp::kSub),
    named("arith.muli", IntOp::kMul),
    named("arith.divsi", IntOp::kDivS),
    named("arith.divui", IntOp::kDivU),
    named("arith.ceildivsi", IntOp::kCeilDivS),
    named("arith.floordivsi", IntOp::kFloorDivS),
    named("arith.remsi", IntOp::kRemS),
    named("arith.remui", IntOp::kRemU),
    named("arith.andi", IntOp::kAnd),
    named("arith.ori", IntOp::kOr),
    named("arith.xori", IntOp::kXor),
    named("arith.shli", IntOp::kShl),
    named("arith.shrsi", IntOp::kShrS),
    named("arith.shrui", IntOp::kShrU),
    named("arith.minsi", IntOp::kMinS),
    named("arith.maxsi", IntOp::kMaxS),
    named("arith.minui", IntOp::kMinU),
    named("arith.maxui", IntOp::kMaxU),
    named("tt.mulhiui", IntOp::kMulHighU),
};

constexpr Named kFloatOps[] = {
    named("arith.addf", FloatOp::kAdd),
    named("arith.subf", FloatOp::kSub),
    named("arith.mulf", FloatOp::kMul),
    named("arith.divf", FloatOp::kDiv),
    named("arith.remf", FloatOp::kRem),
    named("arith.maxnumf", FloatOp::kMaxNum),
    named("arith.minnumf", FloatOp::kMinNum),
    named("arith.maximumf", FloatOp::kMaximum),
    named("arith.minimumf", FloatOp::kMinimum),
    named("arith.negf", FloatOp::kNeg),
    named("math.powf", FloatOp::kPow),
    named("math.atan2", FloatOp::kAtan2),
    named("math.copysign", FloatOp::kCopySign),
    named("math.absf", FloatOp::kAbs),
    named("math.exp", FloatOp::kExp),
    named("math.exp2", FloatOp::kExp2),
    named("math.expm1", FloatOp::kExpM1),
    named("math.log", FloatOp::kLog),
    named("math.log2", FloatOp::kLog2),
    named("math.log10", FloatOp::kLog10),
    named("math.log1p", FloatOp::kLog1p),
    named("math.sqrt", FloatOp::kSqrt),
    named("math.rsqrt", FloatOp::kRsqrt),
    named("math.sin", FloatOp::kSin),
    named("math.cos", FloatOp::kCos),
    named("math.tan", FloatOp::kTan),
    named("math.tanh", FloatOp::kTanh),
    named("math.atan", FloatOp::kAtan),
    named("math.erfc", FloatOp::kErfc),
    named("math.cbrt", FloatOp::kCbrt),
    named("math.asin", FloatOp::kAsin),
    named("math.acos", FloatOp::kAcos),
    named("math.sinh", FloatOp::kSinh),
    named("math.cosh", FloatOp::kCosh),
    named("math.asinh", FloatOp::kAsinh),
    named("math.acosh", FloatOp::kAcosh),
    named("math.atanh", FloatOp::kAtanh),
    named("math.erf", FloatOp::kErf),
    named("math.floor", FloatOp::kFloor),
    named("math.ceil", FloatOp::kCeil),
    named("math.trunc", FloatOp::kTrunc),
    named("math.round", FloatOp::kRound),
    named("math.roundeven", FloatOp::kRoundEven),
    named("tt.precise_sqrt", FloatOp::kSqrt),
    named("tt.precise_divf", FloatOp::kDiv),
};

constexpr Named kCasts[] = {
    named("arith.extsi", Cast::kSigned),
    named("arith.trunci", Cast::kSigned),
    named("arith.index_cast", Cast::kSigned),
    named("arith.extui", Cast::kUnsigned),
    named("arith.index_castui", Cast::kUnsigned),
    named("arith.extf", Cast::kFloat),
    named("arith.truncf", Cast::kFloat),
    named("arith.sitofp", Cast::kFromSigned),
    named("arith.uitofp", Cast::kFromUnsigned),
    named("arith.fptosi", Cast::kToSigned),
    named("arith.fptoui", Cast::kToUnsigned),
    named("arith.bitcast", Cast::kBits),
    named("tt.bitcast", Cast::kBits),
    named("tt.ptr_to_int", Cast::kBits),
    named("tt.int_to_ptr", Cast::kBits),
};

}  // namespace

void add_arithmetic(OpTable& table) {
  for (const Named& n : kIntegerOps) table.add({.name = n.name, .run = integer_op, .code = n.code});
  for (const Named& n : kFloatOps) {
    table.add({.name = n.name, .run = floating_op, .code = n.code, .flops = 1});
  }
  table.add({.name = "math.fma",
             .run = floating_op,
             .code = static_cast<std::uint8_t>(FloatOp::kFma),
             .flops = 2});
  for (const Named& n : kCasts) table.add({.name = n.name, .run = cast, .code = n.code});
  table.add({.name = "tt.fp_to_fp",
             .run = cast,
             .code = static_cast<std::uint8_t>(Cast::kFloat),
             .prepare = prepare_float_cast});
  table.add({.name = "tt.clampf", .run = clamp, .flops = 2, .prepare = prepare_clamp});
  table.add({.name = "arith.cmpi", .run = compare_integers, .prepare = prepare_predicate<10>});
  table.add(
      {.name = "arith.cmpf", .run = compare_float, .flops = 1, .prepare = prepare_predicate<16>});
  table.add({.name = "arith.select", .run = choose});
  table.add({.name = "tt.addptr", .run = advance_pointer, .prepare = prepare_pointer});
  table.add({.name = "math.absi", .run = absolute});
}

}  // namespace xpusim::exec
