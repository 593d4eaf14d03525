#include "models/gpu/core/dispatcher.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace xpusim::gpu {

namespace {
constexpr std::uint64_t kParts = 1024;  // of a cycle

engine::Cycle cycles_of(double ns, const engine::Clock& clock) {
  return static_cast<engine::Cycle>(std::llround(ns * static_cast<double>(clock.hz()) * 1e-9));
}
std::uint64_t parts(double cycles) {
  return static_cast<std::uint64_t>(std::llround(cycles * kParts));
}

}  // namespace

Dispatcher::Dispatcher(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
                       const LaunchParams& params, std::uint64_t blocks,
                       const memory::SmGroups& groups, std::uint32_t blocks_of_sm)
    : sc_module(name),
      sms("sms"),
      scheduler_(scheduler),
      start_(std::max<engine::Cycle>(1, cycles_of(params.start_ns, scheduler.clock()))),
      drain_(std::max<engine::Cycle>(1, cycles_of(params.drain_ns, scheduler.clock()))),
      next_dispatch_(start_),
      first_interval_(parts(params.sm_interval / groups.sms())),
      interval_(parts(params.block_interval)),
      blocks_(blocks),
      free_(groups.sms(), blocks_of_sm),
      order_(groups.sms()),
      stores_(groups.sms(), false),
      free_slots_(static_cast<std::uint64_t>(groups.sms()) * blocks_of_sm),
      never_used_(free_slots_) {
  if (blocks < groups.sms()) {
    order_ = groups.spread(static_cast<std::uint32_t>(blocks));
  } else {
    std::iota(order_.begin(), order_.end(), 0u);
  }
  id_ = scheduler.add(*this, this->name());
  scheduler.wake(id_, start_);
}

engine::Cycle Dispatcher::tick(engine::Cycle now) {
  if (all_done()) {
    if (end_ == 0) {
      blocks_end_ = now;
      end_ = now + drain_;
    }
    if (now < end_) return end_;
    finished_ = true;
    scheduler_.pause();
    return engine::kNever;
  }
  while (sent_ < blocks_ && free_slots_ > 0) {
    if (now < next_dispatch_) return next_dispatch_;
    send_next(now);
  }
  return engine::kNever;
}

void Dispatcher::send_next(engine::Cycle now) {
  const auto count = static_cast<std::uint32_t>(order_.size());
  while (free_[order_[turn_]] == 0) turn_ = turn_ + 1 == count ? 0 : turn_ + 1;
  const std::uint32_t sm = order_[turn_];
  engine::Message m;
  m.kind = kStartBlock;
  m.address = sent_++;
  sms[static_cast<int>(sm)]->send(m, now);
  --free_[sm];
  --free_slots_;
  turn_ = turn_ + 1 == count ? 0 : turn_ + 1;
  const bool first = never_used_ > 0;
  never_used_ -= first;
  next_fine_ = std::max(next_fine_, now * kParts) + (first ? first_interval_ : interval_);
  next_dispatch_ = next_fine_ / kParts;
}

engine::Cycle Dispatcher::receive(const engine::Message& message, engine::Cycle now) {
  const bool stores = message.kind == kBlockDone && message.address > 0;
  storing_ -= stores_[message.from];
  stores_[message.from] = stores;
  storing_ += stores;
  if (message.kind == kBlockDone) {
    ++done_;
    ++free_[message.from];
    ++free_slots_;
  }
  if (all_done()) return now;
  return sent_ < blocks_ ? std::max(now, next_dispatch_) : engine::kNever;
}

const char* Dispatcher::waiting_for() const {
  if (all_done()) return finished_ ? "" : "the drain after the last block";
  if (done_ == blocks_) return "stores to be performed";
  return sent_ < blocks_ ? "free block slots" : "blocks to end";
}

}  // namespace xpusim::gpu
