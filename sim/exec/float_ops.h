#pragma once

// Floating-point arithmetic on whole tiles, in the arithmetic of the result's dtype: f64 in double,
// all others in f32 and rounded to their format after each op, as the hardware does. A kUnknown
// operand makes the result kUnknown. Leaves out: the vendor's approximate units (ex2.approx,
// rsqrt.approx, ... differ from these in the last bit or two) and flush-to-zero.

#include <cstdint>
#include <span>

#include "sim/exec/tile.h"

namespace xpusim::exec {

enum class FloatOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kMaxNum,
  kMinNum,
  kMaximum,
  kMinimum,
  kPow,
  kAtan2,
  kCopySign,
  kHypot,
  kFdim,
  kNeg,
  kAbs,
  kExp,
  kExp2,
  kExpM1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSqrt,
  kRsqrt,
  kSin,
  kCos,
  kTan,
  kTanh,
  kAtan,
  kErf,
  kErfc,
  kExp10,
  kCbrt,
  kAsin,
  kAcos,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kLgamma,
  kTgamma,
  kFloor,
  kCeil,
  kTrunc,
  kRound,
  kRoundEven,
  kFma,
};
int arity(FloatOp op);

/// out = op(operands...); tiles of one shape, or splats.
void float_op(FloatOp op, std::span<const Tile* const> operands, Tile& out);
/// The same on runs of f32 values, unrounded.
void float_run(FloatOp op, const float* a, const float* b, const float* c, std::int64_t count,
               float* out);
void float_run(FloatOp op, const double* a, const double* b, const double* c, std::int64_t count,
               double* out);

/// `predicate` as MLIR numbers those of arith.cmpf.
void compare_floats(int predicate, const Tile& a, const Tile& b, Tile& out);
void convert_float(const Tile& a, Tile& out);  ///< extf, truncf, fp_to_fp
void convert_float_towards_zero(const Tile& a, Tile& out);
void integer_to_float(const Tile& a, bool is_unsigned, Tile& out);
/// Towards zero, saturating; NaN gives 0 (as PTX cvt.rzi).
void float_to_integer(const Tile& a, bool is_unsigned, Tile& out);
void bitcast(const Tile& a, Tile& out);  ///< between dtypes of one width

}  // namespace xpusim::exec
