#include "models/memory/sm_groups.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace xpusim::memory {
namespace {

// An H200 has 66 TPCs in 8 GPCs: 66 = 2 x 9 + 6 x 8.
TEST(SmGroups, share_out_the_pairs_of_sms) {
  const SmGroups h200(132, 8);
  EXPECT_EQ(h200.size(0), 18u);
  EXPECT_EQ(h200.size(1), 18u);
  for (std::uint32_t g = 2; g < 8; ++g) EXPECT_EQ(h200.size(g), 16u);
  EXPECT_EQ(h200.group_of(0), 0u);
  EXPECT_EQ(h200.group_of(17), 0u);
  EXPECT_EQ(h200.group_of(18), 1u);
  EXPECT_EQ(h200.group_of(131), 7u);
}

TEST(SmGroups, are_one_where_there_is_no_pair_for_another) {
  EXPECT_EQ(SmGroups(1, 8).count(), 1u);
  EXPECT_EQ(SmGroups(132, 0).count(), 1u);
  EXPECT_EQ(SmGroups(6, 8).count(), 3u);
}

std::map<std::uint32_t, std::uint32_t> by_group(const SmGroups& groups,
                                                const std::vector<std::uint32_t>& order) {
  std::map<std::uint32_t, std::uint32_t> n;
  for (std::uint32_t sm : order) ++n[groups.group_of(sm)];
  return n;
}

TEST(SmGroups, give_every_pair_a_block_before_any_gets_two) {
  const SmGroups h200(132, 8);
  const auto order = h200.spread(64);
  std::set<std::uint32_t> pairs;
  for (std::uint32_t sm : order) pairs.insert(sm / 2);
  EXPECT_EQ(pairs.size(), 64u);
  for (const auto& [group, blocks] : by_group(h200, order)) EXPECT_EQ(blocks, 8u);
}

// Blocks 0 to 11 of 100 ran on one GPC: three of its TPCs with two, six with one.
TEST(SmGroups, level_the_groups_and_number_blocks_group_by_group) {
  const SmGroups h200(132, 8);
  const auto order = h200.spread(100);
  const auto n = by_group(h200, order);
  for (const auto& [group, blocks] : n) EXPECT_TRUE(blocks == 12 || blocks == 13) << group;
  for (std::size_t i = 1; i < order.size(); ++i) EXPECT_LT(order[i - 1], order[i]);
  for (std::size_t b = 0; b < 12; ++b) EXPECT_EQ(h200.group_of(order[b]), 0u) << b;
  EXPECT_EQ(order[1], 1u);       // the first TPC has two
  EXPECT_EQ(order[11] % 2, 0u);  // the last has one
}

TEST(SmGroups, use_each_sm_once_for_any_number_of_blocks) {
  for (std::uint32_t sms : {1u, 2u, 7u, 108u, 132u}) {
    const SmGroups groups(sms, 8);
    for (std::uint32_t blocks = 0; blocks <= sms; ++blocks) {
      const auto order = groups.spread(blocks);
      const std::set<std::uint32_t> distinct(order.begin(), order.end());
      EXPECT_EQ(order.size(), blocks) << sms << " SMs";
      EXPECT_EQ(distinct.size(), blocks) << sms << " SMs";
      if (!distinct.empty()) {
        EXPECT_LT(*distinct.rbegin(), sms);
      }
    }
  }
}

TEST(SmGroups, give_each_cluster_of_pairs_the_same) {
  const SmGroups groups(132, 8);
  double sum = 0;
  for (std::uint32_t sm = 0; sm < 132; ++sm) sum += groups.share(sm, 3);
  EXPECT_NEAR(sum, 132, 1e-9);
  EXPECT_DOUBLE_EQ(groups.share(0, 3), 1);  // nine pairs
  const std::uint32_t of_eight = groups.first(7);
  EXPECT_DOUBLE_EQ(groups.share(of_eight, 3), 8. / 9);  // clusters of three, three and two
  EXPECT_DOUBLE_EQ(groups.share(of_eight + 11, 3), 8. / 9);
  EXPECT_DOUBLE_EQ(groups.share(of_eight + 12, 3), 4. / 3);
  EXPECT_DOUBLE_EQ(groups.share(of_eight + 15, 3), 4. / 3);
  EXPECT_DOUBLE_EQ(groups.share(of_eight, 0), 1);
  EXPECT_DOUBLE_EQ(SmGroups(3, 1).share(2, 3), 1);
}

}  // namespace
}  // namespace xpusim::memory
