#pragma once

// Small readings of ops that analyses and compilers share: constants, predicates, arguments'
// attributes.

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/kernel/ir.h"

namespace xpusim::kernel {

/// Comparison of integers, numbered as in MLIR's arith.cmpi.
enum class Compare : std::uint8_t {
  kEq,
  kNe,
  kSlt,
  kSle,
  kSgt,
  kSge,
  kUlt,
  kUle,
  kUgt,
  kUge,
  kUnknown
};
/// The predicate of an arith.cmpi.
Compare compare_of(const Op& cmpi);
std::string_view name(Compare c);
/// Whether two numbers compare so; false for kUnknown.
bool holds(Compare how, std::int64_t left, std::int64_t right);

/// What a value stands for: an argument of a ttg.warp_specialize's partition for the value that it
/// captures, all others for themselves.
const Value& source_of(const Value& value);

/// The value of an integer or boolean arith.constant: a scalar, or a tile of equal elements.
std::optional<std::int64_t> integer_constant(const Value& value);
/// The same of a floating-point constant.
std::optional<double> float_constant(const Value& value);

/// An integer attribute of a function's argument ("tt.divisibility").
std::int64_t argument_attr(const Op& function, std::uint32_t index, std::string_view key,
                           std::int64_t otherwise);

/// Bytes of what a pointer, or a tile of pointers, points to; 0 for other types.
std::int64_t pointee_bytes(Type type);

}  // namespace xpusim::kernel
