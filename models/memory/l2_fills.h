#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace xpusim::memory {

/// The reads of one L2 slice that are on their way from memory or from a home slice, and the
/// requests that wait for them. A request for sectors that are under way joins those that wait: no
/// second read. There is no limit to their number (a real slice has one).
class L2Fills {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  /// A request that is answered when the last of its fills has come.
  struct Waiter {
    std::uint64_t address, data;
    std::uint32_t from, tag;
    std::uint16_t kind, fills;
  };

  L2Fills() { heads_.fill(kNone); }

  std::uint32_t add_waiter(const Waiter& waiter);
  /// Sectors of a block that are under way.
  std::uint16_t under_way(std::uint32_t block) const;
  /// Starts a fill for which `waiter` waits; the number comes back in close().
  std::uint32_t open(std::uint32_t block, std::uint16_t mask, std::uint32_t waiter);
  /// Makes `waiter` wait for every fill under way of any of these sectors.
  void join(std::uint32_t block, std::uint16_t mask, std::uint32_t waiter);
  /// A fill has come: calls answer(const Waiter&) for each request that waited for nothing else.
  template <class F>
  void close(std::uint32_t fill, F&& answer);
  bool empty() const { return open_ == 0; }

 private:
  struct Fill {
    std::uint32_t block, next;     ///< next of its bucket, or of the free list
    std::uint32_t waiter, others;  ///< the one that started it; links to those that joined
    std::uint16_t mask;
  };
  struct Link {
    std::uint32_t waiter, next;
  };

  static std::uint32_t bucket(std::uint32_t block) { return (block * 0x9e3779b9u) >> 24; }
  template <class T>
  static std::uint32_t take(std::vector<T>& pool, std::vector<std::uint32_t>& free);
  void unlink(std::uint32_t fill);
  template <class F>
  void finish_one(std::uint32_t waiter, F&& answer);

  std::array<std::uint32_t, 256> heads_;
  std::vector<Fill> fills_;
  std::vector<Link> links_;
  std::vector<Waiter> waiters_;
  std::vector<std::uint32_t> free_fills_, free_links_, free_waiters_;
  std::uint32_t open_ = 0;
};

template <class F>
void L2Fills::finish_one(std::uint32_t waiter, F&& answer) {
  if (--waiters_[waiter].fills > 0) return;
  const Waiter done = waiters_[waiter];
  free_waiters_.push_back(waiter);
  answer(done);
}

template <class F>
void L2Fills::close(std::uint32_t fill, F&& answer) {
  unlink(fill);
  const Fill f = fills_[fill];
  free_fills_.push_back(fill);
  --open_;
  finish_one(f.waiter, answer);
  for (std::uint32_t link = f.others; link != kNone;) {
    const Link l = links_[link];
    free_links_.push_back(link);
    finish_one(l.waiter, answer);
    link = l.next;
  }
}

}  // namespace xpusim::memory
