#include "models/memory/hbm.h"

#include <string>

#include "models/memory/messages.h"
#include "sim/stats/counters.h"

namespace xpusim::memory {

ReplyLink::ReplyLink(const char* name, engine::Scheduler& scheduler)
    : sc_object(name), scheduler_(scheduler) {}

void ReplyLink::send(const engine::Message& message, engine::Cycle now) {
  scheduler_.post(message, message.to, now + 1);
}

Hbm::Hbm(const sc_core::sc_module_name& name, engine::Scheduler& scheduler, const HbmParams& params,
         const AddressMap& map)
    : sc_module(name),
      scheduler_(scheduler),
      map_(map),
      per_module_(static_cast<std::uint32_t>(params.pseudo_channels)),
      replies_("replies", scheduler) {
  const auto channels = static_cast<std::uint32_t>(params.total_channels());
  for (std::uint32_t i = 0; i < channels; ++i) {
    const std::string index = "channel_" + std::to_string(i);
    modules_.push_back(
        std::make_unique<HbmModule>(index.c_str(), scheduler, params, map, i * per_module_));
    modules_.back()->replies(replies_);
    ids_.push_back(scheduler.add(*modules_.back(),
                                 std::string(basename()) + ".channel[" + std::to_string(i) + "]"));
  }
}

Hbm::~Hbm() = default;

void Hbm::send(const engine::Message& message, engine::Cycle now) {
  const std::uint32_t module = map_.pseudo_channel(message.address) / per_module_;
  scheduler_.post(message, ids_[module], now + 1);
}

HbmCounters Hbm::counters() const {
  HbmCounters sum;
  for (const auto& module : modules_) {
    for (std::size_t i = 0; i < module->pseudo_channels(); ++i) {
      stats::add_counters(sum, module->pseudo_channel(i).counters());
    }
  }
  return sum;
}

void Hbm::finish(engine::Cycle now) {
  for (auto& module : modules_) module->finish(now);
}

std::uint64_t Hbm::cycles(HbmReason reason) const {
  std::uint64_t sum = 0;
  for (const auto& module : modules_) {
    for (std::size_t i = 0; i < module->pseudo_channels(); ++i) {
      sum += module->pseudo_channel(i).ledger().of(reason);
    }
  }
  return sum;
}

}  // namespace xpusim::memory
