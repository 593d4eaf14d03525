#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/engine/time.h"

namespace xpusim::engine {

/// Which buckets of a timing wheel hold something. A wheel of B buckets covers the cycles
/// [now, now + B); cycle c lies in bucket c mod B. Two levels of bits: finding the next is O(1).
template <std::uint32_t Buckets>
class Occupancy {
 public:
  static_assert(std::has_single_bit(Buckets) && Buckets >= 64 && Buckets <= 4096);

  bool test(Cycle c) const { return words_[word(c)] >> bit(c) & 1; }
  void set(Cycle c) {
    words_[word(c)] |= 1ull << bit(c);
    summary_ |= 1ull << word(c);
  }
  void clear(Cycle c) {
    if ((words_[word(c)] &= ~(1ull << bit(c))) == 0) summary_ &= ~(1ull << word(c));
  }

  /// The first occupied cycle of [now, now + Buckets), or kNever.
  Cycle next(Cycle now) const {
    if (summary_ == 0) return kNever;
    const std::uint32_t here = word(now);
    if (const std::uint64_t rest = words_[here] >> bit(now)) return now + std::countr_zero(rest);
    // The words after this one; then, around the end, those up to and with this one.
    const std::uint64_t after = summary_ & ~(~0ull >> (63 - here));
    const std::uint32_t found = std::countr_zero(after != 0 ? after : summary_);
    const std::uint32_t position = found * 64 + std::countr_zero(words_[found]);
    return now + ((position - static_cast<std::uint32_t>(now)) & (Buckets - 1));
  }

 private:
  static constexpr std::uint32_t word(Cycle c) {
    return static_cast<std::uint32_t>(c) % Buckets / 64;
  }
  static constexpr std::uint32_t bit(Cycle c) { return c % 64; }

  std::array<std::uint64_t, Buckets / 64> words_{};
  std::uint64_t summary_ = 0;  ///< bit w: word w is not zero
};

}  // namespace xpusim::engine
