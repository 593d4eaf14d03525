#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "sim/engine/message_wheel.h"
#include "sim/engine/wake_wheel.h"

namespace xpusim::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OccupancyTest, NextFindsTheFirstAtOrAfterAndGoesAroundTheEnd) {
  Occupancy<512> occupied;
  EXPECT_EQ(occupied.next(0), kNever);
  occupied.set(1000);  // bucket 488
  EXPECT_EQ(occupied.next(600), 1000u);
  EXPECT_EQ(occupied.next(1000), 1000u);
  occupied.set(1030);  // bucket 6: lower than where 1001 lies (489)
  occupied.clear(1000);
  EXPECT_EQ(occupied.next(1001), 1030u);
  occupied.clear(1030);
  EXPECT_EQ(occupied.next(1001), kNever);
}

// The whole turn: the word of `now` is looked at again, below now's own bit, as the last one.
TEST(OccupancyTest, TheLastCycleOfAWholeTurnIsFound) {
  Occupancy<4096> occupied;
  for (const Cycle now : {0ull, 63ull, 64ull, 70ull, 4095ull, 123'456'789ull}) {
    occupied.set(now + 4095);
    EXPECT_EQ(occupied.next(now), now + 4095);
    occupied.clear(now + 4095);
  }
}

std::vector<std::uint32_t> due(WakeWheel& wheel, Cycle now) {
  std::vector<std::uint32_t> ids;
  wheel.advance(now);
  wheel.take(now, [&](std::uint32_t id) { ids.push_back(id); });
  return ids;
}

TEST(WakeWheelTest, AReplacedWakeLeavesACycleInWhichNobodyIsDue) {
  WakeWheel wheel;
  wheel.resize(3);
  wheel.wake(2, 20, 0);
  wheel.wake(2, 10, 0);
  EXPECT_EQ(wheel.next(0), 10u);
  EXPECT_THAT(due(wheel, 10), ElementsAre(2));
  EXPECT_EQ(wheel.next(11), 20u);
  EXPECT_THAT(due(wheel, 20), IsEmpty());
  EXPECT_EQ(wheel.next(21), kNever);
}

TEST(WakeWheelTest, AFarWakeThatWasReplacedIsDropped) {
  WakeWheel wheel;
  wheel.resize(1);
  wheel.wake(0, 5000, 0);
  wheel.wake(0, 4000, 0);
  EXPECT_EQ(wheel.next(0), 4000u);
  EXPECT_THAT(due(wheel, 4000), ElementsAre(0));
  wheel.advance(5000);
  EXPECT_EQ(wheel.next(5000), kNever);
}

/// A wheel against an ordered map over random wakes, near and far.
TEST(WakeWheelTest, DoesWhatAnOrderedMapDoes) {
  std::mt19937 random(3);
  constexpr std::uint32_t kIds = 150;
  WakeWheel wheel;
  wheel.resize(kIds);
  std::vector<Cycle> pending(kIds, kNever);
  Cycle now = 0;
  const auto wake_some = [&](Cycle earliest) {
    for (std::uint32_t n = random() % 6; n > 0; --n) {
      const std::uint32_t id = random() % kIds;
      const Cycle at = earliest + random() % (random() % 4 ? 40 : 2000);
      wheel.wake(id, at, now);
      pending[id] = std::min(pending[id], at);
    }
  };
  wake_some(now);
  for (int turn = 0; turn < 50'000; ++turn) {
    const Cycle expected = *std::min_element(pending.begin(), pending.end());
    Cycle next = wheel.next(now);
    ASSERT_LE(next, expected);
    if (next == kNever) {
      wake_some(now);
      continue;
    }
    now = next;
    std::vector<std::uint32_t> ids;
    wheel.advance(now);
    wheel.take(now, [&](std::uint32_t id) {
      ids.push_back(id);
      ASSERT_EQ(pending[id], now);
      pending[id] = kNever;
      wake_some(now + 1);
    });
    ASSERT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    ASSERT_EQ(std::count(pending.begin(), pending.end(), now), 0);
    wheel.advance(++now);
  }
}

/// The order of sending within a cycle, over near and far messages, against a multimap.
TEST(MessageWheelTest, DoesWhatAnOrderedMultimapDoes) {
  std::mt19937 random(4);
  MessageWheel wheel;
  std::multimap<Cycle, std::uint32_t> expected;  // equal keys keep the order of insertion
  Cycle now = 0;
  std::uint32_t tag = 0;
  const auto put_some = [&](Cycle earliest) {
    for (std::uint32_t n = random() % 5; n > 0; --n) {
      const Cycle at = earliest + random() % (random() % 3 ? 100 : 12'000) / 10 * 10;
      wheel.put({.tag = tag}, 7, at, now);
      expected.emplace(at, tag++);
    }
  };
  for (int turn = 0; turn < 50'000; ++turn) {
    if (expected.empty()) put_some(now);
    const Cycle next = wheel.next(now);
    ASSERT_EQ(next, expected.empty() ? kNever : expected.begin()->first);
    if (next == kNever) continue;
    now = next;
    wheel.advance(now);
    std::vector<std::uint32_t> told, told_again;
    const auto take = [&](const Message& message) {
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(expected.begin()->first, now);
      ASSERT_EQ(message.tag, expected.begin()->second);
      ASSERT_EQ(message.to, 7u);
      ASSERT_FALSE(told.empty());
      ASSERT_EQ(told.front(), message.tag);  // each was expected before, in order
      told.erase(told.begin());
      ASSERT_FALSE(told_again.empty());
      ASSERT_EQ(told_again.front(), message.tag);
      told_again.erase(told_again.begin());
      expected.erase(expected.begin());
      if (expected.size() < 5000) put_some(now + 1);
    };
    wheel.take(
        now, take, [&](const Message& message) { told.push_back(message.tag); },
        [&](const Message& message) { told_again.push_back(message.tag); });
    ASSERT_TRUE(told.empty() && told_again.empty());
    ASSERT_TRUE(expected.empty() || expected.begin()->first > now);
    wheel.advance(++now);
  }
}

}  // namespace
}  // namespace xpusim::engine
