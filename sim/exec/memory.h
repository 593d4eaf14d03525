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

/// How a tensor's elements begin: a counter-based generator (value = f(seed, index)), or given
/// data.
struct Init {
  enum class Kind {
    kZeros,
    kOnes,
    kFull,
    kArange,
    kRandn,
    kRandint,
    kData,
    kUnwritten
  } kind = Kind::kZeros;
  double value = 0;  ///< kFull: V; kRandint: N (uniform in [0, N))
  std::uint64_t seed = 0;
  std::uint64_t first = 0;  ///< the tensor begins at this element: it is a part of a larger one
  std::shared_ptr<const std::vector<std::byte>> data;  ///< kData
};

/// A tensor in device memory.
struct Allocation {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t address = 0;  ///< 256-byte aligned, never 0
  std::uint64_t bytes = 0;
  Init init;
};

/// The memory of one device, functionally. Pages exist only once written, or (up to a limit) once
/// read several times; all others read as their generator says. Addresses outside every allocation
/// are errors of the kernel. Leaves out: virtual memory and fragmentation; guard gaps take
/// addresses but no capacity.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t capacity_bytes);
  ~DeviceMemory();

  /// Fails by name when the device has no room.
  Expected<std::uint64_t> allocate(std::string name, DType dtype, std::vector<std::int64_t> shape,
                                   Init init);
  const Allocation* find(std::uint64_t address) const;  ///< the allocation that holds it, or null
  const Allocation* find(std::string_view name) const;
  const std::vector<Allocation>& allocations() const;

  void read(std::uint64_t address, std::span<std::byte> out) const;  ///< inside one allocation
  void write(std::uint64_t address, std::span<const std::byte> in);
  /// Elements at scattered addresses, each inside an allocation.
  void gather(std::span<const std::int64_t> addresses, std::size_t element_bytes,
              std::byte* out) const;
  void scatter(std::span<const std::int64_t> addresses, std::size_t element_bytes,
               const std::byte* in);
  /// The first byte of a range that was never written, in an allocation that began as kUnwritten.
  std::optional<std::uint64_t> first_unwritten(std::uint64_t address, std::uint64_t bytes) const;
  /// The allocation nearest to an address outside all of them (for messages), or null.
  const Allocation* nearest(std::uint64_t address) const;
  /// All elements of a tensor as doubles (ints exactly up to 2^53).
  std::vector<double> as_doubles(const Allocation& a) const;
  std::uint64_t capacity() const;
  std::uint64_t resident_bytes() const;  ///< host bytes of the pages that exist

  /// A copy of all pages that exist, to go back to before a launch is simulated again.
  struct Contents;
  std::shared_ptr<const Contents> contents() const;
  void set_contents(const Contents& contents);  ///< of this memory, with no allocation since

  static constexpr std::uint64_t kAlignment = 256;         ///< as the vendor's allocators align
  static constexpr std::uint64_t kGuardBytes = 64 * 1024;  ///< unmapped addresses between tensors
  static constexpr std::uint64_t kPageBytes = 64 * 1024;   ///< host memory is taken in pages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Rounds to a dtype as the hardware does (to nearest even; f8E4M3FN and f8E5M2 saturate as PTX's
/// cvt.satfinite, the only f8 conversion it has) and back. `encode` gives the bit pattern in the
/// low bits.
std::uint64_t encode(DType d, double value);
double decode(DType d, std::uint64_t bits);

}  // namespace xpusim::exec
