// A kernel in TTIR form runs on a GPU with any warps and stages, and its values stay right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using testing::HasSubstr;

void expect_right(const std::string& arguments) {
  SCOPED_TRACE(arguments);
  const auto r = xpusim("run workloads/triton/" + arguments + " --on h200 --from ttir");
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr(": right"));
}

TEST(FromTtir, ElementwiseKernelsAndReductionsHaveRightValues) {
  expect_right("fused_mul_add_relu.yaml");
  expect_right("softmax.yaml --num-warps 2");
  expect_right("layer_norm.yaml --num-warps 16");
  expect_right("reduce_sum.yaml --num-warps 1");
}

TEST(FromTtir, ProductsHaveRightValuesWithAnyWarpsAndStages) {
  expect_right("matmul.yaml --num-stages 3");
  expect_right("matmul.yaml --num-warps 8 --num-stages 1");
  expect_right("matmul.yaml --num-warps 2 --num-stages 4");  // no warp group: mma.sync
}

TEST(FromTtir, StagesChangeTheTime) {
  const std::string run =
      "run workloads/triton/matmul.yaml --on h200 --from ttir --values off --num-stages ";
  EXPECT_NE(xpusim(run + "2").out, xpusim(run + "4").out);
}

TEST(FromTtir, TheCompiledKernelCanBeLookedAt) {
  const std::string check =
      "check workloads/triton/ir/matmul_84fb86e4e3.ttir --compiled --num-stages 2 ";
  const auto r = xpusim(check + "--on h200");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("#mma = #ttg.nvidia_mma<{versionMajor = 3"));
  EXPECT_THAT(r.out, HasSubstr("!ttg.memdesc<2x128x32xbf16"));
  EXPECT_EQ(xpusim(check).exit_code, 2) << "which machine?";
}

TEST(FromTtir, WarpsMustBeAPowerOfTwo) {
  const auto r = xpusim("run workloads/triton/vector_add.yaml --on h200 --from ttir --num-warps 3");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("num_warps is a power of two from 1 to 32, not 3"));
}

}  // namespace
}  // namespace xpusim::e2e
