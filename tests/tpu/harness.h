#pragma once

// What the tests of the TPU share: kernels of workloads/ launched on small memories.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "models/tpu/machine.h"
#include "models/tpu/params.h"
#include "sim/config/tree.h"
#include "sim/exec/interpreter.h"
#include "sim/exec/memory.h"
#include "sim/kernel/ir.h"

namespace xpusim::tpu::test {

inline std::string source_path(const std::string& relative) {
  return std::string(XPUSIM_SOURCE_DIR) + "/" + relative;
}

/// The parameters of a configuration in configs/tpu/.
TpuParams params_of(const std::string& stem, const std::vector<std::string>& overrides = {});

/// A tensor of a launch.
struct TensorSpec {
  std::string name;
  exec::DType dtype = exec::DType::kF32;
  std::vector<std::int64_t> shape;
  exec::Init init;
};

/// A kernel file bound to tensors (and integers) in a memory of its own.
class LaunchFixture {
 public:
  LaunchFixture(const std::string& kernel_file, const std::vector<TensorSpec>& tensors,
                const std::vector<std::int64_t>& integers = {},
                std::array<std::int64_t, 3> grid = {1, 1, 1}, std::int64_t num_stages = 0);

  exec::Launch launch;
  exec::DeviceMemory memory{std::uint64_t{1} << 34};
  std::vector<double> values(const std::string& tensor) const;
  std::shared_ptr<const kernel::Module> module;
};

exec::Init randn(std::uint64_t seed);
exec::Init zeros();

/// Runs it and expects that it succeeds.
run::LaunchReport run_on(const TpuParams& params, LaunchFixture& fixture, bool values = true);

double counter(const run::LaunchReport& report, const std::string& name);
std::uint64_t ledger_sum(const run::LaunchReport& report);

}  // namespace xpusim::tpu::test
