#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::exec {

using kernel::DType;

/// How a tensor's elements begin: a counter-based generator (value = f(seed, index)), or given data.
struct Init {
  enum class Kind { kZeros, kOnes, kFull, kArange, kRandn, kRandint, kData, kUnwritten } kind = Kind::kZeros;
  double value = 0;                   ///< kFull: V; kRandint: N (uniform in [0, N))
  std::uint64_t seed = 0;
  std::shared_ptr<const std::vector<std::byte>> data;   ///< kData
};

/// A tensor in device memory.
struct Allocation {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t address = 0;          ///< 256-byte aligned, never 0
  std::uint64_t bytes = 0;
  Init init;
};

/// The memory of one device, functionally. Pages exist only once written; unwritten ones read as their
/// generator says. Addresses outside every allocation are errors of the kernel.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t capacity_bytes);
  ~DeviceMemory();

  /// Fails by name when the device has no room.
  Expected<std::uint64_t> allocate(std::string name, DType dtype, std::vector<std::int64_t> shape, Init init);
  const Allocation* find(std::uint64_t address) const;          ///< the allocation that holds it, or null
  const Allocation* find(std::string_view name) const;
  const std::vector<Allocation>& allocations() const;

  void read(std::uint64_t address, std::span<std::byte> out) const;      ///< inside one allocation
  void write(std::uint64_t address, std::span<const std::byte> in);
  /// All elements of a tensor as doubles (ints exactly up to 2^53).
  std::vector<double> as_doubles(const Allocation& a) const;
  std::uint64_t capacity() const;
  std::uint64_t resident_bytes() const;                          ///< host bytes of the written pages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Rounds to a dtype as the hardware does (to nearest even; f8E4M3FN saturates as the vendor's cvt does)
/// and back. `encode` gives the bit pattern in the low bits.
std::uint64_t encode(DType d, double value);
double decode(DType d, std::uint64_t bits);

}  // namespace xpusim::exec
