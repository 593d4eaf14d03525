#pragma once

// A schedule in time, on cores that copy.

#include <cstdint>
#include <memory>
#include <vector>

#include "models/network/chip_dma.h"
#include "models/network/collectives/channel_program.h"

namespace xpusim::network {

/// Rates and sizes of copying cores, in the units of the simulation.
struct ChannelTiming {
  std::uint64_t chunk = 0, slice = 0;  ///< bytes: what an action does at a time, and hands over
  std::uint32_t room = 1;              ///< slices that a receive buffer holds
  double access_fs_per_byte = 0;       ///< of one channel
  double memory_fs_per_byte = 0;       ///< of the chip
  engine::Femto overhead = 0;          ///< of a slice
  double payload = 1;                  ///< data in what it sends

  /// What the cores do: rings of send and receive, chains, or sends apart from receives.
  enum class Kind : std::uint8_t { kRing, kChain, kExchange };
  /// For a collective of so many bytes a chip.
  static ChannelTiming from(const EndpointParams& params, double chip_memory, Kind kind,
                            std::uint64_t bytes);
};

/// Runs a schedule on copying cores, as NCCL does on SMs: each part of the data is a channel, whose
/// core on each chip does one thing at a time: it waits for a slice in its receive buffer (if it is
/// to receive) and for room in the next chip's (if it is to send), reads and adds and writes, and
/// its stores go out over the network as it shares the links with the other channels. A slice costs
/// a fixed time more: the fence, the flag, the poll.
///
/// Not modelled: caches (local accesses go to memory), the cores' other work, the flags' own bytes;
/// a flag takes as long as the last store before it, one back takes no bandwidth.
class ChannelRun {
 public:
  ChannelRun(Fabric& fabric, engine::Scheduler& scheduler, const Schedule& schedule,
             const ChannelTiming& timing, bool apart);
  ~ChannelRun();

  void start();
  bool done() const { return open_ == 0; }
  engine::Cycle end() const { return end_; }
  std::uint64_t read_bytes() const { return read_; }
  std::uint64_t written_bytes() const { return written_; }
  std::uint64_t sent_bytes() const { return sent_; }  ///< over links, with flags in the data

 private:
  class Chip;
  /// A transfer's slices.
  struct Flow {
    std::uint32_t sent = 0, arrived = 0, taken = 0;
    std::uint32_t slices = 0;
    std::uint32_t receiver = ~0u;  ///< core
    std::uint32_t sender = ~0u;
    std::vector<std::uint32_t> pieces_of;  ///< [slice]: that are yet to arrive
  };
  /// A core: where it is in its program.
  struct Core {
    ChannelProgram program;
    std::uint32_t segment = 0, action = 0;
    std::uint64_t chunk = 0;      ///< byte at which the chunk begins
    std::uint32_t slice = 0;      ///< of the chunk
    bool working = false;         ///< on a slice
    std::uint64_t to_push = 0;    ///< bytes of it that have not been given to the network
    std::uint32_t unsent = 0;     ///< messages given to it that have not left
    engine::Femto local_end = 0;  ///< when its local reads and writes are done
  };
  /// What a core works on.
  struct Slice {
    std::uint64_t bytes = 0;
    std::uint32_t number = 0;  ///< in its transfer
  };

  Slice slice_of(const Core& core, const ChannelAction& action) const;
  std::uint32_t slices_in(std::uint64_t bytes) const;
  void try_begin(std::uint32_t core);
  bool may_begin(const ChannelAction& action, const Slice& slice) const;
  void push(std::uint32_t core);
  void maybe_end(std::uint32_t core);
  void end_slice(std::uint32_t core);
  void step_on(Core& core);
  bool finished(const Core& core) const { return core.segment >= core.program.segments.size(); }

  Fabric& fabric_;
  engine::Scheduler& scheduler_;
  const Schedule& schedule_;
  ChannelTiming timing_;
  std::vector<std::unique_ptr<Chip>> chips_;
  std::vector<Core> cores_;
  std::vector<Flow> flows_;                          ///< [transfer]
  std::vector<std::vector<std::uint32_t>> waiters_;  ///< [transfer]: cores that may wait for it
  std::vector<engine::Femto> memory_free_;           ///< [chip]
  std::size_t open_ = 0;                             ///< cores that are not done
  engine::Cycle end_ = 0;
  std::uint64_t read_ = 0, written_ = 0, sent_ = 0;
};

}  // namespace xpusim::network
