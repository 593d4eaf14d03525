#include "models/memory/l2_fills.h"

#include "sim/engine/prefetch.h"

namespace xpusim::memory {

std::uint32_t L2Fills::new_record() {
  if (free_records_ == kNone) {
    records_.emplace_back();
    return static_cast<std::uint32_t>(records_.size() - 1);
  }
  const std::uint32_t index = free_records_;
  free_records_ = records_[index].next;
  if (free_records_ != kNone) engine::prefetch(&records_[free_records_]);
  return index;
}

std::uint32_t L2Fills::new_link() {
  if (free_links_ == kNone) {
    links_.emplace_back();
    return static_cast<std::uint32_t>(links_.size() - 1);
  }
  const std::uint32_t index = free_links_;
  free_links_ = links_[index].next;
  return index;
}

std::uint16_t L2Fills::under_way(std::uint32_t block) const {
  std::uint32_t mask = 0;
  for (std::uint32_t f = open_.chain(block); f != kNone; f = records_[f].next) {
    if (records_[f].block == block) mask |= records_[f].wanted;
  }
  return static_cast<std::uint16_t>(mask);
}

std::uint32_t L2Fills::wait(std::uint32_t block, const Waiter& waiter, std::uint16_t joined,
                            std::uint16_t wanted) {
  const std::uint32_t index = new_record();
  Record& record = records_[index];
  record = {block, waiter, 0, wanted, kNone, kNone};
  if (joined != 0) {
    for (std::uint32_t f = open_.chain(block); f != kNone; f = records_[f].next) {
      Record& fill = records_[f];
      if (fill.block != block || (fill.wanted & joined) == 0) continue;
      const std::uint32_t link = new_link();
      links_[link] = {index, fill.others};
      fill.others = link;
      ++record.fills;
    }
  }
  if (wanted != 0) {
    open_.insert(records_, index);
    ++record.fills;
  }
  return index;
}

}  // namespace xpusim::memory
