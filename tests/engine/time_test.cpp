#include "sim/engine/time.h"

#include <gtest/gtest.h>

#include <random>

namespace xpusim::engine {
namespace {

// 1.755 GHz is 351 cycles in 200 ns.
TEST(ClockTest, EdgesDoNotDriftOver1e12Cycles) {
  const Clock clock(1'755'000'000);
  EXPECT_EQ(clock.edge(1), 569'801u);    // 569800.57
  EXPECT_EQ(clock.edge(2), 1'139'601u);  // 1139601.14
  EXPECT_EQ(clock.edge(351), 200'000'000u);
  for (const std::uint64_t m : {1ull, 1000ull, 1'000'003ull, 2'849'002'849ull}) {
    EXPECT_EQ(clock.edge(351 * m), 200'000'000 * m);
    EXPECT_EQ(clock.edge(351 * m + 1), 200'000'000 * m + 569'801);
  }
  EXPECT_EQ(clock.edge(1'000'000'000'000), 569'800'569'800'569'801u);  // ...800.5698
}

TEST(ClockTest, TheFirstCycleAtOrAfterATimeIsExact) {
  const Clock clock(1'755'000'000);
  EXPECT_EQ(clock.cycle_at_or_after(0), 0u);
  EXPECT_EQ(clock.cycle_at_or_after(1), 1u);
  EXPECT_EQ(clock.cycle_at_or_after(569'801), 1u);
  EXPECT_EQ(clock.cycle_at_or_after(569'802), 2u);
  EXPECT_EQ(clock.cycle_at_or_after(200'000'000), 351u);
}

TEST(ClockTest, CycleAndEdgeAreInverseForAnyRate) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Clock clock(1 + random() % 4'000'000'000);
    const Cycle k = random() % 1'000'000'000 * (i % 2 ? 1'000 : 1);
    const Femto t = clock.edge(k);
    if (t == kEndOfTime) continue;
    ASSERT_EQ(clock.cycle_at_or_after(t), k) << clock.hz();
    ASSERT_EQ(clock.cycle_at_or_after(t + 1), k + 1) << clock.hz();
  }
}

TEST(ClockTest, NoTwoEdgesAreCloserThanAtLeast) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const Clock clock(1'000'000 + random() % 4'000'000'000);
    const Cycle k = random() % 1'000'000'000, n = 1 + random() % 1000;
    const Femto apart = clock.edge(k + n) - clock.edge(k);
    ASSERT_GE(apart, clock.at_least(n));
    ASSERT_LE(apart, clock.at_least(n) + 2);
  }
}

TEST(ClockTest, AChangeOfRateKeepsTheEdgeAtWhichItHappens) {
  const Clock clock = Clock(1'000'000'000).changed_at(100, 2'000'000'000);
  EXPECT_EQ(clock.edge(100), 100'000'000u);
  EXPECT_EQ(clock.edge(101), 100'500'000u);
  EXPECT_EQ(clock.edge(99), 99'500'000u);  // extrapolated: the old rate is forgotten
  EXPECT_EQ(clock.cycle_at_or_after(100'500'001), 102u);
  const Clock slower = clock.changed_at(104, 500'000'000);
  EXPECT_EQ(slower.edge(104), 102'000'000u);
  EXPECT_EQ(slower.edge(105), 104'000'000u);
}

TEST(ClockTest, BeyondTheEndOfTimeIsTheEndOfTime) {
  const Clock clock(1'000'000'000);
  EXPECT_EQ(clock.edge(kNever), kEndOfTime);
  EXPECT_EQ(clock.at_least(kNever), kEndOfTime);
}

}  // namespace
}  // namespace xpusim::engine
