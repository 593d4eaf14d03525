#include "models/gpu/core/tensor_core.h"

#include <cmath>

namespace xpusim::gpu {

namespace {

constexpr std::int64_t kWgmmaRows = 64, kWgmmaKBits = 256, kWgmmaMostColumns = 256;
constexpr std::int64_t kReferenceBits = 16;  // of the factors that the parameters' rates hold for
constexpr std::int64_t kFp64Bits = 64;

std::int64_t flops(const MmaShape& s) { return std::int64_t{2} * s.m * s.n * s.k; }

}  // namespace

std::uint32_t tensor_cycles(const TensorParams& p, Opcode op, const MmaShape& s) {
  const bool wgmma = op == Opcode::kWgmma;
  const double work = static_cast<double>(flops(s)) / (wgmma ? double{kWarpsOfWarpgroup} : 1.0);
  const double rate =
      s.bits == kFp64Bits
          ? static_cast<double>(p.fp64_flops)
          : static_cast<double>((wgmma ? p.wgmma_flops : p.mma_flops) * kReferenceBits) / s.bits;
  return static_cast<std::uint32_t>(std::max(1.0, std::round(work / rate)));
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
