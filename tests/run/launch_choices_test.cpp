#include "sim/run/launch_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run/launch_parameters.h"

namespace xpusim::run {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kFile =
    "schema: xpusim.workload/1\n"
    "tensors: {x: {dtype: f32, shape: [64]}}\n"
    "launches:\n"
    "  - {kernel: ir/a, grid: [1], constexprs: {B: 64}, args: {p: x, n: 64}}\n"
    "  - {kernel: ir/other, grid: [1], args: {p: x, n: 64}}\n";

const std::string kVariants =
    "variants:\n"
    "  - {kernel: ir/a, B: 64}\n"
    "  - {kernel: ir/b, B: 32, num_warps: 8, num_stages: 3, grid: [7]}\n";

config::Node read(const std::string& more) { return *config::read_yaml(kFile + more, "w.yaml"); }

std::string problems(const std::string& more) {
  auto w = parse_workload(read(more), "w.yaml");
  return w ? "" : w.error().str();
}

/// The launch file with a parameter changed, or what is wrong with that.
std::string changed(const std::string& more, const std::string& path, const std::string& value) {
  auto file = read(more);
  auto node = config::read_yaml("'" + value + "'", "s.yaml");
  node->key_origin = {"s.yaml", 9, 9};
  auto done = set_launch_parameter(file, path, *node);
  return done ? config::to_yaml(file) : done.error().str();
}

TEST(LaunchChoices, AreNamedByWhatTheySet) {
  EXPECT_THAT(choice_names(read(kVariants).find("variants")),
              ElementsAre("B=64", "B=32 num_warps=8 num_stages=3 grid=7"));
  const auto sizes =
      read("sizes: [{n: 4, tensors.x.shape: [4]}, {name: big, n: 9}, {tensors.x.shape: [4, 2]}]\n");
  EXPECT_THAT(choice_names(sizes.find("sizes")), ElementsAre("n=4", "big", "tensors.x.shape=4x2"));
  EXPECT_EQ(choice_name(*config::read_yaml("{kernel: ir/a}", "w")), "ir/a");
}

TEST(LaunchChoices, AScheduleTakesThePlaceOfTheKernelsThatTheListHas) {
  const auto text = changed(kVariants, "variants", "B=32 num_warps=8 num_stages=3 grid=7");
  const auto launches = text.substr(0, text.find("variants:"));
  EXPECT_THAT(launches, HasSubstr("kernel: ir/b\n"));
  EXPECT_THAT(launches, HasSubstr("kernel: ir/other\n"));
  EXPECT_THAT(launches, HasSubstr("B: 32"));
  EXPECT_THAT(launches, HasSubstr("num_warps: 8"));
  EXPECT_THAT(launches, HasSubstr("grid: [7]"));
  EXPECT_THAT(launches, HasSubstr("num_stages: 3"));
}

TEST(LaunchChoices, ASizeSetsItsParameters) {
  const auto text = changed("sizes: [{n: 4, tensors.x.shape: [4], constexprs.B: 8}]\n", "sizes",
                            "n=4 constexprs.B=8");
  const auto launches = text.substr(0, text.find("sizes:"));
  EXPECT_NE(launches.find("n: 4\n"), launches.rfind("n: 4\n")) << "in both launches";
  EXPECT_THAT(launches, HasSubstr("shape: [4]"));
  EXPECT_THAT(launches, HasSubstr("B: 8"));
}

TEST(LaunchChoices, EachWrongVariantIsNamedWithItsPosition) {
  EXPECT_EQ(problems(kVariants), "");
  EXPECT_EQ(problems("variants: []\n").substr(0, 44),
            "w.yaml:6:11: error: 'variants' must be a map");
  EXPECT_EQ(problems("variants: [{kernel: ir/a, B: 64}, {B: 32}]\n"),
            "w.yaml:6:35: error: a variant is a map with its kernel: {kernel: ir/a, BLOCK: 256}\n");
  EXPECT_EQ(
      problems("variants: [{kernel: ir/a, B: 64}, {kernel: ir/b, num_warp: 32}]\n"),
      "w.yaml:6:50: error: no launch has a constexpr 'num_warp'; did you mean 'num_warps'?\n");
  EXPECT_EQ(problems("variants: [{kernel: ir/a, B: 64}, {kernel: ir/b, B: 64}]\n"),
            "w.yaml:6:35: error: another variant is 'B=64' too\n");
  EXPECT_EQ(problems("variants: [{kernel: ir/a, B: [64]}]\n"),
            "w.yaml:6:30: error: 'B' is a number or a text\n"
            "w.yaml:4:44: error: B is 64 here, but no variant of this kernel has that\n");
  EXPECT_EQ(problems("variants: [{kernel: ir/c, B: 64}]\n"),
            "w.yaml:6:11: error: no launch has one of the variants' kernels\n");
  EXPECT_EQ(problems("variants: [{kernel: ir/a, B: 32}]\n"),
            "w.yaml:4:44: error: B is 64 here, but no variant of this kernel has that\n");
}

TEST(LaunchChoices, EachWrongSizeIsNamedWithItsPosition) {
  EXPECT_EQ(problems("sizes: [{n: 4}]\n"), "");
  EXPECT_EQ(problems("sizes: 4\n"),
            "w.yaml:6:8: error: 'sizes' is a list of maps: [{n: 1024}, {n: 4096}]\n");
  EXPECT_EQ(problems("sizes: [4]\n"),
            "w.yaml:6:9: error: a size is a map of launch parameters: {n: 1024}\n");
  EXPECT_EQ(problems("sizes: [{m: 4}, {tensors.y.shape: [1]}]\n"),
            "w.yaml:6:10: error: no launch has 'm' in its args\n"
            "w.yaml:6:18: error: no tensor 'y'\n");
  EXPECT_EQ(problems("sizes: [{n: 4}, {n: 4}]\n"),
            "w.yaml:6:17: error: another size is 'n=4' too\n");
  EXPECT_EQ(problems("sizes: [{variants.B: 4}]\n"),
            "w.yaml:6:10: error: a size does not set 'variants.B'\n");
}

TEST(LaunchChoices, WhatASweepCannotChooseIsSaid) {
  EXPECT_EQ(changed(kVariants, "variants", "B=65"),
            "s.yaml:1:1: error: no variant 'B=65'; did you mean 'B=64'?: there are B=64, B=32 "
            "num_warps=8 num_stages=3 grid=7\n");
  EXPECT_EQ(changed(kVariants, "variants.B", "64"),
            "s.yaml:9:9: error: the launch file's variants are a list: write 'variants'\n");
  EXPECT_EQ(changed(kVariants, "constexprs.B", "64"),
            "s.yaml:9:9: error: 'B' has variants: write 'variants', and the kernel changes with "
            "it\n");
  EXPECT_EQ(changed("variants: {B: {64: ir/a}}\n", "variants", "64"),
            "s.yaml:9:9: error: the launch file's variants are by constexpr: write "
            "'variants.NAME'\n");
  EXPECT_EQ(changed("", "variants", "64"), "s.yaml:9:9: error: the launch file has no variants\n");
  EXPECT_EQ(changed("", "sizes", "64"), "s.yaml:1:1: error: the launch file has no sizes\n");
}

}  // namespace
}  // namespace xpusim::run
