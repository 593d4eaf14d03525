#pragma once

// A chip: cores with their DMA engines, one HBM, and a port to other chips where there are any.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <systemc>
#include <vector>

#include "models/memory/hbm.h"
#include "models/network/fabric.h"
#include "models/tpu/core/ici_port.h"
#include "models/tpu/core/simulate.h"
#include "models/tpu/core/tensor_core.h"

namespace xpusim::tpu {

/// What a chip needs to talk to others.
struct Neighbours {
  network::Fabric& fabric;
  RemoteTable& transfers;
  const run::Interconnect& joined;
};

/// A core with its DMA engines and the links between them.
class CoreUnit : public sc_core::sc_module {
 public:
  CoreUnit(const sc_core::sc_module_name& name, std::string_view path, const TpuParams& params,
           engine::Scheduler& scheduler, memory::Hbm& hbm, const SimulationOptions& options);

  /// Runs these steps: `job` says all but the unit's own part of it.
  void start(CoreJob job, engine::Scheduler& scheduler, const SimulationOptions& options);

  void record_with(CoreRecorder* recorder);
  TensorCore& core() { return core_; }
  engine::MessageIf& notices() { return *to_core_; }  ///< what takes messages to the core
  const std::vector<std::unique_ptr<DmaEngine>>& engines() const { return engines_; }

 private:
  std::string path_;
  DescriptorTable table_;
  TensorCore core_;
  std::unique_ptr<engine::Link> to_core_;
  std::vector<std::unique_ptr<engine::Link>> to_dma_;
  std::vector<std::unique_ptr<DmaEngine>> engines_;
};

/// A chip's port with the engines that read and write for it.
class IciUnit : public sc_core::sc_module {
 public:
  IciUnit(const sc_core::sc_module_name& name, const std::string& path, std::uint32_t device,
          const TpuParams& params, engine::Scheduler& scheduler, memory::Hbm& hbm,
          const Neighbours& neighbours, const std::vector<std::unique_ptr<CoreUnit>>& cores,
          const SimulationOptions& options);

  const IciPort& port() const { return port_; }
  const std::vector<std::unique_ptr<DmaEngine>>& engines() const { return engines_; }

 private:
  DescriptorTable table_;
  IciPort port_;
  std::vector<std::unique_ptr<engine::Link>> links_;
  std::vector<std::unique_ptr<DmaEngine>> engines_;
};

class Chip : public sc_core::sc_module {
 public:
  /// `neighbours`: null for a chip alone.
  Chip(const sc_core::sc_module_name& name, std::uint32_t device, const TpuParams& params,
       std::size_t cores, engine::Scheduler& scheduler, const Neighbours* neighbours,
       const SimulationOptions& options);

  const std::vector<std::unique_ptr<CoreUnit>>& cores() const { return cores_; }
  memory::Hbm& hbm() { return hbm_; }
  bool halted() const;
  /// What it did until `end`, which is the end of the launch.
  ChipResult result(Cycle end);

 private:
  memory::AddressMap map_;
  memory::Hbm hbm_;
  std::vector<std::unique_ptr<CoreUnit>> cores_;
  std::unique_ptr<IciUnit> ici_;
};

}  // namespace xpusim::tpu
