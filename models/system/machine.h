#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/network/collectives/plan.h"
#include "models/system/params.h"
#include "sim/run/machine.h"
#include "sim/run/runner.h"

namespace xpusim::system {

/// Several chips that run kernels together, and collectives over their network. A kernel whose
/// chips talk to each other runs on all of them in one simulation, as their family's machine does
/// it (launch_joined); others run on each chip alone, and where no values are asked for and nothing
/// follows what memory holds, all chips do the same and one is simulated. Each collective is a
/// schedule of transfers on the chips' DMA engines (or copying cores), on a network that is empty
/// when it starts. All chips start a launch at the same time, when all are through with the one
/// before. Of a chip, a collective knows its memory's bandwidth and size; its cores and caches have
/// no part in it.
class Machine : public run::Machine {
 public:
  Machine(std::string name, const SystemParams& params, run::LoadedMachine chip,
          std::unique_ptr<network::Topology> topology, std::optional<double> chip_dollars);

  Expected<run::LaunchReport> launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                     const run::LaunchOptions& options) override;
  Expected<run::LaunchReport> launch_on_all(const exec::Launch& launch,
                                            std::span<exec::DeviceMemory* const> memories,
                                            const run::LaunchOptions& options) override;
  const run::LoadedMachine* chip() const override { return &chip_; }
  std::uint32_t chips() const override { return topology_->chips(); }
  std::vector<std::vector<std::uint32_t>> groups(
      const std::vector<std::string>& axes) const override;
  Expected<void> accepts_collective(const run::CollectiveLaunch& launch) const override;
  Expected<run::LaunchReport> collective(const run::CollectiveLaunch& launch,
                                         std::span<exec::DeviceMemory* const> memories,
                                         const run::LaunchOptions& options) override;
  run::Peaks peaks() const override;
  const std::string& name() const override { return name_; }
  std::vector<std::string> unsupported(const kernel::Module& module) const override;
  bool chips_differ(const exec::Launch& launch) const override;

 private:
  /// The machine of a chip: each has caches of its own.
  Expected<run::Machine*> machine_of(std::uint32_t chip);
  Expected<run::LaunchReport> launch_apart(const exec::Launch& launch,
                                           std::span<exec::DeviceMemory* const> memories,
                                           const run::LaunchOptions& options);
  Expected<network::CollectiveRequest> request(const run::CollectiveLaunch& launch) const;

  std::string name_;
  SystemParams params_;
  run::LoadedMachine chip_;
  std::vector<run::LoadedMachine> others_;  ///< of chips from 1 on, as they are needed
  std::unique_ptr<network::Topology> topology_;
  std::vector<std::uint32_t> chip_of_,
      device_of_;                       ///< of a device id the topology's chip, and back
  std::optional<double> chip_dollars_;  ///< an hour; absent: as the chip's own file says
};

run::Family family();

}  // namespace xpusim::system
