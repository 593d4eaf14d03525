#pragma once

#include <optional>

#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// Whether no element of a floating-point value can be a NaN, as LLVM knows it: integers become
/// numbers; sums of numbers, one of which is finite, and products with a finite constant that is
/// not zero stay numbers; so do selections between them.
bool never_nan(const kernel::Value& value);

/// A comparison of x with a constant that also holds where x is a NaN (x > c or x != x): one
/// instruction.
struct UnorderedCompare {
  const kernel::Op* compare = nullptr;  ///< x > c
};
/// Finds it in an `arith.ori`.
std::optional<UnorderedCompare> unordered_compare(const kernel::Op& ori);

/// A selection that is the larger or the smaller of x, which is never a NaN, and a constant.
struct Extremum {
  bool minimum = false;
};
std::optional<Extremum> extremum_of(const kernel::Op& select);

}  // namespace xpusim::gpu
