#include "models/network/bandwidth_calendar.h"

#include <algorithm>
#include <bit>

namespace xpusim::network {

BandwidthCalendar::BandwidthCalendar(std::uint32_t bytes_per_cycle)
    : bytes_per_cycle_(std::min(bytes_per_cycle, kMaxBytesPerCycle)),
      slot_bytes_(bytes_per_cycle_ * static_cast<std::uint32_t>(kSlotCycles)),
      reciprocal_(((std::uint64_t{1} << 32) + bytes_per_cycle_ - 1) / bytes_per_cycle_) {}

/// Moves the window on to start at slot `first`. Slots that it now reaches take over the line.
void BandwidthCalendar::advance(std::uint64_t first) {
  std::uint64_t slot = std::max(first_ + kSlots, first);
  first_ = first;
  for (; slot < first + kSlots; ++slot) {
    const std::uint64_t start = slot * slot_bytes_;
    const std::uint64_t bit = std::uint64_t{1} << slot % kSlots;
    const std::uint64_t waiting = line_ > start ? line_ - start : 0;
    used_[slot % kSlots] =
        static_cast<std::uint16_t>(std::min<std::uint64_t>(waiting, slot_bytes_));
    full_ = waiting >= slot_bytes_ ? full_ | bit : full_ & ~bit;
  }
}

/// The first slot from `slot` on with bytes left; the end of the window if there is none.
std::uint64_t BandwidthCalendar::first_free(std::uint64_t slot) const {
  const std::uint64_t from_slot = std::rotr(full_, static_cast<int>(slot % kSlots));
  return std::min(slot + static_cast<std::uint64_t>(std::countr_one(from_slot)), first_ + kSlots);
}

/// The same as book(), whatever slots it takes.
engine::Cycle BandwidthCalendar::book_slots(engine::Cycle now, engine::Cycle ready,
                                            std::uint32_t bytes) {
  if (bytes == 0) return ready;
  booked_ += bytes;
  if (now >> kSlotBits > first_) advance(now >> kSlotBits);
  engine::Cycle end = ready + span(bytes);
  std::uint64_t slot = ready >> kSlotBits;
  if (!in_window(slot) && line_ <= slot * slot_bytes_) return end;
  while (bytes > 0) {
    if (in_window(slot)) slot = first_free(slot);
    if (!in_window(slot)) {
      line_ = std::max(line_, (first_ + kSlots) * slot_bytes_) + bytes;
      return std::max(end, (line_ - 1) / bytes_per_cycle_);
    }
    std::uint16_t& used = used_[slot % kSlots];
    const std::uint32_t taken = std::min(bytes, slot_bytes_ - used);
    used = static_cast<std::uint16_t>(used + taken);
    bytes -= taken;
    end = std::max(end, (slot << kSlotBits) + span(used));
    if (used == slot_bytes_) full_ |= std::uint64_t{1} << slot % kSlots;
  }
  return end;
}

}  // namespace xpusim::network
