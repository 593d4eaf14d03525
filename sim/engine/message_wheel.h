#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/component.h"
#include "sim/engine/occupancy.h"
#include "sim/engine/prefetch.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// Messages in flight: a queue for each of the next 4096 cycles, and a heap for messages beyond.
/// Those of one cycle come out in the order in which they were put in, however far ahead that was.
/// A queue is a chain of chunks in one pool, so that its messages lie together.
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
  /// cycles. expect(message) is called for each of them some messages before its f,
  /// and expect_soon(message) in between.
  template <class F, class G, class H>
  void take(Cycle now, F&& f, G&& expect, H&& expect_soon) {
    if (!occupied_.test(now)) return;
    occupied_.clear(now);
    const Queue queue = std::exchange(queues_[now % kBuckets], {});
    due_.clear();
    for (std::uint32_t slot = queue.first;;) {
      due_.push_back(slot++);
      if (slot == queue.end) break;
      if (slot % kChunk == 0) slot = next_[slot / kChunk - 1] * kChunk;
    }
    const std::size_t n = due_.size();
    for (std::size_t i = 0; i < std::min(n, kExpect); ++i) expect(pool_[due_[i]]);
    for (std::size_t i = 0; i < std::min(n, kExpectSoon); ++i) expect_soon(pool_[due_[i]]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + 2 * kExpect < n) prefetch(&pool_[due_[i + 2 * kExpect]]);
      if (i + kExpect < n) expect(pool_[due_[i + kExpect]]);
      if (i + kExpectSoon < n) expect_soon(pool_[due_[i + kExpectSoon]]);
      const Message message = pool_[due_[i]];  // a copy: f may take the chunk, or move the pool
      if (due_[i] % kChunk == kChunk - 1 || i + 1 == n) free_chunk(due_[i] / kChunk);
      f(message);
    }
  }

 private:
  struct Far {
    Cycle at;
    std::uint64_t order;
    Message message;
  };
  /// Messages of one cycle, from slot to slot, then on in the next chunk of the chain.
  struct Queue {
    std::uint32_t first = 0, end = 0;  ///< end: after the last one; 0: empty
  };
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kChunk = 8;     ///< messages that lie together in the pool
  static constexpr std::size_t kExpect = 10;     ///< messages that expect() runs ahead
  static constexpr std::size_t kExpectSoon = 5;  ///< the same of expect_soon()

  void put_near(const Message& message, std::uint32_t to, Cycle at) {
    Queue& queue = queues_[at % kBuckets];
    if (queue.end % kChunk == 0) add_chunk(queue);
    Message& slot = pool_[queue.end++];
    copy_fields(message, slot);
    slot.to = to;
    occupied_.set(at);
  }
  void add_chunk(Queue& queue) {
    if (free_ == kNone) [[unlikely]]
      grow();
    const std::uint32_t chunk = std::exchange(free_, next_[free_]);
    if (queue.end == 0) {
      queue.first = chunk * kChunk;
    } else {
      next_[queue.end / kChunk - 1] = chunk;
    }
    queue.end = chunk * kChunk;
  }
  void free_chunk(std::uint32_t chunk) {
    next_[chunk] = free_;
    free_ = chunk;
  }
  void grow();
  void put_far(const Message& message, std::uint32_t to, Cycle at);
  void move_first_far();

  Occupancy<kBuckets> occupied_;
  std::vector<Queue> queues_;        ///< by bucket
  std::vector<Message> pool_;        ///< by slot: [chunk * kChunk + n]
  std::vector<std::uint32_t> next_;  ///< by chunk: the next of its queue, or of the free ones
  std::uint32_t free_ = kNone;       ///< list of free chunks
  std::vector<std::uint32_t> due_;   ///< in take(): slots
  Cycle far_first_ = kNever;
  std::uint64_t far_order_ = 0;
  std::vector<Far> far_;  ///< a heap by (cycle, order), the earliest on top
};

}  // namespace xpusim::engine
