#include "sim/engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/engine/check.h"

namespace xpusim::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Writes down what happens to it; ticks at the cycles that a test gave it.
class Probe : public Component {
 public:
  Probe(std::string name, std::vector<std::string>& log) : name_(std::move(name)), log_(log) {}
  Cycle tick(Cycle now) override {
    log_.push_back(name_ + "@" + std::to_string(now));
    if (act) act(now);
    return next_wake > now ? next_wake : kNever;
  }
  Cycle receive(const Message& message, Cycle now) override {
    log_.push_back(name_ + "<" + std::to_string(message.tag) + "@" + std::to_string(now));
    return tick_on_message ? now : kNever;
  }

  Cycle next_wake = 0;
  bool tick_on_message = false;
  std::function<void(Cycle)> act;

 private:
  std::string name_;
  std::vector<std::string>& log_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() {
    for (Probe* probe : {&a, &b, &c}) scheduler.add(*probe);
  }
  Message message(std::uint32_t to, std::uint32_t tag) { return {.to = to, .tag = tag}; }

  std::vector<std::string> log;
  Scheduler scheduler{Clock(1'000'000'000)};
  Probe a{"a", log}, b{"b", log}, c{"c", log};
};

TEST_F(SchedulerTest, TicksInIdOrderHoweverTheWakesCame) {
  scheduler.wake(2, 5);
  scheduler.wake(0, 5);
  scheduler.wake(1, 4);
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("b@4", "a@5", "c@5"));
  EXPECT_EQ(scheduler.activations(), 3u);
}

TEST_F(SchedulerTest, ManyWakesForACycleAreOneTick) {
  for (int i = 0; i < 5; ++i) scheduler.wake(1, 7);
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("b@7"));
}

TEST_F(SchedulerTest, TheEarliestOfTwoWakesIsTheOneThatCounts) {
  scheduler.wake(0, 9);
  scheduler.wake(0, 3);
  scheduler.wake(0, 6);
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("a@3"));
}

TEST_F(SchedulerTest, AWakeAskedForAgainAfterAnEarlierOneComesOnce) {
  scheduler.wake(0, 9);
  scheduler.wake(0, 3);
  a.next_wake = 9;
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("a@3", "a@9"));
}

TEST_F(SchedulerTest, MessagesComeBeforeTicksAndCanCauseOneInTheSameCycle) {
  b.tick_on_message = true;
  scheduler.wake(0, 4);
  scheduler.post(message(2, 1), 4);
  scheduler.post(message(1, 2), 4);
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("c<1@4", "b<2@4", "a@4", "b@4"));
  EXPECT_EQ(scheduler.messages(), 2u);
}

TEST_F(SchedulerTest, MessagesOfACycleKeepTheOrderOfSending) {
  for (std::uint32_t i = 0; i < 20; ++i) scheduler.post(message(i % 2, i), 10);
  scheduler.run_until(kNever);
  ASSERT_EQ(log.size(), 20u);
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(log[i], std::string(i % 2 ? "b" : "a") + "<" + std::to_string(i) + "@10");
  }
}

// 4096 buckets: cycle 5000 is beyond them when sent at 0 (a heap), within them when sent at 1000.
TEST_F(SchedulerTest, AMessageSentFromFarKeepsItsPlaceBeforeOneSentFromNear) {
  scheduler.post(message(0, 1), 5000);
  scheduler.post(message(0, 2), 5000);
  scheduler.wake(1, 1000);
  b.act = [&](Cycle) { scheduler.post(message(0, 3), 5000); };
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("b@1000", "a<1@5000", "a<2@5000", "a<3@5000"));
}

// 512 wake buckets: 511 is the last one within, 512 the first beyond, and lies in the bucket of 0.
TEST_F(SchedulerTest, WakesAroundTheEndOfTheWheelComeInTheirOwnCycle) {
  scheduler.wake(0, 0);
  scheduler.wake(1, 511);
  scheduler.wake(2, 512);
  a.next_wake = 1024;
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("a@0", "b@511", "c@512", "a@1024"));
}

TEST_F(SchedulerTest, NextLeapsOverEmptyCycles) {
  EXPECT_EQ(scheduler.next(), kNever);
  scheduler.wake(0, 1'000'000'000'000);
  EXPECT_EQ(scheduler.next(), 1'000'000'000'000u);
  scheduler.post(message(0, 1), 70);
  EXPECT_EQ(scheduler.next(), 70u);
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("a<1@70", "a@1000000000000"));
}

TEST_F(SchedulerTest, RunUntilStopsBeforeItsLimit) {
  scheduler.wake(0, 10);
  scheduler.wake(1, 11);
  scheduler.run_until(11);
  EXPECT_THAT(log, ElementsAre("a@10"));
  EXPECT_EQ(scheduler.now(), 11u);
  scheduler.run_until(12);
  EXPECT_THAT(log, ElementsAre("a@10", "b@11"));
}

TEST_F(SchedulerTest, AWakeForTheCurrentCycleWhileTickingCountsForTheNext) {
  scheduler.wake(1, 3);
  b.act = [&](Cycle now) {
    scheduler.wake(0, now);
    scheduler.wake(2, now);
  };
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("b@3", "a@4", "c@4"));
}

TEST_F(SchedulerTest, PauseEndsTheRunAfterItsCycle) {
  scheduler.wake(0, 2);
  scheduler.wake(1, 2);
  scheduler.wake(2, 3);
  a.act = [&](Cycle) { scheduler.pause(); };
  EXPECT_TRUE(scheduler.run_until(kNever));
  EXPECT_THAT(log, ElementsAre("a@2", "b@2"));
  EXPECT_FALSE(scheduler.run_until(kNever));
  EXPECT_THAT(log, ElementsAre("a@2", "b@2", "c@3"));
}

TEST_F(SchedulerTest, AMessageForTheCurrentCycleNamesComponentAndCycle) {
  Probe sender("sender", log);
  const std::uint32_t id = scheduler.add(sender, "gpu.sm[3]");
  scheduler.wake(id, 8);
  sender.act = [&](Cycle now) { scheduler.post(message(id, 0), now); };
  try {
    scheduler.run_until(kNever);
    FAIL() << "no check";
  } catch (const BrokenInvariant& error) {
    EXPECT_THAT(error.what(), HasSubstr("gpu.sm[3] at cycle 8"));
  }
}

TEST_F(SchedulerTest, AWakeForThePastNamesComponentAndCycle) {
  scheduler.run_until(50);
  try {
    scheduler.wake(1, 49);
    FAIL() << "no check";
  } catch (const BrokenInvariant& error) {
    EXPECT_THAT(error.what(), HasSubstr("component 1 at cycle 50"));
  }
}

TEST_F(SchedulerTest, MoreComponentsThanAWordKeepIdOrder) {
  std::vector<Probe> more;
  more.reserve(200);
  for (int i = 0; i < 200; ++i) more.emplace_back(std::to_string(i + 3), log);
  scheduler.wake(1, 6);  // before the wheel grows
  for (Probe& probe : more) scheduler.add(probe);
  for (std::uint32_t id : {202u, 64u, 63u, 130u, 0u}) scheduler.wake(id, 6);
  scheduler.run_until(kNever);
  EXPECT_THAT(log, ElementsAre("a@6", "b@6", "63@6", "64@6", "130@6", "202@6"));
}

}  // namespace
}  // namespace xpusim::engine
