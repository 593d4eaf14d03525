#pragma once

// All the HBM of a chip behind one door.
//
// How to use it, for a DMA engine or any other processor without an L2:
//
//   AddressMap map(params, /*slices=*/1);
//   Hbm hbm("hbm", scheduler, params, map);
//   engine_module.memory(hbm);                       // an OutPort; or call hbm.send directly
//   ...
//   for_each_block(address, bytes, [&](std::uint64_t line, std::uint32_t mask) {
//     Message m; m.kind = kRead; m.address = line; m.data = mask; m.tag = my_number;
//     m.from = my_component_id;                      // whom to answer
//     memory->send(m, now);
//   });
//   // receive(): kReadDone / kWriteDone with the tag, when the data has come back
//
// A write with tag kNoReply gets no answer. The sender limits what it has outstanding: the
// controller's own queue is bounded, the path to it is not.

#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "models/memory/address_map.h"
#include "models/memory/hbm_module.h"
#include "models/memory/hbm_timing.h"
#include "sim/engine/link.h"

namespace xpusim::memory {

/// Delivers a response to the component that `message.to` names, a cycle after it was sent.
class ReplyLink : public sc_core::sc_object, public engine::MessageIf {
 public:
  ReplyLink(const char* name, engine::Scheduler& scheduler);
  void send(const engine::Message& message, engine::Cycle now) override;

 private:
  engine::Scheduler& scheduler_;
};

/// The HBM stacks of a chip: one HbmModule a channel, and the routing of requests to them by
/// address. The clock of the memory is its own (HbmTimingParams); `scheduler` may run on any clock.
class Hbm : public sc_core::sc_module, public engine::MessageIf {
 public:
  Hbm(const sc_core::sc_module_name& name, engine::Scheduler& scheduler, const HbmParams& params,
      const AddressMap& map);
  ~Hbm() override;

  /// Sends a request (kRead, kWrite) at cycle `now`; it reaches the channel one cycle later.
  void send(const engine::Message& message, engine::Cycle now) override;

  HbmCounters counters() const;  ///< summed over the pseudo channels
  /// Charges all ledgers up to `now`; call before reading them at the end of a run.
  void finish(engine::Cycle now);
  /// CK charged to a reason, summed over the pseudo channels.
  std::uint64_t cycles(HbmReason reason) const;
  std::size_t modules() const { return modules_.size(); }
  HbmModule& module(std::size_t i) { return *modules_[i]; }

 private:
  engine::Scheduler& scheduler_;
  const AddressMap& map_;
  std::uint32_t per_module_;
  ReplyLink replies_;
  std::vector<std::unique_ptr<HbmModule>> modules_;
  std::vector<std::uint32_t> ids_;
};

}  // namespace xpusim::memory
