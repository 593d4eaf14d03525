#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/kernel/analysis/linear_layout.h"
#include "tests/kernel/layout_reading.h"

namespace xpusim::kernel {
namespace {

using testing::dot_op;
using testing::Encoding;
using testing::layout_of;
using testing::mma_v2;
using testing::mma_v3;

std::string problem(const std::string& text, const std::vector<std::int64_t>& shape) {
  const Encoding encoding(text);
  const auto layout = linear_layout(encoding, shape, {});
  return layout ? "" : layout.error().list()[0].message;
}

/// For every register, lane and warp, the coordinates are what `expected` says.
template <class Expected>
void expect_everywhere(const LinearLayout& l, const Expected& expected) {
  for (std::uint32_t w = 0; w < l.warp_count(); ++w) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      for (std::uint32_t r = 0; r < l.register_count(); ++r) {
        ASSERT_EQ(l.at(r, lane, w), expected(r, lane, w))
            << "register " << r << " lane " << lane << " warp " << w;
      }
    }
  }
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": C, D: row = groupID for
// c0, c1 and groupID + 8 for c2, c3; col = threadID_in_group * 2 + (i & 1).
TEST(MmaLayout, TheResultOfOneMmaSyncIsThePtxFragment) {
  const auto l = layout_of(mma_v2("[1, 1]"), {16, 8});
  ASSERT_EQ(l.register_count(), 4u);
  expect_everywhere(l, [](auto r, auto lane, auto) {
    return Basis{lane / 4 + (r >= 2 ? 8 : 0), lane % 4 * 2 + (r & 1)};
  });
}

// PTX ISA, the same section: A: row = groupID for i in {0, 1, 4, 5}, else groupID + 8;
// col = threadID_in_group * 2 + (i & 1), + 8 for i >= 4.
TEST(MmaLayout, TheLeftFactorOfHalvesIsThePtxFragment) {
  const auto l = layout_of(dot_op(0, mma_v2("[1, 1]"), 2), {16, 16});
  ASSERT_EQ(l.register_count(), 8u);
  expect_everywhere(l, [](auto i, auto lane, auto) {
    const bool upper = i < 2 || (i >= 4 && i < 6);
    return Basis{lane / 4 + (upper ? 0 : 8), lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)};
  });
}

// PTX ISA, the same section: B: row = threadID_in_group * 2 + (i & 1), + 8 for i >= 2;
// col = groupID.
TEST(MmaLayout, TheRightFactorOfHalvesIsThePtxFragment) {
  const auto l = layout_of(dot_op(1, mma_v2("[1, 1]"), 2), {16, 8});
  ASSERT_EQ(l.register_count(), 4u);
  expect_everywhere(l, [](auto i, auto lane, auto) {
    return Basis{lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4};
  });
}

// PTX ISA, "Matrix Fragments for mma.m16n8k8" (.tf32): A: row = groupID for a0, a2, else
// groupID + 8; col = threadID_in_group for a0, a1, else + 4. B: row = threadID_in_group, + 4 for
// b1; col = groupID.
TEST(MmaLayout, TheFactorsOfTf32AreThePtxFragments) {
  const auto a = layout_of(dot_op(0, mma_v2("[1, 1]"), 1), {16, 8});
  ASSERT_EQ(a.register_count(), 4u);
  expect_everywhere(a, [](auto i, auto lane, auto) {
    return Basis{lane / 4 + (i % 2 == 0 ? 0 : 8), lane % 4 + (i < 2 ? 0 : 4)};
  });
  const auto b = layout_of(dot_op(1, mma_v2("[1, 1]"), 1), {8, 8});
  ASSERT_EQ(b.register_count(), 2u);
  expect_everywhere(b, [](auto i, auto lane, auto) {
    return Basis{lane % 4 + (i == 0 ? 0 : 4), lane / 4};
  });
}

// PTX ISA, "Matrix Fragments for mma.m16n8k32" (8 bits): A: row = groupID for i in 0..3 and 8..11,
// else + 8; col = threadID_in_group * 4 + (i & 3), + 16 for i >= 8. B: row = threadID_in_group * 4
// + (i & 3), + 16 for i >= 4; col = groupID.
TEST(MmaLayout, TheFactorsOfBytesAreThePtxFragments) {
  const auto a = layout_of(dot_op(0, mma_v2("[1, 1]"), 4), {16, 32});
  ASSERT_EQ(a.register_count(), 16u);
  expect_everywhere(a, [](auto i, auto lane, auto) {
    const bool upper = i < 4 || (i >= 8 && i < 12);
    return Basis{lane / 4 + (upper ? 0 : 8), lane % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  });
  const auto b = layout_of(dot_op(1, mma_v2("[1, 1]"), 4), {32, 8});
  ASSERT_EQ(b.register_count(), 8u);
  expect_everywhere(b, [](auto i, auto lane, auto) {
    return Basis{lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), lane / 4};
  });
}

// PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16": D: row = warp % 4 * 16 + lane / 4,
// + 8 where i / 2 is odd; col = i / 4 * 8 + lane % 4 * 2 + i % 2.
TEST(MmaLayout, TheResultOfOneWgmmaIsThePtxFragment) {
  for (const int n : {8, 64, 128, 256}) {
    const auto l = layout_of(mma_v3("[4, 1]", "[16, " + std::to_string(n) + ", 16]"), {64, n});
    ASSERT_EQ(l.register_count(), static_cast<std::uint32_t>(n / 2));
    expect_everywhere(l, [](auto i, auto lane, auto w) {
      return Basis{w % 4 * 16 + lane / 4 + (i / 2 % 2 == 1 ? 8 : 0),
                   i / 4 * 8 + lane % 4 * 2 + i % 2};
    });
  }
}

// The same section, A in registers: row as in D; col = i / 4 * 8 + lane % 4 * 2 + i % 2.
TEST(MmaLayout, TheLeftFactorOfAWgmmaIsThePtxFragment) {
  const auto l = layout_of(dot_op(0, mma_v3("[4, 1]", "[16, 64, 16]"), 2), {64, 16});
  ASSERT_EQ(l.register_count(), 8u);
  expect_everywhere(l, [](auto i, auto lane, auto w) {
    return Basis{w * 16 + lane / 4 + (i / 2 % 2 == 1 ? 8 : 0), i / 4 * 8 + lane % 4 * 2 + i % 2};
  });
}

TEST(MmaLayout, MmaSyncWarpsGoAlongColumnsFirstAndTilesRepeatAlongColumnsFirst) {
  const auto l = layout_of(mma_v2("[2, 2]"), {64, 32});
  EXPECT_EQ(l.registers, (std::vector<Basis>{{0, 1}, {8, 0}, {0, 16}, {32, 0}}));
  EXPECT_EQ(l.lanes, (std::vector<Basis>{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}));
  EXPECT_EQ(l.warps, (std::vector<Basis>{{0, 8}, {16, 0}}));
}

TEST(MmaLayout, WgmmaWarpsGoAlongRowsFirst) {
  const auto l = layout_of(mma_v3("[4, 2]", "[16, 128, 16]"), {128, 256});
  EXPECT_EQ(l.registers,
            (std::vector<Basis>{{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}, {0, 64}, {64, 0}}));
  EXPECT_EQ(l.warps, (std::vector<Basis>{{16, 0}, {32, 0}, {0, 128}}));
}

TEST(MmaLayout, WarpsThatDifferInTheOtherFactorHoldCopies) {
  const auto a = layout_of(dot_op(0, mma_v2("[2, 2]"), 2), {32, 32});
  EXPECT_EQ(a.warps, (std::vector<Basis>{{0, 0}, {16, 0}}));
  EXPECT_EQ(a.registers, (std::vector<Basis>{{0, 1}, {8, 0}, {0, 8}, {0, 16}}));
  const auto b = layout_of(dot_op(1, mma_v2("[2, 2]"), 2), {32, 32});
  EXPECT_EQ(b.warps, (std::vector<Basis>{{0, 8}, {0, 0}}));
  EXPECT_EQ(b.registers, (std::vector<Basis>{{1, 0}, {8, 0}, {16, 0}, {0, 16}}));
  const auto wgmma = layout_of(dot_op(0, mma_v3("[4, 2]", "[16, 64, 16]"), 2), {64, 16});
  EXPECT_EQ(wgmma.warps, (std::vector<Basis>{{16, 0}, {32, 0}, {0, 0}}));
}

TEST(MmaLayout, ABatchOfMatricesIsSpreadOverWarps) {
  const auto l = layout_of(mma_v2("[4, 1, 1]", "[1, 16, 8]"), {8, 16, 16});
  EXPECT_EQ(l.registers, (std::vector<Basis>{{0, 0, 1}, {0, 8, 0}, {0, 0, 8}, {4, 0, 0}}));
  EXPECT_EQ(l.warps, (std::vector<Basis>{{1, 0, 0}, {2, 0, 0}}));
  const auto b = layout_of(dot_op(1, mma_v2("[4, 1, 1]", "[1, 16, 8]"), 2), {4, 32, 16});
  EXPECT_EQ(b.registers, (std::vector<Basis>{{0, 1, 0}, {0, 8, 0}, {0, 16, 0}, {0, 0, 8}}));
  EXPECT_EQ(b.warps, (std::vector<Basis>{{1, 0, 0}, {2, 0, 0}}));
}

TEST(MmaLayout, ASliceOfAResultKeepsItsRowsAndCopiesOverColumns) {
  const auto l =
      layout_of("#ttg.slice<{dim = 1, parent = " + mma_v3("[4, 1]", "[16, 64, 16]") + "}>", {128});
  EXPECT_EQ(l.registers, (std::vector<Basis>{{8}, {64}}));
  EXPECT_EQ(l.lanes, (std::vector<Basis>{{0}, {0}, {1}, {2}, {4}}));
  EXPECT_EQ(l.warps, (std::vector<Basis>{{16}, {32}}));
}

TEST(MmaLayout, FactorsOfMultiplyAddsHoldAllOfK) {
  const std::string parent =
      "#ttg.blocked<{sizePerThread = [2, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 2], "
      "order = [1, 0]}>";
  const std::string of = ", parent = " + parent + "}>";
  const auto a = layout_of("#ttg.dot_op<{opIdx = 0" + of, {32, 8});
  EXPECT_EQ(a.registers, (std::vector<Basis>{{0, 1}, {0, 2}, {0, 4}, {1, 0}, {16, 0}}));
  EXPECT_EQ(a.lanes, (std::vector<Basis>{{0, 0}, {0, 0}, {0, 0}, {2, 0}, {4, 0}}));
  EXPECT_EQ(a.warps, (std::vector<Basis>{{0, 0}, {8, 0}}));
  const auto b = layout_of("#ttg.dot_op<{opIdx = 1" + of, {2, 64});
  EXPECT_EQ(b.registers, (std::vector<Basis>{{0, 1}, {0, 2}, {1, 0}}));
  EXPECT_EQ(b.lanes, (std::vector<Basis>{{0, 4}, {0, 8}, {0, 16}, {0, 0}, {0, 0}}));
  EXPECT_EQ(b.warps, (std::vector<Basis>{{0, 32}, {0, 0}}));
}

TEST(MmaLayout, WhatIsWrongOrNotModelledIsNamed) {
  EXPECT_EQ(problem("#ttg.nvidia_mma<{versionMajor = 5, versionMinor = 0, warpsPerCTA = [4, 1], "
                    "instrShape = [128, 64, 16]}>",
                    {128, 64}),
            "of the layouts #ttg.nvidia_mma, version 2 (mma.sync) and 3 (wgmma) are modelled, "
            "not 5");
  EXPECT_NE(problem(mma_v2("[2, 2]"), {64}), "");
  EXPECT_NE(problem(mma_v2("[2, 3]"), {64, 64}), "");
  EXPECT_NE(problem(mma_v2("[65536, 65536]"), {64, 64}), "");
  EXPECT_NE(problem(mma_v2("[2, 2]", "[16]"), {64, 64}), "");
  EXPECT_NE(problem(mma_v2("[2, 2]", "[4, 8]"), {64, 64}), "");
  EXPECT_NE(problem(mma_v3("[4, 1]", "[16, 96, 16]"), {64, 128}), "");
  EXPECT_NE(problem(mma_v3("[4, 1, 1]", "[16, 64, 16]"), {4, 64, 128}), "");
  EXPECT_NE(problem(dot_op(1, mma_v3("[4, 1]", "[16, 64, 16]"), 2), {64, 64}), "");
  EXPECT_NE(problem(dot_op(2, mma_v2("[2, 2]"), 2), {64, 64}), "");
  EXPECT_NE(problem(dot_op(0, mma_v2("[2, 2]"), 3), {64, 64}), "");
  EXPECT_NE(problem(dot_op(0, mma_v2("[2, 2]"), 2), {64}), "");
  EXPECT_NE(problem("#ttg.dot_op<{opIdx = 0, kWidth = 2}>", {64, 64}), "");
  EXPECT_NE(problem("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "
                    "CTAsPerCGA = [2, 1], instrShape = [16, 8]}>",
                    {64, 64}),
            "");
}

}  // namespace
}  // namespace xpusim::kernel
