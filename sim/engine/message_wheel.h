#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engine/component.h"
#include "sim/engine/occupancy.h"
#include "sim/engine/prefetch.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// Messages in flight: a queue for each of the next 4096 cycles, and a heap for messages beyond.
/// Those of one cycle come out in the order in which they were put in, however far ahead that was.
/// A queue is a linked list through one pool; its anchor is a link of its own, so that putting a
/// message takes no branch.
class MessageWheel {
 public:
  static constexpr std::uint32_t kBuckets = 4096;

  MessageWheel();

  /// Puts `message`, addressed to component `to`, into cycle `at` >= now.
  void put(const Message& message, std::uint32_t to, Cycle at, Cycle now) {
    if (at - now < kBuckets) [[likely]] {
      put_near(message, to, at);
    } else {
      put_far(message, to, at);
    }
  }

  /// The first cycle >= now that holds a message, or kNever.
  Cycle next(Cycle now) const {
    const Cycle near = occupied_.next(now);
    return near < far_first_ ? near : far_first_;
  }

  /// Time is now `now`: what has come near enough moves into the wheel. No cycle that holds a
  /// message may be passed over.
  void advance(Cycle now) {
    while (far_first_ - now < kBuckets) [[unlikely]] move_first_far();
  }

  /// Calls f(message) for each message of cycle `now`, in order. f may put messages into later
  /// cycles. expect(message) is called for each of them some messages before its f.
  template <class F, class G>
  void take(Cycle now, F&& f, G&& expect) {
    if (!occupied_.test(now)) return;
    occupied_.clear(now);
    const std::uint32_t anchor = now % kBuckets;
    const std::uint32_t last = tails_[anchor];
    tails_[anchor] = anchor;
    due_.clear();
    for (std::uint32_t slot = links_[anchor];; slot = links_[slot]) {
      due_.push_back(slot - kBuckets);
      if (slot == last) break;
    }
    const std::size_t n = due_.size();
    for (std::size_t i = 0; i < std::min(n, kExpect); ++i) expect(pool_[due_[i]]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + 2 * kExpect < n) prefetch(&pool_[due_[i + 2 * kExpect]]);
      if (i + kExpect < n) expect(pool_[due_[i + kExpect]]);
      const Message message = pool_[due_[i]];  // a copy: the slot is free from here on
      const std::uint32_t slot = due_[i] + kBuckets;
      links_[slot] = free_;
      free_ = slot;
      f(message);
    }
  }

 private:
  struct Far {
    Cycle at;
    std::uint64_t order;
    Message message;
  };
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::size_t kExpect = 4;  ///< messages that expect() runs ahead

  void put_near(const Message& message, std::uint32_t to, Cycle at) {
    if (free_ == kNone) [[unlikely]]
      grow();
    const std::uint32_t slot = free_;
    free_ = links_[slot];
    std::uint32_t& tail = tails_[at % kBuckets];
    links_[tail] = slot;
    tail = slot;
    pool_[slot - kBuckets] = message;
    pool_[slot - kBuckets].to = to;
    occupied_.set(at);
  }
  void grow();
  void put_far(const Message& message, std::uint32_t to, Cycle at);
  void move_first_far();

  Occupancy<kBuckets> occupied_;
  std::vector<std::uint32_t> tails_;  ///< by bucket: the last slot, or the bucket's anchor
  std::vector<std::uint32_t> links_;  ///< by slot: the next one; the first kBuckets are the anchors
  std::vector<Message> pool_;         ///< by slot less kBuckets
  std::uint32_t free_ = kNone;        ///< list of unused slots
  std::vector<std::uint32_t> due_;    ///< in take(): places in the pool
  Cycle far_first_ = kNever;
  std::uint64_t far_order_ = 0;
  std::vector<Far> far_;  ///< a heap by (cycle, order), the earliest on top
};

}  // namespace xpusim::engine
