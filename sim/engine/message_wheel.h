#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/component.h"
#include "sim/engine/occupancy.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// Messages in flight: a queue for each of the next 4096 cycles, and a heap for messages beyond.
/// Those of one cycle come out in the order in which they were put in, however far ahead that was.
/// A queue is a list of chunks from one pool, so messages of a cycle lie side by side in memory.
class MessageWheel {
 public:
  static constexpr std::uint32_t kBuckets = 4096;

  MessageWheel() : queues_(kBuckets) {}

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
  /// cycles.
  template <class F>
  void take(Cycle now, F&& f) {
    if (!occupied_.test(now)) return;
    occupied_.clear(now);
    Queue& queue = queues_[now % kBuckets];
    std::uint32_t chunk = queue.head;
    const std::uint32_t last = queue.tail;
    const std::uint32_t last_count = queue.tail_count;
    for (;;) {
      const std::uint32_t count = chunk == last ? last_count : kChunk;
      for (std::uint32_t i = 0; i < count; ++i) {
        const Message message = pool_[chunk].messages[i];  // a copy: f may make the pool move
        f(message);
      }
      const std::uint32_t after = pool_[chunk].next;
      pool_[chunk].next = free_;
      free_ = chunk;
      if (chunk == last) return;
      chunk = after;
    }
  }

 private:
  static constexpr std::uint32_t kChunk =
      7;  ///< messages; with the link a chunk is 256 bytes less 28
  static constexpr std::uint32_t kNone = ~0u;

  struct alignas(64) Chunk {
    std::array<Message, kChunk> messages;
    std::uint32_t next;
  };
  struct Queue {
    std::uint32_t head = kNone, tail = kNone;  ///< chunks
    std::uint32_t tail_count = 0;              ///< messages in the tail
  };
  struct Far {
    Cycle at;
    std::uint64_t order;
    Message message;
  };

  void put_near(const Message& message, std::uint32_t to, Cycle at) {
    Queue& queue = queues_[at % kBuckets];
    if (!occupied_.test(at)) {
      occupied_.set(at);
      queue.head = queue.tail = new_chunk();
      queue.tail_count = 0;
    } else if (queue.tail_count == kChunk) {
      const std::uint32_t chunk = new_chunk();
      pool_[queue.tail].next = chunk;
      queue.tail = chunk;
      queue.tail_count = 0;
    }
    Message& slot = pool_[queue.tail].messages[queue.tail_count++];
    slot = message;
    slot.to = to;
  }
  std::uint32_t new_chunk() {
    const std::uint32_t chunk = free_;
    if (chunk == kNone) return grow();
    free_ = pool_[chunk].next;
    return chunk;
  }
  std::uint32_t grow();
  void put_far(const Message& message, std::uint32_t to, Cycle at);
  void move_first_far();

  Occupancy<kBuckets> occupied_;
  std::vector<Queue> queues_;
  std::vector<Chunk> pool_;
  std::uint32_t free_ = kNone;  ///< list of unused chunks
  Cycle far_first_ = kNever;
  std::uint64_t far_order_ = 0;
  std::vector<Far> far_;  ///< a heap by (cycle, order), the earliest on top
};

}  // namespace xpusim::engine
