#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/network/collectives/interpreter.h"
#include "models/network/collectives/plan.h"
#include "models/network/fabric.h"
#include "sim/engine/system.h"
#include "sim/run/machine.h"

namespace xpusim::system {

/// One collective on a system, from its plan to its report.
class CollectiveRun {
 public:
  CollectiveRun(const network::Topology& topology, const network::NetworkParams& params,
                double chip_memory, const run::CollectiveLaunch& launch,
                const network::CollectiveRequest& request, const network::CollectivePlan& plan);

  /// Takes what the chips' tensors hold; refuses what this host's memory cannot.
  Expected<void> load(std::span<exec::DeviceMemory* const> memories);
  Expected<run::LaunchReport> simulate(std::span<exec::DeviceMemory* const> memories,
                                       const run::LaunchOptions& options);

 private:
  struct Outcome {
    engine::Cycle end = 0;
    double read_bytes = 0, written_bytes = 0;  ///< of all chips' memories
    double sent_bytes = 0;                     ///< by all chips
  };
  Expected<Outcome> by_dma(engine::ClockDomain& domain, network::Fabric& fabric);
  Expected<Outcome> by_channels(engine::ClockDomain& domain, network::Fabric& fabric);
  void store(std::span<exec::DeviceMemory* const> memories) const;
  run::NetworkUse use_of(const network::Fabric& fabric, double seconds, double sent) const;
  bool exchanges() const;
  run::LaunchReport report(const network::Fabric& fabric, const Outcome& outcome) const;

  const network::Topology& topology_;
  const network::NetworkParams& params_;
  double chip_memory_;
  const run::CollectiveLaunch& launch_;
  const network::CollectiveRequest& request_;
  const network::CollectivePlan& plan_;
  std::vector<network::ChipMemory> values_;  ///< [chip]; empty: no values
};

}  // namespace xpusim::system
