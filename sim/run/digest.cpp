#include "sim/run/digest.h"

#include <fmt/format.h>

namespace xpusim::run {

void Digest::byte(std::uint8_t b) {
  // The prime is 2^88 + 0x13b.
  constexpr std::uint64_t kPrime = 0x13b;
  low_ ^= b;
  const std::uint64_t low_half = (low_ & 0xffffffff) * kPrime;
  const std::uint64_t high_half = (low_ >> 32) * kPrime + (low_half >> 32);
  high_ = high_ * kPrime + (high_half >> 32) + (low_ << 24);
  low_ *= kPrime;
}

void Digest::add(std::string_view piece) {
  for (std::size_t i = 0; i < sizeof(std::uint64_t); ++i)
    byte(static_cast<std::uint8_t>(static_cast<std::uint64_t>(piece.size()) >> (8 * i)));
  for (char c : piece) byte(static_cast<std::uint8_t>(c));
}

std::string Digest::hex() const { return fmt::format("{:016x}{:016x}", high_, low_); }

}  // namespace xpusim::run
