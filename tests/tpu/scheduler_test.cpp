// List scheduling: which instructions share a bundle, and when does it stop?

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/tpu/compiler/scheduler.h"

namespace xpusim::tpu {
namespace {

Virtual emit(DraftBlock& b, Opcode op, Virtual x = kNoVirtual, Virtual y = kNoVirtual,
             std::int32_t offset = 0) {
  Draft d;
  d.op = op;
  d.src = {x, y, kNoVirtual};
  if (op == Opcode::kVLoad || op == Opcode::kVStore) d.address = {0, offset, 0, 0};
  if (op != Opcode::kVStore) d.dst = b.fresh(RegisterFile::kVector);
  b.code.push_back(d);
  return d.dst;
}

/// x + y of `tiles` registers: two loads, an add, a store each.
DraftBlock sums(int tiles) {
  DraftBlock b;
  for (int i = 0; i < tiles; ++i) {
    const Virtual x = emit(b, Opcode::kVLoad, kNoVirtual, kNoVirtual, 2 * i);
    const Virtual y = emit(b, Opcode::kVLoad, kNoVirtual, kNoVirtual, 2 * i + 1);
    emit(b, Opcode::kVStore, emit(b, Opcode::kVAdd, x, y), kNoVirtual, 1000 + i);
  }
  return b;
}

std::vector<std::size_t> sizes(const std::vector<ScheduledBundle>& bundles) {
  std::vector<std::size_t> n;
  for (const auto& b : bundles) n.push_back(b.instructions.size());
  return n;
}

TEST(Scheduler, OneSumTakesALoadAnAddAndAStoreBundle) {
  // Both loads in one bundle; the cycles until they are there are the core's to wait.
  const auto bundles = schedule(sums(1), CoreParams{});
  ASSERT_TRUE(bundles);
  EXPECT_THAT(sizes(*bundles), ::testing::ElementsAre(2, 1, 1));
}

TEST(Scheduler, ManySumsTakeABundleEach) {
  // Two load slots and one store slot: one register a cycle; 4 cycles to load and 2 to add first.
  CoreParams core;
  core.latency.vector_load = 4;
  core.latency.vector_alu = 2;
  const auto bundles = schedule(sums(20), core);
  ASSERT_TRUE(bundles);
  EXPECT_EQ(bundles->size(), 20u + 4 + 2);
}

TEST(Scheduler, OneLoadSlotHalvesTheRate) {
  CoreParams core;
  core.slots.vector_load = 1;
  core.latency.vector_load = 4;
  const auto bundles = schedule(sums(20), core);
  ASSERT_TRUE(bundles);
  // 40 loads; the last add waits 4 cycles for the last of them, of which 3 have nothing to issue
  // but earlier adds and stores; then the add's result takes 2.
  std::size_t loads = 0;
  for (const auto& b : *bundles) {
    const auto in_bundle =
        std::count_if(b.instructions.begin(), b.instructions.end(),
                      [](const Instruction& i) { return i.op == Opcode::kVLoad; });
    EXPECT_LE(in_bundle, 1);
    loads += static_cast<std::size_t>(in_bundle);
  }
  EXPECT_EQ(loads, 40u);
  EXPECT_GE(bundles->size(), 40u);
}

TEST(Scheduler, ASlowUnitTakesAnInstructionEveryInterval) {
  CoreParams core;
  core.latency.eup_interval = 2;
  DraftBlock b;
  const Virtual x = emit(b, Opcode::kVLoad);
  for (int i = 0; i < 4; ++i) {
    emit(b, Opcode::kVStore, emit(b, Opcode::kVPow2, x), kNoVirtual, 10 + i);
  }
  const auto bundles = schedule(b, core);
  ASSERT_TRUE(bundles);
  for (const auto& bundle : *bundles) EXPECT_EQ(bundle.instructions.size(), 1u);
}

TEST(Scheduler, NoRegisterIsWrittenTwiceAtOnceOrOverwrittenBeforeItIsRead) {
  const DraftBlock b = sums(200);
  const auto bundles = schedule(b, CoreParams{});
  ASSERT_TRUE(bundles);
  // Run it on symbols: a load leaves its address, an add the sum of both.
  std::array<std::int64_t, kRegisters> value{};
  std::map<std::int32_t, std::int64_t> stored;
  for (const auto& bundle : *bundles) {
    const auto before = value;
    std::set<Reg> written;
    for (const Instruction& i : bundle.instructions) {
      if (i.dst != kNoReg) {
        EXPECT_TRUE(written.insert(i.dst).second);
      }
      if (i.op == Opcode::kVLoad) value[i.dst] = i.address.offset;
      if (i.op == Opcode::kVAdd) value[i.dst] = before[i.src[0]] + before[i.src[1]];
      if (i.op == Opcode::kVStore) stored[i.address.offset] = before[i.src[0]];
    }
  }
  for (int i = 0; i < 200; ++i) EXPECT_EQ(stored[1000 + i], 4 * i + 1);
}

TEST(Scheduler, RefusesWhatNeedsMoreThanTheRegisters) {
  DraftBlock b;
  std::vector<Virtual> all;
  for (int i = 0; i < 70; ++i) all.push_back(emit(b, Opcode::kVLoad, kNoVirtual, kNoVirtual, i));
  Virtual sum = all.back();
  for (int i = 68; i >= 0; --i) sum = emit(b, Opcode::kVAdd, sum, all[static_cast<std::size_t>(i)]);
  emit(b, Opcode::kVStore, sum, kNoVirtual, 999);
  EXPECT_FALSE(schedule(b, CoreParams{}));
}

TEST(Scheduler, ALoadWaitsForTheStoreToItsPlace) {
  DraftBlock b;
  const Virtual x = emit(b, Opcode::kVLoad, kNoVirtual, kNoVirtual, 0);
  emit(b, Opcode::kVStore, x, kNoVirtual, 7);
  emit(b, Opcode::kVLoad, kNoVirtual, kNoVirtual, 7);
  const auto bundles = schedule(b, CoreParams{});
  ASSERT_TRUE(bundles);
  EXPECT_THAT(sizes(*bundles), ::testing::ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace xpusim::tpu
