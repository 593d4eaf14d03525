#include "models/gpu/core/chip.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::gpu {

engine::Cycle window_of(const KernelImage& image, engine::Cycle least_latency) {
  const bool in_order = std::any_of(image.code.begin(), image.code.end(), [](const IssueWord& in) {
    return in.action == Action::kAtomic;
  });
  return in_order ? 1 : std::min(least_latency, engine::Mailboxes::kLongestWindow);
}

Chip::Chip(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
           const GpuParams& params, const Work& work)
    : sc_module(name) {
  const auto sms = static_cast<std::uint32_t>(params.sm.count);
  memory_ = std::make_unique<memory::MemorySystem>("memory", scheduler, params.memory, sms);
  dispatcher_ = std::make_unique<Dispatcher>("dispatcher", scheduler, params.launch, work.blocks,
                                             memory_->groups(), work.blocks_of_sm);
  for (std::uint32_t i = 0; i < sms; ++i) add_sm(i, scheduler, params, work);
}

Chip::~Chip() = default;

void Chip::add_sm(std::uint32_t number, engine::Scheduler& scheduler, const GpuParams& params,
                  const Work& work) {
  const auto latency = static_cast<engine::Cycle>(params.launch.block_latency);
  const engine::Cycle window = window_of(work.image, std::min(latency, memory_->window()));
  if (scratch_.empty() || window == 1) scratch_.push_back(std::make_unique<SmScratch>());
  sms_.push_back(std::make_unique<Sm>(fmt::format("sm_{}", number).c_str(), scheduler, number,
                                      params.sm, params.launch.warp_interval, work.l1_bytes, window,
                                      work.image, work.profile, work.source, *scratch_.back()));
  Sm& sm = *sms_.back();
  const auto pairs = static_cast<std::uint32_t>(params.memory.coalescer.cluster_pairs);
  sm.set_memory_share(memory_->groups().share(number, pairs));
  const auto link = [&](const char* what, std::uint32_t to) -> engine::Link& {
    links_.push_back(std::make_unique<engine::Link>(fmt::format("{}_{}", what, number).c_str(),
                                                    scheduler, scheduler, to, latency));
    return *links_.back();
  };
  dispatcher_->sms(link("start_block", sm.component_id()));
  sm.dispatcher(link("block_done", dispatcher_->component_id()));
  sm.memory(memory_->sm_port(number));
  memory_->connect_sm(number, sm.component_id());
}

void Chip::finish() {
  for (auto& sm : sms_) sm->finish(dispatcher_->blocks_end(), dispatcher_->end());
  memory_->finish(dispatcher_->end());
}

}  // namespace xpusim::gpu
