#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/exec/memory.h"

namespace xpusim::exec {

/// Writes elements first .. first+count-1 of a tensor as its Init says. The value of an element
/// depends on the seed and its own index alone, so any part of a tensor can be made at any time, in
/// any order. randn: Box-Muller over one 64-bit hash an element, in f32 (|value| below 6.8), then
/// rounded to the dtype; randint: uniform in [0, N). kUnwritten gives zero bytes.
void generate(const Init& init, DType dtype, std::uint64_t first, std::size_t count,
              std::byte* out);

}  // namespace xpusim::exec
