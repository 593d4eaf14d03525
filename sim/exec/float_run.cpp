// The arithmetic itself: one function an op over a run of values. Eigen vectorises the functions.

#include <Eigen/Core>
#include <cmath>

#include "sim/exec/float_ops.h"

namespace xpusim::exec {
namespace {

template <class T>
using ConstRun = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using Run = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;

template <class T, class F>
void each(const T* a, std::int64_t n, T* out, F f) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
}

template <class T, class F>
void each(const T* a, const T* b, std::int64_t n, T* out, F f) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

/// maxnum and minnum prefer a number to NaN; maximum and minimum give NaN when either is, and take
/// -0 for less than 0.
template <class T, bool kMax, bool kPropagate>
T extreme(T x, T y) {
  const T r = (kMax ? x > y : x < y) ? x : y;
  if constexpr (kPropagate) {
    if (x == y) return std::signbit(x) == kMax ? y : x;
    return x != x ? x : r;
  }
  return y != y ? x : r;
}

template <class T>
bool binary_run(FloatOp op, const T* a, const T* b, std::int64_t n, T* out) {
  switch (op) {
    case FloatOp::kAdd:
      each(a, b, n, out, [](T x, T y) { return x + y; });
      return true;
    case FloatOp::kSub:
      each(a, b, n, out, [](T x, T y) { return x - y; });
      return true;
    case FloatOp::kMul:
      each(a, b, n, out, [](T x, T y) { return x * y; });
      return true;
    case FloatOp::kDiv:
      each(a, b, n, out, [](T x, T y) { return x / y; });
      return true;
    case FloatOp::kRem:
      each(a, b, n, out, [](T x, T y) { return std::fmod(x, y); });
      return true;
    case FloatOp::kMaxNum:
      each(a, b, n, out, extreme<T, true, false>);
      return true;
    case FloatOp::kMinNum:
      each(a, b, n, out, extreme<T, false, false>);
      return true;
    case FloatOp::kMaximum:
      each(a, b, n, out, extreme<T, true, true>);
      return true;
    case FloatOp::kMinimum:
      each(a, b, n, out, extreme<T, false, true>);
      return true;
    case FloatOp::kPow:
      each(a, b, n, out, [](T x, T y) { return std::pow(x, y); });
      return true;
    case FloatOp::kAtan2:
      each(a, b, n, out, [](T x, T y) { return std::atan2(x, y); });
      return true;
    case FloatOp::kCopySign:
      each(a, b, n, out, [](T x, T y) { return std::copysign(x, y); });
      return true;
    case FloatOp::kHypot:
      each(a, b, n, out, [](T x, T y) { return std::hypot(x, y); });
      return true;
    case FloatOp::kFdim:
      each(a, b, n, out, [](T x, T y) { return std::fdim(x, y); });
      return true;
    default:
      return false;
  }
}

/// Functions that only calls of the vendor's library reach.
template <class T>
void library_run(FloatOp op, const T* a, std::int64_t n, T* out) {
  switch (op) {
    case FloatOp::kErfc:
      return each(a, n, out, [](T v) { return std::erfc(v); });
    case FloatOp::kExp10:
      return each(a, n, out, [](T v) { return std::pow(T(10), v); });
    case FloatOp::kCbrt:
      return each(a, n, out, [](T v) { return std::cbrt(v); });
    case FloatOp::kAsin:
      return each(a, n, out, [](T v) { return std::asin(v); });
    case FloatOp::kAcos:
      return each(a, n, out, [](T v) { return std::acos(v); });
    case FloatOp::kSinh:
      return each(a, n, out, [](T v) { return std::sinh(v); });
    case FloatOp::kCosh:
      return each(a, n, out, [](T v) { return std::cosh(v); });
    case FloatOp::kAsinh:
      return each(a, n, out, [](T v) { return std::asinh(v); });
    case FloatOp::kAcosh:
      return each(a, n, out, [](T v) { return std::acosh(v); });
    case FloatOp::kAtanh:
      return each(a, n, out, [](T v) { return std::atanh(v); });
    case FloatOp::kLgamma:
      return each(a, n, out, [](T v) { return std::lgamma(v); });
    case FloatOp::kTgamma:
      return each(a, n, out, [](T v) { return std::tgamma(v); });
    default:
      return;
  }
}

template <class T>
void unary_run(FloatOp op, const T* a, std::int64_t n, T* out) {
  const ConstRun<T> x(a, n);
  Run<T> y(out, n);
  constexpr T kLog2E = static_cast<T>(1.4426950408889634074);
  switch (op) {
    case FloatOp::kNeg:
      y = -x;
      break;
    case FloatOp::kAbs:
      y = x.abs();
      break;
    case FloatOp::kExp:
      y = x.exp();
      break;
    case FloatOp::kExp2:
      each(a, n, out, [](T v) { return std::exp2(v); });
      break;
    case FloatOp::kExpM1:
      each(a, n, out, [](T v) { return std::expm1(v); });
      break;
    case FloatOp::kLog:
      y = x.log();
      break;
    case FloatOp::kLog2:
      y = x.log() * kLog2E;
      break;
    case FloatOp::kLog10:
      each(a, n, out, [](T v) { return std::log10(v); });
      break;
    case FloatOp::kLog1p:
      each(a, n, out, [](T v) { return std::log1p(v); });
      break;
    case FloatOp::kSqrt:
      y = x.sqrt();
      break;
    case FloatOp::kRsqrt:
      each(a, n, out, [](T v) { return T(1) / std::sqrt(v); });
      break;
    case FloatOp::kSin:
      y = x.sin();
      break;
    case FloatOp::kCos:
      y = x.cos();
      break;
    case FloatOp::kTan:
      each(a, n, out, [](T v) { return std::tan(v); });
      break;
    case FloatOp::kTanh:
      y = x.tanh();
      break;
    case FloatOp::kAtan:
      each(a, n, out, [](T v) { return std::atan(v); });
      break;
    case FloatOp::kErf:
      each(a, n, out, [](T v) { return std::erf(v); });
      break;
    case FloatOp::kFloor:
      y = x.floor();
      break;
    case FloatOp::kCeil:
      y = x.ceil();
      break;
    case FloatOp::kTrunc:
      each(a, n, out, [](T v) { return std::trunc(v); });
      break;
    case FloatOp::kRound:
      each(a, n, out, [](T v) { return std::round(v); });
      break;
    case FloatOp::kRoundEven:
      y = x.rint();
      break;
    default:
      library_run(op, a, n, out);
  }
}

template <class T>
void run(FloatOp op, const T* a, const T* b, const T* c, std::int64_t n, T* out) {
  if (op == FloatOp::kFma) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::fma(a[i], b[i], c[i]);
  } else if (!binary_run(op, a, b, n, out)) {
    unary_run(op, a, n, out);
  }
}

}  // namespace

int arity(FloatOp op) {
  if (op == FloatOp::kFma) return 3;
  return op >= FloatOp::kNeg ? 1 : 2;
}

void float_run(FloatOp op, const float* a, const float* b, const float* c, std::int64_t count,
               float* out) {
  run(op, a, b, c, count, out);
}

void float_run(FloatOp op, const double* a, const double* b, const double* c, std::int64_t count,
               double* out) {
  run(op, a, b, c, count, out);
}

}  // namespace xpusim::exec
