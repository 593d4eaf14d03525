#include "sim/engine/mailboxes.h"

#include <algorithm>
#include <utility>

#include "sim/engine/check.h"

namespace xpusim::engine {

void Mailboxes::open(std::uint32_t id, Cycle window) {
  if (window < 2 || window > kLongestWindow) {
    broken("mailbox", 0, "a window of messages is of 2 to 256 cycles");
  }
  of_.resize(id + 1, kNone);
  of_[id] = static_cast<std::uint32_t>(boxes_.size());
  boxes_.emplace_back();
  boxes_.back().window = window;
  boxes_.back().number_of = Divider(static_cast<std::uint32_t>(window));
  boxes_.back().number = of_[id];
  for (auto& lists : lists_) lists.emplace_back();
}

void Mailboxes::prefetch_chunk(std::uint32_t chunk) const {
  engine::prefetch(&pool_[std::size_t{chunk} * kChunk], kChunk * sizeof(Mail));
}

void Mailboxes::add_chunk(List& list) {
  if (free_ == kNone) {
    free_ = static_cast<std::uint32_t>(next_.size());
    next_.push_back(kNone);
    pool_.resize(pool_.size() + kChunk);
  }
  const std::uint32_t chunk = std::exchange(free_, next_[free_]);
  if (free_ != kNone) prefetch_chunk(free_);
  next_[chunk] = kNone;
  (list.first == kNone ? list.first : next_[list.last]) = chunk;
  list.last = chunk;
}

void Mailboxes::free_list(Box& box, std::size_t window) {
  List& list = lists_[window][box.number];
  box.occupied &= ~(std::uint64_t{1} << window);
  if (list.first == kNone) return;
  next_[list.last] = free_;
  free_ = list.first;
  list = {};
}

/// Lists the window's messages in `sorted_` by their cycles; returns how many there are.
std::uint32_t Mailboxes::sort(const Box& box, Cycle end) {
  const List& list = lists_[end / box.window % kWindows][box.number];
  const auto each = [&](auto&& f) {
    std::uint32_t left = list.count;
    for (std::uint32_t chunk = list.first; left > 0; chunk = next_[chunk]) {
      if (left > kChunk) prefetch_chunk(next_[chunk]);
      const std::uint32_t n = std::min(left, kChunk);
      for (std::uint32_t i = 0; i < n; ++i) f(chunk * kChunk + i);
      left -= n;
    }
  };
  std::fill_n(starts_.begin(), box.window + 1, 0u);
  each([&](std::uint32_t place) { ++starts_[pool_[place].message.to + 1]; });
  for (Cycle c = 1; c < box.window; ++c) starts_[c] += starts_[c - 1];
  if (sorted_.size() < list.count) sorted_.resize(list.count);
  each([&](std::uint32_t place) { sorted_[starts_[pool_[place].message.to]++] = place; });
  return list.count;
}

/// What has come near enough moves into its window: before anything is put there directly.
void Mailboxes::move_far(Box& box, Cycle now) {
  const Cycle first = now / box.window;
  std::erase_if(box.far, [&](const Far& far) {
    const Cycle number = far.at / box.window;
    if (number - first >= kWindows) return false;
    put_near(box, far.message, far.at, number);
    return true;
  });
}

}  // namespace xpusim::engine
