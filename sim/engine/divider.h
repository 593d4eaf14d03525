#pragma once

#include <cstdint>

namespace xpusim::engine {

/// Divides by a number that is known when the system is set up, without the host's slow division.
/// Exact for n < 2^64 / divisor.
class Divider {
 public:
  explicit Divider(std::uint32_t divisor = 1)
      : divisor_(divisor), reciprocal_(~std::uint64_t{0} / divisor) {}

  std::uint64_t quotient(std::uint64_t n) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(n + 1) * reciprocal_ >> 64);
  }
  std::uint32_t remainder(std::uint64_t n) const {
    return static_cast<std::uint32_t>(n - quotient(n) * divisor_);
  }
  std::uint32_t divisor() const { return divisor_; }

 private:
  std::uint32_t divisor_;
  std::uint64_t reciprocal_;  ///< 2^64 / divisor, less than that
};

}  // namespace xpusim::engine
