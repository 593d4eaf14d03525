// What an SM's memory side asks for, when, and how long warps wait.

#include "tests/gpu/core_harness.h"

namespace xpusim::gpu::test {
namespace {

Instruction load(std::uint32_t site, std::uint8_t scoreboard, std::uint16_t vector = 0) {
  Instruction in = op(Opcode::kLdg);
  in.site = site;
  in.sets = scoreboard;
  in.vector = vector;
  in.width = 4;
  return in;
}
Instruction store(std::uint32_t site) {
  Instruction in = op(Opcode::kStg);
  in.site = site;
  in.width = 4;
  return in;
}
Instruction use(std::uint8_t mask) {
  Instruction in = op(Opcode::kFma, 4);
  in.wait_mask = mask;
  return in;
}
Program program(std::vector<Instruction> code, int warps = 1, int vectors = 1, int sites = 1) {
  Program p = make_program(std::move(code), warps);
  for (int s = 0; s < sites; ++s) p.sites.push_back(row_layout(warps, vectors));
  return p;
}

TEST(SmMemory, ALoadTakesTheMemorysLatencyAndTheSmsOwn) {
  Rig rig(program({load(0, 0), use(1)}));
  rig.params.mio.fill_latency = 12;
  rig.memory_latency = 500;
  rig.source.write = [](BlockRun& run) { run.trace.add_access(0) = row_access(4096, 32); };
  rig.run();
  // Issued at 0, leaves at 1, back at 501, written at 513; the exit four cycles later.
  EXPECT_EQ(rig.sub().warp_cycles(), 518u);
  EXPECT_EQ(rig.stall(Stall::kLongScoreboard), 512u);
  ASSERT_EQ(rig.memory->sent.size(), 1u);
  EXPECT_EQ(rig.memory->sent[0].message.address, 4096u);
  EXPECT_EQ(rig.memory->sent[0].message.data, 0xfu);
}

TEST(SmMemory, ASecondLoadOfALineHitsTheL1) {
  Rig rig(program({load(0, 0), use(1), load(1, 0), use(1)}, 1, 1, 2));
  rig.params.mio.l1_latency = 33;
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = row_access(4096, 32);
    run.trace.add_access(1) = row_access(4096, 32);
  };
  rig.run();
  EXPECT_EQ(rig.memory->sent.size(), 1u);
  EXPECT_EQ(rig.sms[0]->lsu().load_sectors, 8u);
  EXPECT_EQ(rig.sms[0]->lsu().load_sectors_hit, 4u);
  // 0, 113 (1 + 100 + 12), second load at 117, its use at 117 + 1 + 33, exit at 155.
  EXPECT_EQ(rig.sub().warp_cycles(), 156u);
}

/// Each of the sites stores a row of 128 bytes.
template <std::uint32_t kSites>
void stores_of_rows(BlockRun& run) {
  for (std::uint32_t site = 0; site < kSites; ++site) {
    run.trace.add_access(site) = row_access(4096 + 128 * site, 32, 4, exec::AccessKind::kStore);
  }
}

TEST(SmMemory, StoresWaitForRoomAmongThoseUnderWay) {
  Rig rig(program({store(0), store(1), store(2)}, 1, 1, 3));
  rig.params.mio.outstanding_stores = 8;  // sectors: two stores of four
  rig.source.write = stores_of_rows<3>;
  rig.run();
  ASSERT_EQ(rig.memory->sent.size(), 3u);
  const auto first = rig.memory->sent[0].at;
  EXPECT_LT(rig.memory->sent[1].at, first + 10);
  EXPECT_GE(rig.memory->sent[2].at, first + 100);  // when the first has been performed
  EXPECT_LT(rig.memory->sent[2].at, first + 110);
}

TEST(SmMemory, ALoadHitsWhatAStoreWroteInWholeSectors) {
  for (const bool whole : {true, false}) {
    SCOPED_TRACE(whole);
    Rig rig(program({store(0), load(1, 0), use(1)}, 1, 1, 2));
    const std::int64_t stride = whole ? 4 : 8;  // bytes; a lane moves four
    rig.source.write = [&](BlockRun& run) {
      run.trace.add_access(0) = row_access(4096, 32, stride, exec::AccessKind::kStore);
      run.trace.add_access(1) = row_access(4096, 32, stride);
    };
    rig.run();
    EXPECT_EQ(rig.sms[0]->lsu().load_sectors_hit, whole ? 4u : 0u);
    EXPECT_EQ(rig.memory->sent.size(), whole ? 1u : 2u);
  }
}

TEST(SmMemory, ALoadOfALineOnItsWayWaitsForItWithoutAskingAgain) {
  Rig rig(program({load(0, 0), load(1, 1), use(2)}, 1, 1, 2));
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = row_access(4096, 32);
    run.trace.add_access(1) = row_access(4096, 32);
  };
  rig.run();
  EXPECT_EQ(rig.memory->sent.size(), 1u);
  EXPECT_EQ(rig.sub().warp_cycles(), 1u + 100u + 12u + 4u + 1u);
}

TEST(SmMemory, AHitUnderAMissWaitsForItBehindManyStores) {
  // More messages of stores under way than the L1 has names for requests; then two loads of a line.
  constexpr std::uint32_t kStores = 2100;
  std::vector<Instruction> code;
  for (std::uint32_t i = 0; i < kStores; ++i) code.push_back(store(i));
  code.push_back(load(kStores, 0));
  code.push_back(load(kStores + 1, 1));
  code.push_back(use(2));
  Rig rig(program(std::move(code), 1, 1, kStores + 2));
  rig.memory_latency = 200'000;
  rig.source.write = [](BlockRun& run) {
    for (std::uint32_t i = 0; i < kStores; ++i) {
      run.trace.add_access(i) = row_access(1 << 20, 32, 512, exec::AccessKind::kStore);
    }
    for (std::uint32_t i = kStores; i < kStores + 2; ++i) {
      run.trace.add_access(i) = row_access(4096, 32);
    }
  };
  rig.run();
  ASSERT_EQ(rig.memory->sent.size(), kStores * 32u + 1);
  EXPECT_GT(rig.sub().warp_cycles(), rig.memory->sent.back().at + rig.memory_latency);
}

TEST(SmMemory, ARequestNeverLeavesItsAlignedBlock) {
  Rig rig(program({load(0, 0), use(1)}));
  // 32 lanes, 32 bytes apart, from 256 bytes before a block's end: two messages of 8 and two of 8.
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = row_access(4096 + 256, 32, 32);
  };
  rig.run();
  std::uint32_t sectors = 0;
  for (const auto& s : rig.memory->sent) {
    const std::uint64_t first = s.message.address / memory::kBlockBytes;
    const int top = 63 - std::countl_zero(s.message.data);
    EXPECT_EQ((s.message.address + static_cast<std::uint64_t>(top) * 32) / memory::kBlockBytes,
              first);
    sectors += memory::sectors(s.message);
  }
  EXPECT_EQ(sectors, 32u);
  EXPECT_EQ(rig.sms[0]->lsu().load_sectors, 32u);
}

TEST(SmMemory, ABlocksSlotIsFreeOnlyWhenItsStoresHaveLeft) {
  const auto end = [](std::int64_t drain) {
    Rig rig(program({store(0)}));
    rig.params.blocks = 1;
    rig.blocks = 2;
    rig.params.mio.drain_latency = drain;
    rig.source.write = stores_of_rows<1>;
    rig.run();
    return rig.dispatcher->blocks_end();
  };
  EXPECT_EQ(end(50) - end(20), 30u);
}

TEST(SmMemory, AWarpWhoseStoresWaitForRoomIsThereUntilTheyHaveLeft) {
  Rig rig(program({store(0), store(1), store(2)}, 1, 1, 3));
  rig.params.mio.outstanding_stores = 8;  // sectors: two stores of four
  rig.source.write = stores_of_rows<3>;
  rig.run();
  // Stores at 0, 2 and 4, exit at 5. The first leaves at 1 and is performed at 101; then the third
  // leaves, and the warp's life of 102 cycles and the sub-core's end with it.
  EXPECT_EQ(rig.sub().warp_stall(Stall::kDrain), rig.sub().warp_cycles() - 6u);
  EXPECT_EQ(rig.sub().warp_stall(Stall::kDrain), rig.stall(Stall::kDrain));
  EXPECT_NEAR(static_cast<double>(rig.sub().warp_cycles()), 102, 2);
}

TEST(SmMemory, ABlockDoesNotWaitForItsStoresButTheLaunchDoes) {
  Rig rig(program({store(0)}));
  rig.memory_latency = 1000;
  rig.source.write = stores_of_rows<1>;
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 2u);
  EXPECT_EQ(rig.sms[0]->block_cycles(), 2u);
  EXPECT_EQ(rig.dispatcher->blocks_end(), 11 + 1001 + 1u);  // leaves at 1, performed at 1001
  EXPECT_EQ(rig.sms[0]->lsu().store_sectors, 4u);
}

TEST(SmMemory, AFullL1QueueThrottlesWithItsOwnReason) {
  Rig rig(program({load(0, 0, 0), load(0, 0, 1), load(0, 0, 2), load(0, 0, 3)}, 1, 4));
  rig.params.mio.lg_queue = 1;
  // 32 lanes in 32 different lines: the tag stage takes 32 cycles a load.
  rig.source.write = [](BlockRun& run) { run.trace.add_access(0) = row_access(4096, 128, 128); };
  rig.run();
  EXPECT_GT(rig.stall(Stall::kLgThrottle), 50u);
  EXPECT_EQ(rig.stall(Stall::kMathPipe), 0u);
}

TEST(SmMemory, LinesAskedForAreBoundedAndAllComeBack) {
  std::vector<Instruction> code;
  for (int v = 0; v < 16; ++v) code.push_back(load(0, 0, static_cast<std::uint16_t>(v)));
  code.push_back(use(1));
  Rig rig(program(std::move(code), 4, 16));
  rig.params.mio.outstanding_lines = 16;
  rig.blocks = 12;
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = row_access(1 << 20 | run.index << 14, 2048);
  };
  rig.run();
  const LsuCounters& c = rig.sms[0]->lsu();
  EXPECT_EQ(c.load_sectors, 12u * 2048u * 4u / 32u);
  EXPECT_EQ(c.sectors_requested, c.load_sectors - c.load_sectors_hit);
  EXPECT_EQ(c.sectors_requested, c.sectors_done);
  // Little's law: 16 lines, 64 sectors, every 100 cycles.
  EXPECT_GT(rig.dispatcher->end(), c.sectors_requested / 64 * 100);
}

TEST(SmMemory, ALargerShareOfTheMemoryLetsMoreBeUnderWay) {
  std::uint64_t end[2];
  for (int larger = 0; larger < 2; ++larger) {
    std::vector<Instruction> code;
    for (int v = 0; v < 16; ++v) code.push_back(load(0, 0, static_cast<std::uint16_t>(v)));
    code.push_back(use(1));
    Rig rig(program(std::move(code), 1, 16));
    rig.params.mio.outstanding_lines = 4;
    rig.memory_latency = 1000;
    rig.on_sm = [&](Sm& sm) { sm.set_memory_share(larger ? 2.0 : 1.0); };
    rig.source.write = [](BlockRun& run) { run.trace.add_access(0) = row_access(1 << 20, 512); };
    rig.run();
    EXPECT_EQ(rig.sms[0]->lsu().load_sectors, 64u);  // 16 lines: four rounds of 4, or two of 8
    end[larger] = rig.sub().warp_cycles();
  }
  EXPECT_NEAR(static_cast<double>(end[0]), 4000, 200);
  EXPECT_NEAR(static_cast<double>(end[1]), 2000, 200);
}

TEST(SmMemory, AFenceWaitsForTheStoresBeforeIt) {
  Rig rig(program({store(0), op(Opcode::kMembar)}));
  rig.memory_latency = 700;
  rig.params.mio.membar_latency = 50;
  rig.source.write = stores_of_rows<1>;
  rig.run();
  EXPECT_GE(rig.sub().warp_cycles(), 700u);
  EXPECT_GT(rig.stall(Stall::kMembar), 600u);
}

TEST(SmMemory, AnInvalidationMakesLaterLoadsAskAgainAndTakesTheL1) {
  Instruction invalidate = op(Opcode::kCctl);
  invalidate.wait_mask = 1;
  Rig rig(program({load(0, 0), invalidate, load(1, 0), use(1)}, 1, 1, 2));
  rig.params.mio.invalidate_cycles = 50;
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = row_access(4096, 32);
    run.trace.add_access(1) = row_access(4096, 32);
  };
  rig.run();
  ASSERT_EQ(rig.memory->sent.size(), 2u);
  // Issued at 0, back at 113 (1 + 100 + 12); served at 114 for 50 cycles, then the second load.
  EXPECT_EQ(rig.memory->sent[1].at, 164u + (rig.memory->sent[0].at - 1));
  EXPECT_EQ(rig.sms[0]->lsu().load_sectors_hit, 0u);
}

TEST(SmMemory, TheL1LooksUpFourTagsACycle) {
  const Lsu lsu(MioParams{}, 128 << 10);
  WarpFootprint f;
  f.wavefronts = 1;
  f.lines = 32;
  EXPECT_EQ(lsu.passes(f), 8u);
  f.lines = 5;
  EXPECT_EQ(lsu.passes(f), 2u);
  f.wavefronts = 3;  // words of one bank
  EXPECT_EQ(lsu.passes(f), 3u);
  f = {};
  EXPECT_EQ(lsu.passes(f), 1u);
}

TEST(SmMemory, BankConflictsTakePassesOfTheDataStage) {
  Instruction lds = op(Opcode::kLds);
  lds.width = 4;
  lds.sets = 0;
  lds.extra_passes = 31;
  Rig rig(program({lds, use(1)}));
  rig.params.mio.shared_latency = 29;
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 1u + 31u + 29u + 4u + 1u);
  EXPECT_EQ(rig.sms[0]->lsu().wavefronts, 32u);
}

}  // namespace
}  // namespace xpusim::gpu::test
