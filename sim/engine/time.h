#pragma once

#include <cstdint>
#include <limits>

namespace xpusim::engine {

/// A cycle of one clock domain; the first is 0.
using Cycle = std::uint64_t;
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

/// Simulated time in femtoseconds (SystemC's resolution is set to 1 fs; 64 bits reach 5.1 hours).
using Femto = std::uint64_t;
inline constexpr Femto kEndOfTime = std::numeric_limits<Femto>::max();

/// A clock: cycle k starts at round(k * period) fs, from an exact rational period, so edges never
/// drift. `hz` is a whole number of hertz. A clock may change its rate at a cycle boundary; it then
/// remembers only the newest rate, and edges before the change are extrapolated backwards from it.
class Clock {
 public:
  explicit constexpr Clock(std::uint64_t hz) : hz_(hz) {}

  constexpr std::uint64_t hz() const { return hz_; }

  /// Time of the edge that starts cycle k; kEndOfTime if 64 bits do not reach it.
  constexpr Femto edge(Cycle k) const {
    if (k < base_cycle_) {
      const Femto back = span(base_cycle_ - k);
      return back < base_time_ ? base_time_ - back : 0;
    }
    const Femto since = span(k - base_cycle_);
    return since > kEndOfTime - base_time_ ? kEndOfTime : base_time_ + since;
  }

  /// The first cycle whose edge is at or after t.
  constexpr Cycle cycle_at_or_after(Femto t) const {
    if (t <= base_time_) return base_cycle_;
    // edge(k) >= t  <=>  k * 1e15 + hz/2 >= t * hz, all in whole numbers.
    const Wide least = static_cast<Wide>(t - base_time_) * hz_ - hz_ / 2;
    return base_cycle_ + static_cast<Cycle>((least + kFemtoPerSecond - 1) / kFemtoPerSecond);
  }

  /// No two edges that are n cycles apart are closer than this.
  constexpr Femto at_least(Cycle n) const {
    const Wide fs = static_cast<Wide>(n) * kFemtoPerSecond / hz_;
    return fs > kEndOfTime ? kEndOfTime : static_cast<Femto>(fs);
  }

  /// This clock up to the edge of cycle `first`, and `hz` from there on.
  constexpr Clock changed_at(Cycle first, std::uint64_t hz) const {
    Clock next(hz);
    next.base_cycle_ = first;
    next.base_time_ = edge(first);
    return next;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kFemtoPerSecond = 1'000'000'000'000'000ull;

  /// n periods, rounded to the nearest femtosecond.
  constexpr Femto span(Cycle n) const {
    const Wide fs = (static_cast<Wide>(n) * kFemtoPerSecond + hz_ / 2) / hz_;
    return fs > kEndOfTime ? kEndOfTime : static_cast<Femto>(fs);
  }

  std::uint64_t hz_;
  Cycle base_cycle_ = 0;  ///< the rate holds from this cycle on
  Femto base_time_ = 0;   ///< its edge
};

}  // namespace xpusim::engine
