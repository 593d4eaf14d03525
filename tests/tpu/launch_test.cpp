// Launches that cannot be: what does not fit is named.

#include <gmock/gmock.h>

#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;
using test::LaunchFixture;
using ::testing::HasSubstr;

TEST(Launch, WindowsThatDoNotFitVmemAreNamed) {
  LaunchFixture f("workloads/pallas/ir/add.mlir",
                  {{"x", DType::kF32, {8192, 1024}, test::zeros()},
                   {"y", DType::kF32, {8192, 1024}, test::zeros()},
                   {"o", DType::kF32, {8192, 1024}, test::zeros()}});
  Machine machine("small", test::params_of("tpu_v5e", {"tpu.vmem.bytes=8 MiB"}), std::nullopt);
  const auto report = machine.launch(f.launch, f.memory, {});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().str(), HasSubstr("12 MiB of VMEM, the core has 8 MiB"));
  EXPECT_THAT(report.error().str(), HasSubstr("x_ref 2 x 2 MiB"));
}

TEST(Launch, WrongOperandsAreNamed) {
  const auto problem = [](const std::vector<test::TensorSpec>& tensors) {
    LaunchFixture f("workloads/pallas/ir/add.mlir", tensors);
    Machine machine("m", test::params_of("tpu_v5e"), std::nullopt);
    const auto report = machine.launch(f.launch, f.memory, {});
    return report ? std::string() : report.error().str();
  };
  const test::TensorSpec x{"x", DType::kF32, {8192, 1024}, test::zeros()};
  test::TensorSpec y = x, o = x;
  y.name = "y";
  o.name = "o";
  EXPECT_EQ(problem({x, y, o}), "");
  EXPECT_THAT(problem({x, y}), HasSubstr("operand 2 ('o_ref') has no argument"));
  y.dtype = DType::kBF16;
  EXPECT_THAT(problem({x, y, o}), HasSubstr("operand 'y_ref' is f32, but tensor 'y' is bf16"));
  y.dtype = DType::kF32;
  o.shape = {8192 * 1024};
  EXPECT_THAT(problem({x, y, o}), HasSubstr("'o_ref' has 1 dimensions, its window 2"));
  o.shape = {4096, 1024};
  EXPECT_THAT(problem({x, y, o}), HasSubstr("block 8 of dimension 0 lies outside the array"));
}

}  // namespace
}  // namespace xpusim::tpu
