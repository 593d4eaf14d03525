#include "sim/engine/lookahead.h"

#include <gtest/gtest.h>

namespace xpusim::engine {
namespace {

/// a (1 GHz) -> b (2 GHz) -> c (1 GHz) -> a, 10 cycles each: 10, 5 and 10 ns. b and c also send to
/// each other: c -> b 2 cycles, 2 ns.
class LookaheadTest : public ::testing::Test {
 protected:
  LookaheadTest() {
    b.open_inbox(a, 10);
    c.open_inbox(b, 10);
    a.open_inbox(c, 10);
    b.open_inbox(c, 2);
  }
  static constexpr Femto kNs = 1'000'000;
  Scheduler a{Clock(1'000'000'000)}, b{Clock(2'000'000'000)}, c{Clock(1'000'000'000)};
};

TEST_F(LookaheadTest, ADomainMayRunToWhatTheNearestActiveDomainCanReach) {
  const Lookahead lookahead({&a, &b, &c});
  const std::vector<Femto> due{100 * kNs, 103 * kNs, 90 * kNs};
  EXPECT_EQ(lookahead.limit(0, due), 100 * kNs);  // c sends at 90
  EXPECT_EQ(lookahead.limit(1, due), 92 * kNs);   // c, over its short link
  EXPECT_EQ(lookahead.limit(2, due), 97 * kNs);   // c's own message, over b and back: 90 + 2 + 5
}

TEST_F(LookaheadTest, ASleepingDomainPassesOnWhatReachesIt) {
  const Lookahead lookahead({&a, &b, &c});
  const std::vector<Femto> due{100 * kNs, kEndOfTime, kEndOfTime};
  EXPECT_EQ(lookahead.limit(1, due), 110 * kNs);
  EXPECT_EQ(lookahead.limit(2, due), 115 * kNs);
  EXPECT_EQ(lookahead.limit(0, due), 125 * kNs);  // its own message, around
}

TEST_F(LookaheadTest, ALinkCountsAtTheFastestRateOfItsSender) {
  a.allow_up_to(2'000'000'000);
  const Lookahead lookahead({&a, &b, &c});
  EXPECT_EQ(lookahead.limit(1, {100 * kNs, kEndOfTime, kEndOfTime}), 105 * kNs);
}

TEST(LoneDomainTest, WhoGetsNoMessagesMayRunForEver) {
  Scheduler a{Clock(1'000'000'000)}, b{Clock(1'000'000'000)};
  b.open_inbox(a, 1);
  const Lookahead lookahead({&a, &b});
  EXPECT_EQ(lookahead.limit(0, {5, 7}), kEndOfTime);
}

}  // namespace
}  // namespace xpusim::engine
