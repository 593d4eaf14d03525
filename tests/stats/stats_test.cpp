#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/stats/counters.h"
#include "sim/stats/histogram.h"
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

TEST(HistogramTest, CountsExactlyAndBinsByPowersOfTwo) {
  Histogram h;
  for (const std::uint64_t v : {0, 1, 2, 3, 4, 7, 8}) h.record(v);
  h.record(100, 3);
  EXPECT_EQ(h.count(), 10u);
  EXPECT_EQ(h.sum(), 325u);
  EXPECT_EQ(h.least(), 0u);
  EXPECT_EQ(h.greatest(), 100u);
  EXPECT_DOUBLE_EQ(h.mean(), 32.5);
  EXPECT_EQ(h.bin(0), 1u);        // 0
  EXPECT_EQ(h.bin(1), 1u);        // 1
  EXPECT_EQ(h.bin(2), 2u);        // 2, 3
  EXPECT_EQ(h.bin(3), 2u);        // 4 .. 7
  EXPECT_EQ(h.bin(4), 1u);        // 8 .. 15
  EXPECT_EQ(h.bin(7), 3u);        // 64 .. 127
  EXPECT_EQ(h.at_most(0.5), 7u);  // five of ten are at most 4
  EXPECT_EQ(h.at_most(1), 100u);
}

TEST(HistogramTest, NothingRecordedIsNothing) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.least(), 0u);
  EXPECT_EQ(h.mean(), 0);
  EXPECT_EQ(h.at_most(0.99), 0u);
}

TEST(HistogramTest, HistogramsAddUpAndHoldTheGreatestValue) {
  Histogram a, b;
  a.record(5);
  b.record(~std::uint64_t{0});
  a.add(b);
  a.add(Histogram{});
  EXPECT_EQ(a.count(), 2u);
  EXPECT_EQ(a.least(), 5u);
  EXPECT_EQ(a.greatest(), ~std::uint64_t{0});
  EXPECT_EQ(a.bin(64), 1u);
}

}  // namespace
}  // namespace xpusim::stats
