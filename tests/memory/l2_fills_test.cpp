#include "models/memory/l2_fills.h"

#include <gtest/gtest.h>

#include <vector>

namespace xpusim::memory {
namespace {

const auto expect_nothing = [](const L2Fills::Waiter&) {};

TEST(L2Fills, answers_what_joined_a_fill_with_it) {
  L2Fills fills;
  const std::uint32_t first = fills.wait(7, {1, 0, 0, 0xf, 0, 0}, 0, 0xf);
  EXPECT_EQ(fills.under_way(7), 0xf);
  fills.wait(7, {2, 0, 0, 0x3, 0, 0}, 0x3, 0);
  std::vector<std::uint32_t> tags;
  fills.close(
      first, [&](std::uint32_t, const L2Fills::Waiter& w) { tags.push_back(w.tag); },
      expect_nothing);
  EXPECT_EQ(tags, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(fills.empty());
}

TEST(L2Fills, has_any_number_of_misses_under_way) {
  constexpr std::uint32_t kMisses = 100'000;
  L2Fills fills;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < kMisses; ++i) {
    numbers.push_back(fills.wait(i, {i, 0, 0, 0xf, 0, 0}, 0, 0xf));
    fills.wait(i, {i + kMisses, 0, 0, 0xf, 0, 0}, 0xf, 0);
  }
  std::uint64_t answered = 0;
  for (std::uint32_t i = 0; i < kMisses; ++i) {
    fills.close(
        numbers[i],
        [&](std::uint32_t block, const L2Fills::Waiter& w) {
          EXPECT_EQ(w.tag % kMisses, block);
          ++answered;
        },
        expect_nothing);
  }
  EXPECT_EQ(answered, 2 * kMisses);
  EXPECT_TRUE(fills.empty());
}

}  // namespace
}  // namespace xpusim::memory
