#pragma once

// The machine family `gpu`.

#include <memory>
#include <optional>
#include <string>

#include "models/gpu/params.h"
#include "models/memory/memory_system.h"
#include "sim/run/machine.h"

namespace xpusim::gpu {

/// A GPU: compiles a TTGIR kernel (TTIR becomes that first) to a warp program and runs it on SMs,
/// L2 and HBM cycle by cycle. Launches follow one another; with warm caches the L2 keeps what the
/// last one left. Left out: overlapping launches, clusters, several chips, and the host.
class Machine : public run::Machine {
 public:
  Machine(std::string name, const GpuParams& params, std::optional<double> dollars_per_hour);
  ~Machine() override;
  Expected<run::LaunchReport> launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                     const run::LaunchOptions& options) override;
  Expected<void> accepts(const exec::Launch& launch, exec::DeviceMemory& memory) const override;
  run::Peaks peaks() const override;
  const std::string& name() const override { return name_; }
  std::vector<std::string> unsupported(const kernel::Module& module) const override;

 private:
  struct Code;    // of a launch, which fits an SM
  struct Job;     // what a launch is simulated from
  struct Clocks;  // at which clock

  Expected<run::LaunchReport> simulate(const Job& job, const Clocks& clocks);
  Expected<run::LaunchReport> simulate_at_given_clock(const Job& job);
  Expected<run::LaunchReport> simulate_at_own_clock(Job job);
  Expected<Code> code_of(const exec::Launch& launch) const;
  double clock_ceiling(const Job& job) const;

  std::string name_;
  GpuParams params_;
  std::optional<double> dollars_per_hour_;
  std::optional<memory::CacheContents> caches_;  ///< what the last launch left
};

run::Family family();

}  // namespace xpusim::gpu
