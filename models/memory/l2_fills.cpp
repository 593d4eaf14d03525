#include "models/memory/l2_fills.h"

namespace xpusim::memory {

template <class T>
std::uint32_t L2Fills::take(std::vector<T>& pool, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  return index;
}

std::uint32_t L2Fills::add_waiter(const Waiter& waiter) {
  const std::uint32_t index = take(waiters_, free_waiters_);
  waiters_[index] = waiter;
  waiters_[index].fills = 0;
  return index;
}

std::uint16_t L2Fills::under_way(std::uint32_t block) const {
  std::uint32_t mask = 0;
  for (std::uint32_t f = heads_[bucket(block)]; f != kNone; f = fills_[f].next) {
    if (fills_[f].block == block) mask |= fills_[f].mask;
  }
  return static_cast<std::uint16_t>(mask);
}

std::uint32_t L2Fills::open(std::uint32_t block, std::uint16_t mask, std::uint32_t waiter) {
  const std::uint32_t index = take(fills_, free_fills_);
  std::uint32_t& head = heads_[bucket(block)];
  fills_[index] = {block, head, waiter, kNone, mask};
  head = index;
  ++waiters_[waiter].fills;
  ++open_;
  return index;
}

void L2Fills::join(std::uint32_t block, std::uint16_t mask, std::uint32_t waiter) {
  for (std::uint32_t f = heads_[bucket(block)]; f != kNone; f = fills_[f].next) {
    Fill& fill = fills_[f];
    if (fill.block != block || (fill.mask & mask) == 0) continue;
    const std::uint32_t link = take(links_, free_links_);
    links_[link] = {waiter, fill.others};
    fill.others = link;
    ++waiters_[waiter].fills;
  }
}

void L2Fills::unlink(std::uint32_t fill) {
  std::uint32_t* at = &heads_[bucket(fills_[fill].block)];
  while (*at != fill) at = &fills_[*at].next;
  *at = fills_[fill].next;
}

}  // namespace xpusim::memory
