#pragma once

#include <map>
#include <memory>
#include <string>

#include "models/roofline/params.h"
#include "sim/run/machine.h"

namespace xpusim::roofline {

/// The smallest machine: it executes the blocks of a Triton kernel functionally and takes as long
/// as the slowest of three limits: vector flops, matrix flops, bytes of tensors that must cross HBM
/// at least once. It leaves out everything else: latency, caches, instructions, occupancy, energy.
class Machine : public run::Machine {
 public:
  Machine(std::string name, const RooflineParams& params, std::optional<double> dollars_per_hour);
  Expected<run::LaunchReport> launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                     const run::LaunchOptions& options) override;
  run::Peaks peaks() const override;
  const std::string& name() const override { return name_; }
  std::vector<std::string> unsupported(const kernel::Module& module) const override;

 private:
  std::string name_;
  RooflineParams params_;
  std::optional<double> dollars_per_hour_;
};

/// The time that a launch cannot beat, in ns by limit: "vector flops", "matrix flops", "HBM
/// bandwidth".
std::map<std::string, double> bound(const run::LaunchReport& report, const run::Peaks& peaks);

run::Family family();

}  // namespace xpusim::roofline
