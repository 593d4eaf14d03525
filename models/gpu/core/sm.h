#pragma once

// A streaming multiprocessor.

#include <memory>
#include <systemc>
#include <vector>

#include "models/gpu/core/sub_core.h"
#include "sim/engine/component.h"
#include "sim/engine/link.h"
#include "sim/engine/scheduler.h"

namespace xpusim::gpu {

/// Message::kind between the block dispatcher and the SMs (beyond those of the memory system).
enum DispatchKind : std::uint16_t {
  kStartBlock = 64,  ///< address: linear block number
  kBlockDone,        ///< from: the SM's number; address: its stores that are not yet performed
  kStoresDone,       ///< from: the SM's number; what that message told of has been performed
};

/// What an SM keeps while it works through a window.
struct SmScratch {
  struct Arrival {
    engine::Message message;
    std::uint32_t at;
  };
  std::vector<Arrival> arrivals;        ///< of this window, in order
  std::vector<engine::Sending> outbox;  ///< requests of this window that are not sent yet
};

/// Four sub-cores, the MIO with the L1, the instruction path and the slots for resident blocks. A
/// block is executed functionally when it becomes resident (BlockSource), its warps then replay
/// what they touch and how they branch. Its slot is free again a while after the last of its warps'
/// stores has left the SM; they need not be performed. Left out: clusters and local memory, and
/// that atomics with results and copies by TMA keep the slot too.
///
/// What an SM sends is under way for many cycles, so nobody need know it before. An SM therefore
/// keeps what arrives and works through a window of cycles at its end, each message and instruction
/// at its own cycle, with messages that are dated back: its state is then in the host's cache. By
/// itself an SM does exactly what it would cycle by cycle. What several SMs do in one window, the
/// rest of the chip sees SM by SM instead of cycle by cycle: bandwidth that they compete for and
/// reads that they share (BandwidthCalendar, ReadCoalescer) go by that order, and so do effects on
/// device memory that others can see; for these a window of 1 is exact.
class Sm : public sc_core::sc_module, public engine::Component {
 public:
  /// `warp_interval`: cycles between the starts of two warps. `window`: at least 1 and at most the
  /// least latency of what the SM sends; its messages are dated up to window - 1 cycles back.
  /// `scratch`: its own if the window is 1. Else it receives all messages of a window right before
  /// its tick, and all SMs should have the same, which stays in the host's cache.
  Sm(const sc_core::sc_module_name& name, engine::Scheduler& scheduler, std::uint32_t number,
     const SmParams& params, std::int64_t warp_interval, std::int64_t l1_bytes,
     engine::Cycle window, KernelImage& image, LaunchProfile& profile, BlockSource& source,
     SmScratch& scratch);
  ~Sm() override;

  engine::OutPort memory;      ///< requests to the memory system
  engine::OutPort dispatcher;  ///< finished blocks

  engine::Cycle tick(engine::Cycle now) override;
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  void expect_tick() const override;
  const char* waiting_for() const override;
  std::uint64_t retired() const override;

  void set_memory_share(double share) { shared_.lsu.set_share(share); }  ///< Lsu::set_share

  std::uint32_t component_id() const { return id_; }
  const SubCore& sub_core(std::uint32_t i) const { return sub_cores_[i]; }
  const LsuCounters& lsu() const { return shared_.lsu.counters(); }
  const Tma& tma() const { return shared_.tma; }
  std::uint64_t instruction_lines_fetched() const { return shared_.fetch.lines_fetched(); }
  std::uint64_t active_cycles() const { return active_cycles_; }  ///< with a resident block
  std::uint64_t block_cycles() const { return block_cycles_; }    ///< summed over blocks
  std::uint64_t blocks_run() const { return sequence_; }
  void trace_with(SmTracer* tracer) { shared_.tracer = tracer; }
  void record_with(SmRecorder* recorder) { shared_.recorder = recorder; }
  /// Closes the ledgers at the end of a launch.
  void finish(engine::Cycle blocks_end, engine::Cycle end);

 private:
  engine::Cycle end_of_window(engine::Cycle cycle) const {
    return cycle - cycle % window_ + window_ - 1;
  }
  void handle(const engine::Message& message, std::uint32_t now);
  void send_requests();
  void issue(std::uint32_t now);
  void start_block(std::uint64_t index, std::uint32_t now);
  void place_warps(std::uint32_t slot, std::uint32_t now);
  void end_block(std::uint32_t slot, std::uint32_t now);
  void respond(const engine::Message& message, std::uint32_t now);
  void respond_to_tma(const engine::Message& message, std::uint32_t now);
  void store_performed(std::uint32_t now);
  void tell_dispatcher(DispatchKind kind, std::uint32_t at);
  std::uint32_t next() const;
  std::uint32_t checked(engine::Cycle now) const;

  engine::Scheduler& scheduler_;
  std::uint32_t number_, id_ = 0, warp_interval_;
  engine::Cycle window_;
  SmScratch& scratch_;
  SmShared shared_;
  std::vector<SubCore> sub_cores_;
  std::uint32_t warp_start_free_ = 0, sequence_ = 0, next_age_ = 0;
  std::uint32_t resident_ = 0, active_since_ = 0;
  std::uint32_t told_ = 0;         ///< cycle of the last message to the dispatcher
  bool owes_stores_done_ = false;  ///< the dispatcher knows of stores that are not yet performed
  std::uint64_t active_cycles_ = 0, block_cycles_ = 0;
};

}  // namespace xpusim::gpu
