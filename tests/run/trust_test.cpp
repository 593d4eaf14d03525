#include "sim/run/trust.h"

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
