#pragma once

// Independent references for `expect:`: expressions over tensors, in double precision.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/exec/memory.h"
#include "sim/run/workload.h"

namespace xpusim::run {

/// A tensor of doubles, row-major; a scalar has no dimensions.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Evaluates an expression with NumPy's broadcasting. Functions, element by element: exp exp2 expm1
/// log log2 log1p sqrt rsqrt sin cos tan atan tanh erf abs floor ceil round (ties to even) sign
/// relu sigmoid silu gelu pow maximum minimum where; over whole tensors: transpose matmul sum mean
/// max min softmax layer_norm attention take(table, index) bincount(index,
/// bins=). `axis=` selects the dimension of sum, mean, max, min and
/// softmax (default: all, for softmax the last); `causal=1` leaves out of softmax and attention
/// what lies right of the diagonal.
Expected<Array> evaluate(const Expression& e,
                         const std::function<const Array*(const std::string&)>& find);

/// The outcome of one expectation.
struct CheckResult {
  std::string tensor;
  bool right = false;
  double worst_error = 0;  ///< |got - want| of the worst element
  double worst_ratio = 0;  ///< |got - want| / (atol + rtol * |want|); right if never over 1
  std::vector<std::int64_t> worst_index;
  std::optional<std::uint32_t> chip;  ///< that of the worst element; none: there is one chip
};

/// How a tensor compares with its reference (of as many elements, or one for all).
CheckResult compare(const ExpectSpec& spec, const Array& reference,
                    const exec::DeviceMemory& memory);

/// References take the tensors as they are before the run.
class Checker {
 public:
  /// Evaluates every reference on the inputs.
  Expected<void> prepare(const Workload& workload, const exec::DeviceMemory& memory);
  std::vector<CheckResult> compare(const exec::DeviceMemory& memory) const;

 private:
  struct Prepared {
    ExpectSpec spec;
    Array want;
  };
  std::vector<Prepared> references_;
};

}  // namespace xpusim::run
