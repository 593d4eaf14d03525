// Does the power of chips whose power is published lie where it was measured?

#include <gtest/gtest.h>

#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;
using test::LaunchFixture;

/// Watts of a whole chip of `shares` machines.
double power(const run::LaunchReport& report, double shares) {
  double microjoules = 0;
  for (const auto& e : report.energy) microjoules += e.microjoules;
  return shares * microjoules * 1e3 / report.duration_ns;
}

LaunchFixture matmul() {
  return {"workloads/pallas/ir/matmul_4096_b512x1024x1024.mlir",
          {{"x", DType::kBF16, {4096, 4096}, test::randn(1)},
           {"y", DType::kBF16, {4096, 4096}, test::randn(2)},
           {"o", DType::kBF16, {4096, 4096}, test::zeros()}}};
}

LaunchFixture elementwise() {
  std::vector<test::TensorSpec> tensors;
  for (const char* name : {"x", "w", "b", "o"}) {
    tensors.push_back({name, DType::kF32, {8192, 1024}, test::randn(tensors.size())});
  }
  return {"workloads/pallas/ir/mul_add_relu.mlir", tensors};
}

/// Jouppi et al., "TPU v4" (ISCA 2023), watts a chip: idle, least and most under load.
struct Published {
  const char* machine;
  double shares, idle, least, most;
};
constexpr Published kV3 = {"tpu_v3", 2, 123, 175, 262};  // the machine is one core of two
constexpr Published kV4 = {"tpu_v4", 1, 90, 121, 192};

TEST(Power, OfAMatmulIsUpToTheMostThatWasPublished) {
  for (const Published& p : {kV3, kV4}) {
    LaunchFixture f = matmul();
    const double watts = power(test::run_on(test::params_of(p.machine), f, false), p.shares);
    EXPECT_GT(watts, p.least) << p.machine;
    EXPECT_LT(watts, p.most) << p.machine;
  }
}

TEST(Power, OfAnElementwiseKernelLiesBetweenIdleAndTheMost) {
  for (const Published& p : {kV3, kV4}) {
    LaunchFixture f = elementwise();
    const double watts = power(test::run_on(test::params_of(p.machine), f, false), p.shares);
    EXPECT_GT(watts, 1.1 * p.idle) << p.machine;
    EXPECT_LT(watts, p.most) << p.machine;
  }
}

TEST(Power, OfALaunchThatWaitsIsThatOfAnIdleChip) {
  for (const Published& p : {kV3, kV4}) {
    const TpuParams params = test::params_of(p.machine, {"tpu.launch=1ms"});
    LaunchFixture f("workloads/pallas/ir/gather_blocks.mlir",
                    {{"index", DType::kI32, {256}, test::zeros()},
                     {"x", DType::kF32, {8192, 1024}, test::randn(1)},
                     {"o", DType::kF32, {2048, 1024}, test::zeros()}});
    const double watts = power(test::run_on(params, f, false), p.shares);
    EXPECT_NEAR(watts, p.idle, 0.05 * p.idle) << p.machine;
  }
}

}  // namespace
}  // namespace xpusim::tpu
