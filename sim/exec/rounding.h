#pragma once

// Conversions of whole runs of elements between the narrow float formats and f32; single values
// convert with encode and decode (memory.h).

#include <cstddef>

#include "sim/kernel/ir.h"

namespace xpusim::exec {

/// Elements of a float format of at most 32 bits (f16, bf16, f8, tf32, f32) as f32, exactly.
void widen(kernel::DType d, const std::byte* in, std::size_t count, float* out);
/// f32 values rounded to the format: to nearest even; f8 saturates, NaN becomes the vendor's
/// canonical NaN.
void narrow(kernel::DType d, const float* in, std::size_t count, std::byte* out);
/// Rounds f32 values in place to what the format can hold.
void round_in_place(kernel::DType d, float* values, std::size_t count);

}  // namespace xpusim::exec
