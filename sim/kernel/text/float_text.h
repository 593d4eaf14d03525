#pragma once

// Floats in kernel texts: the spelling that MLIR prints, and bit-exact conversion to and from it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/kernel/ir.h"

namespace xpusim::kernel {

/// The value of an element with these raw bits (zero-extended). f16, bf16, f8, tf32, f32 and f64.
double float_from_bits(std::uint64_t bits, DType dtype);
/// The nearest representable value's bits, ties to even; overflow gives infinity where the type has
/// one and NaN where it has none (f8E4M3FN).
std::uint64_t float_to_bits(double value, DType dtype);

/// "0.000000e+00", "1.44269502", "9.99999974E-6", or "0xFF800000" where decimals would not do.
std::string float_text(std::uint64_t bits, DType dtype);
/// Bits of a decimal text ("1.0", "-5.0e-1"), or nothing if it is malformed.
std::optional<std::uint64_t> parse_decimal(std::string_view text, DType dtype);

}  // namespace xpusim::kernel
