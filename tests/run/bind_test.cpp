#include "sim/run/bind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xpusim::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kKernel = R"(
#loc = loc("k.py":1:0)
module {
  tt.func public @copy(%x: !tt.tensordesc<tensor<32x8xf32>> loc("x"(#loc)), %x_0: i32 loc("x"(#loc)), %x_1: i32 loc("x"(#loc)), %x_2: i64 loc("x"(#loc)), %x_3: i64 loc("x"(#loc)), %width: i32 loc("width_now"("width"(#loc)))) {
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
)";

/// Binds a launch of a kernel over one descriptor and a number; the arguments as written.
Expected<exec::Launch> bind(const std::string& args, exec::DeviceMemory& memory) {
  auto root = config::read_yaml(
      "schema: xpusim.workload/1\nname: copy\ntensors:\n"
      "  a: {dtype: f32, shape: [100, 40], init: randn}\n"
      "  h: {dtype: f16, shape: [100, 40], init: randn}\n"
      "launches:\n  - kernel: ir/copy\n    grid: [4]\n    args: " +
          args + "\n",
      "copy.yaml");
  if (!root) return fail(root.error());
  auto workload = parse_workload(*root, "copy.yaml");
  if (!workload) return fail(workload.error());
  if (auto allocated = allocate_tensors(*workload, memory); !allocated)
    return fail(allocated.error());
  auto module = kernel::read_module(kKernel, "copy.ttir");
  if (!module) return fail(module.error());
  return bind_launch(workload->launches[0], std::make_shared<kernel::Module>(std::move(*module)),
                     memory, "copy");
}

std::string problem(const std::string& args) {
  exec::DeviceMemory memory(1 << 20);
  const auto launch = bind(args, memory);
  return launch ? "" : launch.error().str();
}

TEST(Bind, DoesADescriptorFillItsParameters) {
  exec::DeviceMemory memory(1 << 20);
  const auto launch = bind("{x: {descriptor: a, block: [32, 8]}, width: 3}", memory);
  ASSERT_TRUE(launch) << launch.error().str();
  ASSERT_EQ(launch->args.size(), 6u);
  const auto& handle = launch->args[0];
  EXPECT_EQ(handle.kind, exec::Argument::Kind::kDescriptor);
  EXPECT_EQ(handle.tensor, "a");
  EXPECT_EQ(handle.descriptor->address, memory.find(std::string_view("a"))->address);
  EXPECT_THAT(handle.descriptor->shape, ElementsAre(100, 40));
  EXPECT_THAT(handle.descriptor->strides, ElementsAre(40, 1));
  EXPECT_THAT(handle.descriptor->block, ElementsAre(32, 8));
  EXPECT_FALSE(handle.descriptor->pads_with_nan);
  EXPECT_EQ(launch->args[1].bits, 100);
  EXPECT_EQ(launch->args[2].bits, 40);
  EXPECT_EQ(launch->args[3].bits, 40);
  EXPECT_EQ(launch->args[4].bits, 1);
}

TEST(Bind, MayADescriptorHaveStridesAndNanPadding) {
  exec::DeviceMemory memory(1 << 20);
  const auto launch = bind(
      "{x: {descriptor: a, block: [32, 8], strides: [80, 1], padding: nan}, width: 3}", memory);
  ASSERT_TRUE(launch) << launch.error().str();
  EXPECT_THAT(launch->args[0].descriptor->strides, ElementsAre(80, 1));
  EXPECT_TRUE(launch->args[0].descriptor->pads_with_nan);
  EXPECT_EQ(launch->args[3].bits, 80);
}

TEST(Bind, WhatDoesNotFitADescriptorIsNamed) {
  EXPECT_THAT(problem("{x: {descriptor: a, block: [8, 8]}, width: 3}"),
              HasSubstr("'x' is compiled for blocks 32x8 of f32, but 8x8 of f32 are given"));
  EXPECT_THAT(problem("{x: {descriptor: h, block: [32, 8]}, width: 3}"), HasSubstr("of f16"));
  EXPECT_THAT(problem("{x: {descriptor: b, block: [32, 8]}, width: 3}"),
              HasSubstr("no tensor 'b'"));
  EXPECT_THAT(problem("{x: {descriptor: a, block: [32, 8], strides: [40, 2]}, width: 3}"),
              HasSubstr("the last of them 1"));
  EXPECT_THAT(problem("{x: {descriptor: a, block: [32, 8], padding: one}, width: 3}"),
              HasSubstr("padding is zero or nan"));
}

/// A compiler may rename a parameter: its own name is the innermost.
TEST(Bind, DoesARenamedParameterKeepItsName) {
  exec::DeviceMemory memory(1 << 20);
  const auto launch = bind("{x: {descriptor: a, block: [32, 8]}, width: 3}", memory);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->args[5].bits, 3);
  EXPECT_THAT(problem("{x: {descriptor: a, block: [32, 8]}}"), HasSubstr("an argument 'width'"));
}

}  // namespace
}  // namespace xpusim::run
