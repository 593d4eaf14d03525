#pragma once

// A schedule in time.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/network/chip_dma.h"
#include "models/network/collectives/schedule.h"

namespace xpusim::network {

/// Runs a schedule on the chips' DMA engines: a transfer goes in chunks, each as soon as what it
/// needs has been delivered. Who waits for a chip other than its own (for an addend that is not
/// there yet) learns of it at once: such signals take no time and no bandwidth here.
class ScheduleRun final : public DmaListener {
 public:
  /// Called as bytes `begin` up to `end` of a transfer are delivered; null: nobody asks.
  using Delivered =
      std::function<void(std::uint32_t transfer, std::uint64_t begin, std::uint64_t end)>;

  ScheduleRun(Fabric& fabric, engine::Scheduler& scheduler, const Schedule& schedule,
              const DmaTiming& timing, Delivered delivered);
  ~ScheduleRun() override;

  /// Starts the transfers that need nothing, in the current cycle.
  void start();
  bool done() const { return open_ == 0; }
  engine::Cycle end() const { return end_; }  ///< when the last transfer was delivered
  const std::vector<std::unique_ptr<ChipDma>>& chips() const { return chips_; }

  void left(std::uint32_t src, std::uint64_t tag) override;
  void arrived(std::uint32_t dst, std::uint64_t tag, std::uint32_t bytes) override;

 private:
  /// How far a transfer is.
  struct Progress {
    std::uint64_t put = 0, delivered = 0;
    std::uint32_t whole_needs = 0;  ///< transfers that must be delivered as a whole before
    std::uint32_t lane = 0;         ///< of the sender's engines
    std::uint16_t unsent = 0;       ///< chunks
    bool follows = false;           ///< others, chunk by chunk
  };
  void index_needs();
  void advance(std::uint32_t transfer);
  std::uint64_t allowed(std::uint32_t transfer) const;

  engine::Scheduler& scheduler_;
  const Schedule& schedule_;
  std::uint32_t chunk_, window_;
  Delivered delivered_;
  std::vector<std::unique_ptr<ChipDma>> chips_;
  std::vector<Progress> progress_;
  std::vector<std::uint32_t> first_follower_, first_after_;  ///< [transfer], and one more
  std::vector<std::uint32_t> followers_;                     ///< those that go on chunk by chunk
  std::vector<std::uint32_t> after_;                         ///< those that wait for all of it
  std::size_t open_ = 0;
  engine::Cycle end_ = 0;
};

}  // namespace xpusim::network
