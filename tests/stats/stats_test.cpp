#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/stats/counters.h"
#include "sim/stats/ledger.h"

namespace xpusim::stats {
namespace {

using ::testing::ElementsAre;

enum class Why { kBusy, kWait, kIdle, kCount };

TEST(LedgerTest, EachCycleIsChargedOnceAndTheSumIsWhatWasLived) {
  Ledger<Why> ledger;
  ledger.start_at(100);
  ledger.charge_until(110, Why::kIdle);
  ledger.charge_until(111, Why::kBusy);
  ledger.charge_until(111, Why::kWait);  // nothing left to charge
  ledger.charge_until(105, Why::kWait);  // charged already
  ledger.charge_until(120, Why::kWait);
  EXPECT_EQ(ledger.of(Why::kIdle), 10u);
  EXPECT_EQ(ledger.of(Why::kBusy), 1u);
  EXPECT_EQ(ledger.of(Why::kWait), 9u);
  EXPECT_EQ(ledger.lived(), 20u);
  EXPECT_EQ(ledger.sum(), ledger.lived());
  EXPECT_EQ(ledger.charged(), 120u);
}

TEST(LedgerTest, LedgersOfLikeUnitsAddUp) {
  Ledger<Why> a, b;
  a.charge_until(5, Why::kBusy);
  b.start_at(2);
  b.charge_until(5, Why::kBusy);
  b.charge_until(9, Why::kIdle);
  LedgerSum<Why> sum;
  sum.add(a);
  sum.add(b);
  EXPECT_EQ(sum.of(Why::kBusy), 8u);
  EXPECT_EQ(sum.of(Why::kIdle), 4u);
  EXPECT_EQ(sum.lived(), 12u);
  EXPECT_EQ(sum.units(), 2u);
}

struct CacheCounters {
  std::uint64_t hits = 0, misses = 0, evictions = 0;
};

TEST(CountersTest, StructsAddUpMemberByMember) {
  CacheCounters sum{1, 2, 3};
  add_counters(sum, CacheCounters{10, 20, 30});
  EXPECT_EQ(sum.hits, 11u);
  EXPECT_EQ(sum.misses, 22u);
  EXPECT_EQ(sum.evictions, 33u);
}

TEST(CountersTest, EntriesKeepTheirOrderAndTheLastValue) {
  CounterSet set;
  set.put("b", std::uint64_t{2});
  set.put("a", 1.5);
  set.put("b", std::uint64_t{3});
  EXPECT_THAT(set.entries(), ElementsAre(CounterSet::Entry{"b", 3.0}, CounterSet::Entry{"a", 1.5}));
  EXPECT_EQ(set.value("b"), 3.0);
}

TEST(CountersTest, WhatIsNotModelledHasANameAndNoValue) {
  CounterSet set;
  set.not_modelled("l1_hit_pct");
  set.ratio("l2_hit_pct", 0, 0, 100);
  set.ratio("dram_pct", 1, 4, 100);
  EXPECT_TRUE(set.has("l1_hit_pct"));
  EXPECT_EQ(set.value("l1_hit_pct"), std::nullopt);
  EXPECT_EQ(set.value("l2_hit_pct"), std::nullopt);
  EXPECT_EQ(set.value("dram_pct"), 25.0);
  EXPECT_FALSE(set.has("tlb_hit_pct"));
  EXPECT_EQ(set.value("tlb_hit_pct"), std::nullopt);
}

}  // namespace
}  // namespace xpusim::stats
