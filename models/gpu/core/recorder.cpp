#include "models/gpu/core/recorder.h"

#include <algorithm>

#include "models/memory/messages.h"

namespace xpusim::gpu {

SmRecorder::SmRecorder(const Window& window, std::size_t instructions)
    : first_(window.first),
      cycles_(window.cycles),
      most_spans_(window.most_spans),
      slots_(kSlots),
      profile_(instructions) {
  if (first_) limit_ = *first_ + cycles_;
}

void SmRecorder::alive(std::size_t number, const Life& life) {
  Slot& slot = slots_[number];
  if (!slot.lives.empty() && slot.lives.back().begun == life.begun) return;
  if (!first_) {
    first_ = life.begun;
    limit_ = life.begun + cycles_;
  }
  slot.lives.push_back(life);
  add(slot, life.begun, Stall::kNoWarp, kNoPc);
}

void SmRecorder::span(std::size_t slot, std::uint64_t until, Stall state, std::uint16_t pc) {
  add(slots_[slot], until, state, pc);
}

void SmRecorder::add(Slot& slot, std::uint64_t until, Stall state, std::uint16_t pc) {
  if (until <= slot.until) return;
  const std::uint64_t from = std::max(slot.until, *first_);
  slot.until = until;
  until = std::min(until, limit_);
  if (from >= until) return;
  if (!slot.spans.empty() && slot.spans.back().state == state && slot.spans.back().pc == pc) {
    slot.spans.back().until = until;
    return;
  }
  slot.spans.push_back({until, pc, state});
  if (++spans_ == most_spans_) limit_ = until;
}

void SmRecorder::access(std::uint16_t pc, const Execution& execution, std::uint32_t lane_bytes) {
  if (execution.sectors == 0) return;
  Profile& p = profile_[pc];
  ++p.requests;
  p.sectors += execution.sectors;
  p.least_sectors += execution.least_sectors;
  p.lane_bytes = lane_bytes;
  if (p.examples.size() < 2) {
    const bool is_new = p.examples.empty() || execution.sectors > p.examples[0].sectors;
    if (is_new) p.examples.push_back(execution);
  } else if (execution.sectors > p.examples[1].sectors) {
    p.examples[1] = execution;
  }
}

void SmRecorder::finish() {
  std::uint64_t last = 0;
  for (const Slot& slot : slots_) last = std::max(last, slot.until);
  end_ = std::max(std::min(last, limit_), first());
  for (Slot& slot : slots_) {
    if (slot.lives.empty()) continue;
    while (slot.spans.size() > 1 && slot.spans[slot.spans.size() - 2].until >= end_)
      slot.spans.pop_back();
    if (!slot.spans.empty()) slot.spans.back().until = std::min(slot.spans.back().until, end_);
    const std::uint64_t until = slot.spans.empty() ? first() : slot.spans.back().until;
    if (until < end_) slot.spans.push_back({end_, kNoPc, Stall::kNoWarp});
  }
}

std::uint32_t least_sectors(const std::array<std::uint64_t, kWarpLanes>& addresses,
                            std::uint32_t lane_bytes) {
  auto sorted = addresses;
  std::sort(sorted.begin(), sorted.end());
  std::uint64_t bytes = 0, until = 0;
  for (const std::uint64_t at : sorted) {
    if (at == Footprint::kNoAddress) break;
    bytes += at + lane_bytes - std::min(std::max(at, until), at + lane_bytes);
    until = at + lane_bytes;
  }
  return static_cast<std::uint32_t>((bytes + memory::kSectorBytes - 1) / memory::kSectorBytes);
}

}  // namespace xpusim::gpu
