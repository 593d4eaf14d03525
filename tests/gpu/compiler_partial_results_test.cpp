// Where do the warps' partial results of a reduction lie, and what do their bank conflicts cost?

#include "models/gpu/compiler/lowering/partial_results.h"

#include <gtest/gtest.h>

namespace xpusim::gpu {
namespace {

/// Rows by columns: 4 rows a thread, 32 lanes down the rows, `warps` warps along the columns.
kernel::LinearLayout rows_by_warps(std::uint32_t warps) {
  kernel::LinearLayout l;
  l.shape = {128, warps};
  l.registers = {{1, 0}, {2, 0}};
  l.lanes = {{4, 0}, {8, 0}, {16, 0}, {32, 0}, {64, 0}};
  for (std::uint32_t w = 1; w < warps; w *= 2) l.warps.push_back({0, w});
  return l;
}

TEST(PartialResults, RowsOfManyWarpsMeetInOneBank) {
  // Lanes are 4 rows of 8 words apart: 32 words, so that all 32 lanes want the same bank.
  const auto layout = rows_by_warps(8);
  const PartialResults p(layout, 1);
  EXPECT_EQ(p.warps(), 8u);
  EXPECT_EQ(p.words_before({3}), 24u);
  const SharedPlace written = p.written(4, 0), read = p.read(4, 0);
  EXPECT_EQ(written.extra_passes, 31);
  EXPECT_EQ(read.extra_passes, 31);
  EXPECT_EQ(written.lanes.lanes[1], 4 * 8 * 4);
  EXPECT_EQ(written.lanes.warps, (std::vector<std::int64_t>{4, 8, 16}));
  EXPECT_EQ(read.lanes.warps, (std::vector<std::int64_t>{0, 0, 0}));  // all of them read the same
}

TEST(PartialResults, FewerWarpsMakeFewerConflicts) {
  const auto layout = rows_by_warps(2);  // lanes 8 words apart: 4 banks, 8 words of each
  EXPECT_EQ(PartialResults(layout, 1).written(4, 0).extra_passes, 7);
}

TEST(PartialResults, OneResultIsWrittenByOneLaneAndReadByAllAtOnce) {
  kernel::LinearLayout layout;
  layout.shape = {256};
  layout.lanes = {{1}, {2}, {4}, {8}, {16}};
  layout.warps = {{32}, {64}, {128}};
  const PartialResults p(layout, 0);
  const SharedPlace written = p.written(4, 64), read = p.read(4, 64);
  EXPECT_EQ(written.extra_passes, 0);
  EXPECT_EQ(written.lanes.at(0, 5)[0], 64 + 5 * 4);
  EXPECT_EQ(written.lanes.at(0, 0)[1], SharedLanes::kOff);
  EXPECT_EQ(read.extra_passes, 0);
  EXPECT_EQ(read.lanes.at(0, 5)[7], 64);
}

TEST(PartialResults, ThreadsThatFetchOneWordEachMeetNowhere) {
  const auto layout = rows_by_warps(8);
  const PartialResults p(layout, 1);
  EXPECT_EQ(p.in_order(4, 0, 32, 1).extra_passes, 0);
  const SharedPlace combined = p.in_order(4, 0, 32, 8);
  EXPECT_EQ(combined.extra_passes, 0);
  EXPECT_EQ(combined.lanes.lanes[8], 32);
  EXPECT_EQ(combined.lanes.lanes[9], SharedLanes::kOff);
  EXPECT_EQ(p.in_order(8, 0, 32, 1).extra_passes,
            0);  // 64-bit values: two wavefronts, as few as can be
}

TEST(PartialResults, ResultsGoFirstAlongTheDimensionThatTheTileHasFastest) {
  kernel::LinearLayout layout;
  layout.shape = {4, 8, 2};
  layout.registers = {{1, 0, 0}};
  layout.lanes = {{2, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 2, 0}, {0, 4, 0}};
  layout.warps = {{0, 0, 0}};
  const PartialResults p(layout, 1);
  EXPECT_EQ(p.warps(), 1u);
  EXPECT_EQ(p.words_before({1, 0}), 1u);
  EXPECT_EQ(p.words_before({0, 1}), 4u);
}

}  // namespace
}  // namespace xpusim::gpu
