// `explain`: what code did a workload become, line by line?

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Explain, TellsASourceLinesBundlesCyclesAndSlots) {
  const auto r = xpusim("explain workloads/pallas/matmul.yaml --on tpu_v5e --values off");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("matmul_kernel: "));
  EXPECT_THAT(r.out, ContainsRegex("pallas_kernels.py:70:[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+"));
  EXPECT_THAT(r.out, HasSubstr("vector_alu x4"));
  EXPECT_THAT(r.out, HasSubstr("acc_ref"));
  EXPECT_THAT(r.out, Not(HasSubstr("vmatmul")));
}

TEST(Explain, ListsTheBundlesIfAsked) {
  const auto r = xpusim("explain workloads/pallas/add.yaml --on tpu_v6e --values off --bundles");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out,
              ContainsRegex("[0-9]+  pallas_kernels.py:16:[0-9]+ .*vadd:f32 v[0-9]+, v[0-9]+"));
}

TEST(Explain, TellsAGpusInstructionsCountsAndStallsByLine) {
  const auto r = xpusim("explain workloads/triton/softmax.yaml --on h200 --values off --bundles");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("registers a thread"));
  // Its line, the instructions in the code and executed, cycles, what they are, what they wait for.
  EXPECT_THAT(r.out, ContainsRegex("kernels.py:[0-9]+:[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+  .*LDG [0-9]+"
                                   ".*  wait [0-9]+"));
  EXPECT_THAT(r.out, ContainsRegex("SHFL.*  short_scoreboard [0-9]+"));
  EXPECT_THAT(r.out, ContainsRegex("[0-9]+  kernels.py:[0-9]+:[0-9]+ +MUFU.EX2"));
}

TEST(Explain, IsRefusedWhereNoCodeIsListed) {
  const auto r = xpusim("explain workloads/triton/vector_add.yaml --on roofline_h200");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("the roofline machines list no code"));
}

}  // namespace
}  // namespace xpusim::e2e
