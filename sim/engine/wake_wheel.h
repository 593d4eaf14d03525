#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/occupancy.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// Who is to be ticked when: one set of component ids for each of the next 512 cycles, and a heap
/// for wakes beyond. A component has at most one pending wake, the earliest that was asked for: a
/// later one changes nothing, an earlier one replaces it. The replaced one leaves its bit behind;
/// when its cycle comes it is dropped (next() may thus name a cycle in which nobody is due).
class WakeWheel {
 public:
  static constexpr std::uint32_t kBuckets = 512;

  /// Makes room for the ids below `count`; pending wakes stay.
  void resize(std::uint32_t count);

  /// Asks for `id` at cycle `at` >= now; kNever asks for nothing.
  void wake(std::uint32_t id, Cycle at, Cycle now) {
    if (at >= pending_[id]) return;
    pending_[id] = at;
    if (at - now < kBuckets) [[likely]] {
      insert(id, at);
    } else {
      insert_far(id, at);
    }
  }

  /// The first cycle >= now that holds a wake, or kNever.
  Cycle next(Cycle now) const {
    const Cycle near = occupied_.next(now);
    return near < far_first_ ? near : far_first_;
  }

  /// Time is now `now`: what has come near enough moves into the wheel. No cycle that holds a wake
  /// may be passed over.
  void advance(Cycle now) {
    while (far_first_ - now < kBuckets) [[unlikely]] move_first_far();
  }

  /// Calls f(id) for all who are due at `now`, in id order. f may wake anybody for later cycles.
  /// expect(id) is mostly called for one before the f of another.
  template <class F, class G>
  void take(Cycle now, F&& f, G&& expect) {
    if (!occupied_.test(now)) return;
    occupied_.clear(now);
    const std::size_t row = (now % kBuckets) * words_;
    for (std::uint32_t k = 0; k < words_; ++k) {
      std::uint64_t ids = bits_[row + k];
      if (ids == 0) continue;
      bits_[row + k] = 0;
      do {
        const std::uint32_t id = k * 64 + std::countr_zero(ids);
        ids &= ids - 1;
        if (ids != 0) expect(k * 64 + static_cast<std::uint32_t>(std::countr_zero(ids)));
        if (pending_[id] != now) continue;
        pending_[id] = kNever;
        f(id);
      } while (ids != 0);
    }
  }

  template <class F>
  void take(Cycle now, F&& f) {
    take(now, f, [](std::uint32_t) {});
  }

  Cycle pending(std::uint32_t id) const { return pending_[id]; }

 private:
  struct Far {
    Cycle at;
    std::uint32_t id;
  };

  void insert(std::uint32_t id, Cycle at) {
    bits_[(at % kBuckets) * words_ + id / 64] |= 1ull << (id % 64);
    occupied_.set(at);
  }
  void insert_far(std::uint32_t id, Cycle at);
  void move_first_far();

  std::uint32_t words_ = 0;          ///< 64-bit words of one set of ids
  std::vector<std::uint64_t> bits_;  ///< kBuckets sets
  std::vector<Cycle> pending_;       ///< by id
  Occupancy<kBuckets> occupied_;
  Cycle far_first_ = kNever;
  std::vector<Far> far_;  ///< a heap, the earliest on top
};

}  // namespace xpusim::engine
