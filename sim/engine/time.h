#pragma once

#include <cstdint>
#include <limits>

namespace xpusim::engine {

/// A cycle of one clock domain; the first is 0.
using Cycle = std::uint64_t;
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

/// Simulated time in femtoseconds (SystemC's resolution is set to 1 fs; 64 bits reach 5.1 hours).
using Femto = std::uint64_t;

/// A clock: cycle k starts at round(k * period) fs, from an exact rational period, so edges never
/// drift. `hz` is a whole number of hertz.
class Clock {
 public:
  explicit constexpr Clock(std::uint64_t hz) : hz_(hz) {}
  constexpr std::uint64_t hz() const { return hz_; }
  /// Time of the edge that starts cycle k.
  constexpr Femto edge(Cycle k) const {
    return static_cast<Femto>((static_cast<unsigned __int128>(k) * kFemtoPerSecond + hz_ / 2) / hz_);
  }
  /// The first cycle whose edge is at or after t.
  constexpr Cycle cycle_at_or_after(Femto t) const {
    Cycle k = static_cast<Cycle>(static_cast<unsigned __int128>(t) * hz_ / kFemtoPerSecond);
    while (edge(k) < t) ++k;
    while (k > 0 && edge(k - 1) >= t) --k;
    return k;
  }

 private:
  static constexpr std::uint64_t kFemtoPerSecond = 1'000'000'000'000'000ull;
  std::uint64_t hz_;
};

}  // namespace xpusim::engine
