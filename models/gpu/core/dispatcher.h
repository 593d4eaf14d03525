#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "models/gpu/core/params.h"
#include "models/gpu/core/sm.h"
#include "models/memory/sm_groups.h"

namespace xpusim::gpu {

/// Gives the blocks of a grid to the SMs: in order of their numbers, round robin over the SMs that
/// have a free slot, so that each SM gets one block before any gets a second. At first all SMs fill
/// side by side, one block every `sm_interval` cycles each; then a slot is filled again when its
/// block has ended, one in the whole chip every `block_interval` cycles (on average, if these are
/// no whole numbers). A grid of fewer blocks than SMs is spread over GPCs and TPCs (SmGroups).
/// Begins after the launch time and ends the launch a drain time after the last block and the last
/// store. Left out: clusters, launches that overlap, and that blocks of many warps fill an SM more
/// slowly (27.5 cycles a block of four, 46 of 16).
class Dispatcher : public sc_core::sc_module, public engine::Component {
 public:
  Dispatcher(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
             const LaunchParams& params, std::uint64_t blocks, const memory::SmGroups& groups,
             std::uint32_t blocks_of_sm);

  /// To the SMs, in order of binding.
  sc_core::sc_port<engine::MessageIf, 0> sms;

  engine::Cycle tick(engine::Cycle now) override;
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  const char* waiting_for() const override;

  std::uint32_t component_id() const { return id_; }
  bool finished() const { return finished_; }
  /// The last notice of a block, or of the stores of blocks that have ended.
  engine::Cycle blocks_end() const { return blocks_end_; }
  engine::Cycle end() const { return end_; }  ///< with the drain

 private:
  bool all_done() const { return done_ == blocks_ && storing_ == 0; }
  void send_next(engine::Cycle now);

  engine::Scheduler& scheduler_;
  std::uint32_t id_ = 0;
  engine::Cycle start_, drain_, next_dispatch_ = 0;
  std::uint64_t first_interval_, interval_, next_fine_ = 0;  ///< in parts of a cycle
  std::uint64_t blocks_, sent_ = 0, done_ = 0;
  std::vector<std::uint32_t> free_;   ///< slots, by SM
  std::vector<std::uint32_t> order_;  ///< SMs, as they have their turns
  std::vector<bool> stores_;          ///< by SM: some are not yet performed
  std::uint32_t storing_ = 0;         ///< SMs of which this is so
  std::uint64_t free_slots_;
  std::uint64_t never_used_;  ///< slots that still are to get their first block
  std::uint32_t turn_ = 0;
  engine::Cycle blocks_end_ = 0, end_ = 0;
  bool finished_ = false;
};

}  // namespace xpusim::gpu
