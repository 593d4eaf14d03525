#include "models/energy/clock.h"

#include <gtest/gtest.h>

namespace xpusim::energy {
namespace {

constexpr ClockParams kRules{1.8e9, 800, 0.5, 700};

TEST(Clock, StaysAtTheCeilingUnderLittlePower) {
  EXPECT_DOUBLE_EQ(settled_clock(kRules, 1.8e9, {1.8e9, 500, 120}), 1.8e9);
  EXPECT_DOUBLE_EQ(settled_clock(kRules, 1.8e9, {1.8e9, 800, 120}), 1.8e9);
  EXPECT_DOUBLE_EQ(sustained_clock(kRules, PowerParams{75, 45, 2e9, 0.6}, 1.8e9, {1.8e9, 500, 120}),
                   1.8e9);
}

TEST(Clock, SagsToWherePowerAndClockAgree) {
  // 100 W standing, 900 W of events at 1.8 GHz: f/1.8 GHz = 1 - 0.5 * (0.1 + 0.9 f/1.8 GHz - 0.8)
  const double hz = settled_clock(kRules, 1.8e9, {1.8e9, 1000, 100});
  EXPECT_DOUBLE_EQ(hz, 1.8e9 * 1.35 / 1.45);
  // The same load, seen at the clock that it settles at, moves it no further.
  const double there = 100 + 900 * hz / 1.8e9;
  EXPECT_NEAR(settled_clock(kRules, 1.8e9, {hz, there, 100}), hz, 1);
}

TEST(Clock, HeldForLongMeetsTheLimitOfTheBoard) {
  const PowerParams power{75, 45, 2e9, 0.6};
  const Load load{1.8e9, 1120, 120};
  const double share = sustained_clock(kRules, power, 1.8e9, load) / 1.8e9;
  const double voltage = 1 - 0.6 * (1 - share);
  EXPECT_NEAR(75 + (45 + 1000) * share * voltage * voltage, 700, 3);
}

TEST(Clock, DoesNotMoveWithoutRulesOrWork) {
  EXPECT_EQ(settled_clock(ClockParams{}, 2e9, {2e9, 5000, 100}), 2e9);
  EXPECT_EQ(sustained_clock(ClockParams{}, PowerParams{}, 2e9, {2e9, 5000, 100}), 2e9);
  EXPECT_EQ(settled_clock(kRules, 2e9, Load{}), 2e9);
}

}  // namespace
}  // namespace xpusim::energy
