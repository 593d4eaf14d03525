#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/component.h"
#include "sim/engine/divider.h"
#include "sim/engine/prefetch.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// Messages on their way to components that work through a window of cycles at its end: a list for
/// each window, in the order of sending. Nobody looks at them before, so that a message is written
/// once and read once, with its neighbours.
class Mailboxes {
 public:
  static constexpr Cycle kLongestWindow = 256;  ///< cycles

  /// Makes a mailbox for component `id` (ids in rising order). A window is 2 to 256 cycles.
  void open(std::uint32_t id, Cycle window);

  bool has(std::uint32_t id) const { return id < of_.size() && of_[id] != kNone; }
  /// The last cycle of the window of the component that `cycle` lies in.
  Cycle end_of_window(std::uint32_t id, Cycle cycle) const {
    const Cycle window = boxes_[of_[id]].window;
    return cycle - cycle % window + window - 1;
  }

  /// Puts a message to `id`, for cycle `at` >= now, into its window; returns the window's end.
  Cycle put(const Message& message, std::uint32_t id, Cycle at, Cycle now) {
    Box& box = boxes_[of_[id]];
    const Cycle number = box.number_of.quotient(at);
    if (!box.far.empty()) [[unlikely]]
      move_far(box, now);
    if (at - now <= (kWindows - 1) * box.window) [[likely]] {
      put_near(box, message, at, number);
    } else {
      box.far.push_back({message, at});
    }
    return (number + 1) * box.window - 1;
  }

  /// The end of the first window of `id` from that of `cycle` on that holds messages, or kNever.
  Cycle next(std::uint32_t id, Cycle cycle) const {
    const Box& box = boxes_[of_[id]];
    const Cycle first = cycle / box.window;
    Cycle end = kNever;
    if (box.occupied != 0) {
      const auto turned = std::rotr(box.occupied, static_cast<int>(first % kWindows));
      end = (first + static_cast<Cycle>(std::countr_zero(turned)) + 1) * box.window - 1;
    }
    for (const Far& far : box.far) end = std::min(end, end_of_window(id, far.at));
    return end;
  }

  /// Brings the first messages of the window of `id` that ends with `end` into the host's cache.
  void prefetch(std::uint32_t id, Cycle end) const {
    const Box& box = boxes_[of_[id]];
    const std::uint32_t first = lists_[end / box.window % kWindows][box.number].first;
    if (first != kNone) prefetch_chunk(first);
  }

  /// Takes the messages of the window of `id` that ends with cycle `end`: calls f(message, at) in
  /// order of their cycles, those of a cycle in the order of sending.
  template <class F>
  void take(std::uint32_t id, Cycle end, F&& f) {
    Box& box = boxes_[of_[id]];
    if (!box.far.empty()) [[unlikely]]
      move_far(box, end);
    const std::uint32_t count = sort(box, end);
    for (std::uint32_t i = 0; i < count; ++i) {
      const Mail& mail = pool_[sorted_[i]];
      f(mail.message, end + 1 - box.window + mail.message.to);
    }
    free_list(box, end / box.window % kWindows);
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kWindows = 64;  ///< that are kept apart; beyond is rare
  static constexpr std::uint32_t kChunk = 8;     ///< messages that lie together in the pool

  /// A message; while it waits, its `to` is its cycle within the window.
  struct alignas(32) Mail {
    Message message;
  };
  struct Far {
    Message message;
    Cycle at;
  };
  /// A chain of chunks, all but the last of them full.
  struct List {
    std::uint32_t first = kNone, last = kNone, count = 0;
  };
  struct Box {
    Cycle window = 0;
    Divider number_of;           ///< by the window
    std::uint32_t number = 0;    ///< of the box
    std::uint64_t occupied = 0;  ///< bit (window number mod kWindows): holds messages
    std::vector<Far> far;        ///< beyond these windows, in order of sending
  };

  void put_near(Box& box, const Message& message, Cycle at, Cycle number) {
    List& list = lists_[number % kWindows][box.number];
    const std::uint32_t in_chunk = list.count++ % kChunk;
    if (in_chunk == 0) add_chunk(list);
    box.occupied |= std::uint64_t{1} << number % kWindows;
    Mail& mail = pool_[list.last * kChunk + in_chunk];
    copy_fields(message, mail.message);
    mail.message.to = static_cast<std::uint32_t>(at - number * box.window);
  }
  void prefetch_chunk(std::uint32_t chunk) const;
  void add_chunk(List& list);
  void free_list(Box& box, std::size_t window);
  std::uint32_t sort(const Box& box, Cycle end);
  void move_far(Box& box, Cycle now);

  std::vector<std::uint32_t> of_;  ///< [component id]: its box, or kNone
  std::vector<Box> boxes_;
  /// [window number mod kWindows][box]: messages go to many boxes, but to few windows at a time.
  std::array<std::vector<List>, kWindows> lists_;
  std::vector<Mail> pool_;             ///< [chunk * kChunk + n]
  std::vector<std::uint32_t> next_;    ///< [chunk]
  std::uint32_t free_ = kNone;         ///< list of unused chunks
  std::vector<std::uint32_t> sorted_;  ///< in take(): places in the pool
  std::array<std::uint32_t, kLongestWindow + 1> starts_{};
};

}  // namespace xpusim::engine
