// Wrong input is told apart from what a machine cannot run.

#include "sim/run/check_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xpusim::run {
namespace {
using testing::HasSubstr;

/// What is said about this launch of a sum, with machines that take these forms of kernels.
std::string problems(const std::string& kernel, const std::string& args,
                     std::vector<kernel::Form> forms, const std::string& reference = "sum(x)") {
  const std::string path = XPUSIM_SOURCE_DIR "/workloads/triton/sum.yaml";
  const std::string text =
      "schema: xpusim.workload/1\nname: sum\ntensors:\n"
      "  x: {dtype: f32, shape: [1048576], init: ones}\n"
      "  out: {dtype: f32, shape: [1], init: zeros}\n"
      "launches:\n  - kernel: " +
      kernel + "\n    grid: [256]\n    args: {" + args +
      "}\n"
      "expect: {out: {reference: \"" +
      reference + "\"}}\n";
  auto root = config::read_yaml(text, path);
  EXPECT_TRUE(root);
  auto workload = parse_workload(*root, path);
  EXPECT_TRUE(workload) << workload.error().str();
  Family family;
  family.name = "gpu";
  family.forms = std::move(forms);
  auto right = check_workload(*workload, family, {});
  return right ? "" : right.error().str();
}

constexpr const char* kKernel = "ir/reduce_sum_6a4b192bfc";
constexpr const char* kArgs = "x_ptr: x, out_ptr: out, n: 1048576";
using kernel::Form;

TEST(CheckWorkload, SaysWhatIsWrongWithTheFiles) {
  EXPECT_EQ(problems(kKernel, kArgs, {Form::kTtgir}), "");
  EXPECT_THAT(problems(kKernel, "x_ptr: x, out_ptr: out", {Form::kTtgir}), HasSubstr("'n'"));
  EXPECT_THAT(problems(kKernel, "x_prt: x, out_ptr: out, n: 1048576", {Form::kTtgir}),
              HasSubstr("did you mean 'x_ptr'?"));
  EXPECT_THAT(problems("ir/no_such_kernel", kArgs, {Form::kTtgir}), HasSubstr("no kernel '"));
  EXPECT_THAT(problems(kKernel, kArgs, {Form::kTtgir}, "sum(xx)"),
              HasSubstr("no tensor or number 'xx'; did you mean 'x'?"));
}

TEST(CheckWorkload, WhatAMachineDoesNotTakeIsNoProblemOfTheFiles) {
  EXPECT_EQ(problems(kKernel, kArgs, {Form::kMosaic}), "");
  EXPECT_EQ(problems("{tpu: ir/none}", kArgs, {Form::kTtgir}), "");
  EXPECT_THAT(problems(kKernel, "x_ptr: x, out_ptr: out", {Form::kMosaic}), HasSubstr("'n'"))
      << "its arguments can be checked all the same";
}

}  // namespace
}  // namespace xpusim::run
