#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/tpu/params.h"
#include "sim/run/machine.h"

namespace xpusim::tpu {

/// A TPU: compiles a Pallas kernel (Mosaic text) or a Triton kernel (TTIR) to VLIW bundles, windows
/// and DMAs, and runs it cycle by cycle on TensorCores with DMA engines and one HBM. Several cores
/// share a grid's parallel dimension, as a megacore does. Where a network joins several,
/// they run each launch together, and their kernels may copy and signal to each other. Not
/// modelled: SparseCores, signals between cores of a chip, chips that start apart, CMEM, conflicts
/// in VMEM between vector accesses and DMA, instruction fetch, throttling.
class Machine : public run::Machine {
 public:
  Machine(std::string name, const TpuParams& params, std::optional<double> dollars_per_hour);

  Expected<run::LaunchReport> launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                     const run::LaunchOptions& options) override;
  Expected<void> accepts(const exec::Launch& launch, exec::DeviceMemory& memory) const override;
  Expected<run::LaunchReport> launch_joined(const exec::Launch& launch,
                                            std::span<exec::DeviceMemory* const> memories,
                                            const run::Interconnect& joined,
                                            const run::LaunchOptions& options) override;
  run::Peaks peaks() const override;
  const std::string& name() const override { return name_; }
  std::vector<std::string> unsupported(const kernel::Module& module) const override;
  const TpuParams& params() const { return params_; }

 private:
  Expected<run::LaunchReport> execute(const exec::Launch& launch,
                                      std::span<exec::DeviceMemory* const> memories,
                                      const run::Interconnect* joined,
                                      const run::LaunchOptions& options);

  std::string name_;
  TpuParams params_;
  std::optional<double> dollars_per_hour_;
};

run::Family family();

}  // namespace xpusim::tpu
