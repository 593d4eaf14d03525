#include "models/gpu/core/tensor_core.h"

#include <cmath>

namespace xpusim::gpu {

namespace {

constexpr std::int64_t kWgmmaRows = 64, kWgmmaKBits = 256, kWgmmaMostColumns = 256;
constexpr std::int64_t kReferenceBits = 16;  // of the factors that the parameters' rates hold for
constexpr std::int64_t kFp64Bits = 64;

std::int64_t flops(const MmaShape& s) { return std::int64_t{2} * s.m * s.n * s.k; }

/// Cycles of a core for products that are divided among `cores`.
std::uint32_t cycles_of_products(const TensorParams& p, const MmaShape& s, std::int64_t cores) {
  const auto work = static_cast<double>(flops(s)) / static_cast<double>(cores);
  const double rate = s.bits == kFp64Bits ? static_cast<double>(p.fp64_flops)
                                          : static_cast<double>(p.flops * kReferenceBits) / s.bits;
  return static_cast<std::uint32_t>(std::max(1.0, std::round(work / rate)));
}

}  // namespace

std::uint32_t tensor_cycles(const TensorParams& p, Opcode op, const MmaShape& s) {
  if (op == Opcode::kWgmma) return cycles_of_products(p, s, kWarpsOfWarpgroup);
  const std::uint32_t products = cycles_of_products(p, s, 1);
  if (s.bits == kFp64Bits) return std::max(products, static_cast<std::uint32_t>(p.fp64_interval));
  return products + static_cast<std::uint32_t>(p.mma_interval);
}

std::uint32_t mma_latency(const TensorParams& p, const MmaShape& s) {
  constexpr std::int64_t kCyclesOfStep = 2;
  const std::int64_t products = cycles_of_products(p, s, 1);
  const std::int64_t steps = s.bits == kFp64Bits
                                 ? std::max(products, p.fp64_interval)
                                 : (products * p.mma_step_latency + 1) / kCyclesOfStep;
  return static_cast<std::uint32_t>(p.mma_latency + steps);
}

std::uint32_t wgmma_shared_bytes(const MmaShape& s) {
  const std::int64_t rows = s.n + (s.a_in_shared ? s.m : 0);
  return static_cast<std::uint32_t>(rows * s.k * s.bits / 8 / kWarpsOfWarpgroup);
}

const char* shape_problem(Opcode op, const MmaShape& s) {
  if (s.bits != 8 && s.bits != 16 && s.bits != 32 && (s.bits != 64 || op == Opcode::kWgmma)) {
    return "multiplies elements of a width that tensor cores do not have";
  }
  if (s.m == 0 || s.n == 0 || s.k == 0 || flops(s) > (1 << 24)) return "has no shape";
  if (op != Opcode::kWgmma) return "";
  const bool fits =
      s.m == kWgmmaRows && s.n % 8 == 0 && s.n <= kWgmmaMostColumns && s.k * s.bits == kWgmmaKBits;
  return fits ? "" : "is not of a wgmma's shape (64 x 8..256 x 256 bits)";
}

}  // namespace xpusim::gpu
