#include "sim/run/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xpusim::run {
namespace {

kernel::Module module_of(const std::string& stem) {
  auto read = kernel::read_module_file(XPUSIM_SOURCE_DIR "/workloads/triton/ir/" + stem + ".ttgir");
  EXPECT_TRUE(read) << read.error().str();
  return std::move(*read);
}

config::ParamDoc parameter(const std::string& path, const std::string& value) {
  config::ParamDoc p;
  p.path = path;
  p.value = value;
  p.default_value = "100";
  return p;
}

TEST(Trust, WhatDiffersFromTheComparedParametersIsNamed) {
  const std::vector<config::ParamDoc> run = {parameter("gpu.sm.count", "1"),
                                             parameter("cost.per_hour", "2 USD/h")};
  EXPECT_EQ(changes(run, {{"gpu.sm.count", "1"}}), std::vector<std::string>{});
  EXPECT_EQ(changes(run, {{"gpu.sm.count", "132"}}),
            std::vector<std::string>{"gpu.sm.count is 1, not 132"});
  EXPECT_EQ(values_of(run), (ParameterValues{{"gpu.sm.count", "1"}}));
}

TEST(Trust, AParameterThatIsNewerThanTheComparisonCountsIfItIsNotAtItsDefault) {
  EXPECT_TRUE(changes({parameter("gpu.new", "100")}, {}).empty());
  EXPECT_EQ(changes({parameter("gpu.new", "3")}, {}).size(), 1u);
}

TEST(Trust, KindsOfOpsAreThoseThatDoSomething) {
  const auto kinds = kinds_of_ops(module_of("vector_add_9450e7f62b"));
  EXPECT_EQ(kinds.count("arith.addf"), 1u);
  EXPECT_EQ(kinds.count("tt.load"), 1u);
  EXPECT_EQ(kinds.count("tt.return"), 0u);
  EXPECT_EQ(kinds.count("arith.constant"), 0u);
}

TEST(Trust, AKindOfKernelIsWhatItsOpsDo) {
  EXPECT_EQ(kind_of_kernel({"tt.load", "tt.dot", "tt.reduce"}), "matrix products");
  EXPECT_EQ(kind_of_kernel({"ttng.warp_group_dot"}), "matrix products");
  EXPECT_EQ(kind_of_kernel({"tpu.matmul", "vector.multi_reduction"}), "matrix products");
  EXPECT_EQ(kind_of_kernel({"tt.reduce", "tt.atomic_rmw"}), "atomics");
  EXPECT_EQ(kind_of_kernel({"tt.load", "tt.reduce"}), "reductions");
  EXPECT_EQ(kind_of_kernel({"vector.multi_reduction"}), "reductions");
  EXPECT_EQ(kind_of_kernel({"tt.load", "arith.addf", "no.such_op"}), "element-wise");
  EXPECT_EQ(kind_of_kernel(kinds_of_ops(module_of("softmax_e63682d193"))), "reductions");
}

TEST(Trust, TheErrorOfAKindIsSaidWhereItIsKnown) {
  ExpectedError e;
  e.mean_abs_pct = 5;
  e.worst_abs_pct = 30;
  e.cases = 9;
  e.source = "x.json";
  e.kinds["reductions"] = {2, 4, 3, 1e3, 1e5};
  EXPECT_EQ(error_text(e, "reductions"),
            "2.0 % off on the mean, 4 % at worst, over 3 measured launches of its kind, reductions "
            "(x.json)");
  EXPECT_EQ(error_text(e, "atomics"),
            "5.0 % off on the mean, 30 % at worst, over 9 measured launches, none of its kind, "
            "atomics (x.json)");
  e.kinds.clear();
  EXPECT_THAT(error_text(e, "atomics"), testing::HasSubstr("over 9 measured launches (x.json)"));
}

TEST(Trust, ATimeFarFromAllComparedIsOutside) {
  const KindError kind{2, 4, 3, 1000, 100'000};
  EXPECT_EQ(outside_times(kind, 1000), "");
  EXPECT_EQ(outside_times(kind, 400'000), "");
  EXPECT_EQ(outside_times(kind, 400'001),
            "its time lies far outside those compared, 1.00 us to 100 us");
  EXPECT_NE(outside_times(kind, 249), "");
}

TEST(Trust, OpsThatNoComparedKernelHasAreNamed) {
  const auto module = module_of("vector_add_9450e7f62b");
  ExpectedError error;
  EXPECT_TRUE(never_compared(module, error).empty()) << "the correlation does not say";
  error.ops = kinds_of_ops(module);
  EXPECT_TRUE(never_compared(module, error).empty());
  error.ops.erase("arith.addf");
  EXPECT_EQ(never_compared(module, error), std::vector<std::string>{"arith.addf"});
}

}  // namespace
}  // namespace xpusim::run
