// tpu.prng_set_seed_32 and prng_random_bits. The chip's own generator is not public: bits are those
// of a counter-based one, a function of the seeds and of how many have been drawn since, spread
// evenly; they are not the chip's bits.

#include <cstring>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;

/// A bijective mix of 64 bits (the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

Step set_seed(Frame& f, const Instruction& in) {
  f.random_key = 0;
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    const Tile& seed = f.operand(in, k);
    if (is_unknown(seed))
      return f.fail(in, "a seed depends on values that --values off does not hold");
    f.random_key = mix(f.random_key + kGolden + zero_extend(DType::kI32, seed.bits));
  }
  f.random_index = 0;
  f.random_seeded = true;
  return Step::kNext;
}

Step random_bits(Frame& f, const Instruction& in) {
  if (!f.random_seeded) return f.fail(in, "random bits before the first seed are undefined");
  Tile& out = f.result(in);
  const std::uint64_t first = f.random_index;
  f.random_index += static_cast<std::uint64_t>(out.count());
  if (!f.wants(in)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  std::byte* to = dense_storage(out);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::uint64_t index = first + static_cast<std::uint64_t>(i);
    const auto bits = static_cast<std::uint32_t>(mix(f.random_key + index * kGolden) >> 32);
    std::memcpy(to + i * 4, &bits, 4);
  }
  return Step::kNext;
}

std::string_view prepare_bits(const kernel::Op& op, Instruction&) {
  return op.result()->type->dtype == DType::kI32 ? "" : "random bits come as i32";
}

}  // namespace

void add_random(OpTable& table) {
  table.add({.name = "tpu.prng_set_seed_32", .run = set_seed, .pure = false});
  table.add(
      {.name = "tpu.prng_random_bits", .run = random_bits, .pure = false, .prepare = prepare_bits});
}

}  // namespace xpusim::exec
