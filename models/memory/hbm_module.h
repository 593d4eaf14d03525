#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "models/memory/address_map.h"
#include "models/memory/hbm_channel.h"
#include "models/memory/hbm_timing.h"
#include "sim/engine/component.h"
#include "sim/engine/link.h"
#include "sim/engine/scheduler.h"

namespace xpusim::memory {

/// One HBM channel with its pseudo channels and its controller. Takes kRead and kWrite of up to 512
/// B and answers kReadDone and kWriteDone to the component that the request's `from` names. A read
/// of part of a 64 B atom moves the whole atom; so does a write (with byte masks: no read comes
/// first).
///
/// It works through time in windows: what it has found out at the end of a window reaches nobody
/// before that end, since every response still has the way back before it.
class HbmModule : public sc_core::sc_module, public engine::Component {
 public:
  HbmModule(const sc_core::sc_module_name& name, const engine::Scheduler& scheduler,
            const HbmParams& params, const AddressMap& map, std::uint32_t first_pseudo_channel);

  engine::OutPort replies;

  engine::Cycle tick(engine::Cycle now) override;
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  const char* waiting_for() const override;

  void finish(engine::Cycle now);  ///< charges the ledgers up to `now`
  std::size_t pseudo_channels() const { return channels_.size(); }
  const HbmChannel& pseudo_channel(std::size_t i) const { return channels_[i]; }
  engine::Cycle window() const { return window_; }

 private:
  /// A request under way; what its answer needs.
  struct Pending {
    std::uint64_t address;
    std::uint32_t from, tag;
    std::uint16_t mask;
    bool write;
  };
  struct Arrival {
    Pending request;
    engine::Cycle at;
  };
  void hand_on(const Arrival& arrival);
  HbmChannel::Ck to_ck(engine::Cycle cycle) const;
  engine::Cycle to_cycle(HbmChannel::Ck ck) const;  ///< the first cycle at or after it
  void answer(const HbmChannel::Completion& done, engine::Cycle now);

  const AddressMap& map_;
  std::uint32_t first_;
  std::uint64_t ck_per_cycle_, cycle_per_ck_;  ///< fixed point
  std::uint32_t request_ck_, reply_ck_;
  bool prefetches_;  ///< bring channels into the host's cache before they work
  engine::Cycle window_;
  engine::Cycle due_ = engine::kNever;
  std::vector<HbmChannel> channels_;
  std::vector<Arrival> arrivals_;  ///< since the last window
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> free_;
  std::vector<HbmChannel::Completion> done_;
};

}  // namespace xpusim::memory
