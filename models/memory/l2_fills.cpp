#include "models/memory/l2_fills.h"

#include "sim/engine/alone.h"
#include "sim/engine/free_list.h"

namespace xpusim::memory {

std::uint16_t L2Fills::under_way(std::uint32_t block) const {
  std::uint32_t mask = 0;
  for (std::uint32_t f = open_.chain(block); f != kNone; f = records_[f].next) {
    if (records_[f].block == block) mask |= records_[f].wanted;
  }
  return static_cast<std::uint16_t>(mask);
}

std::uint32_t L2Fills::wait(std::uint32_t block, const Waiter& waiter, std::uint16_t joined,
                            std::uint16_t wanted) {
  const std::uint32_t index = engine::take_free(records_, free_records_);
  Record& record = records_[index];
  record.block = block;
  record.waiter.tag = engine::alone(waiter.tag);
  record.waiter.from = engine::alone(waiter.from);
  record.waiter.chip = engine::alone(waiter.chip);
  record.waiter.mask = engine::alone(waiter.mask);
  record.waiter.line = engine::alone(waiter.line);
  record.waiter.kind = engine::alone(waiter.kind);
  record.fills = 0;
  record.wanted = wanted;
  record.next = record.others = kNone;
  if (joined != 0) {
    for (std::uint32_t f = open_.chain(block); f != kNone; f = records_[f].next) {
      Record& fill = records_[f];
      if (fill.block != block || (fill.wanted & joined) == 0) continue;
      const std::uint32_t link = engine::take_free(links_, free_links_);
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
