// Who gets which block, and how many fit.

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/gpu/core_harness.h"

namespace xpusim::gpu::test {
namespace {

Program program(int warps, int registers, std::int64_t shared = 0) {
  Program p;
  p.name = "test";
  p.num_warps = warps;
  p.registers_per_thread = registers;
  p.shared_bytes = shared;
  p.code = {op(Opcode::kFma, 4), op(Opcode::kFma, 4), op(Opcode::kExit)};
  return p;
}

TEST(Occupancy, IsLimitedByRegistersAsOnTheChip) {
  int seen = 0;
  for (const char* file : {"cases.json", "ops_cases.json"}) {
    std::ifstream in(std::string(XPUSIM_SOURCE_DIR "/traces/h200/") + file);
    for (const auto& c : nlohmann::json::parse(in)) {
      if (!c.contains("counters") || !c["counters"].contains("occupancy_limit_registers")) continue;
      const Occupancy o = occupancy(
          SmParams{}, program(c["num_warps"], c["registers_per_thread"], c["shared_bytes"]));
      EXPECT_EQ(o.by_registers, c["counters"]["occupancy_limit_registers"].get<int>()) << c["name"];
      const double theoretical =
          100.0 * static_cast<double>(o.blocks) * c["num_warps"].get<int>() / 64;
      EXPECT_NEAR(theoretical, c["counters"]["theoretical_occupancy_pct"].get<double>(), 0.01)
          << c["name"];
      ++seen;
    }
  }
  EXPECT_GT(seen, 170);
}

TEST(Occupancy, IsLimitedBySharedMemoryWithTheReserve) {
  const Occupancy o = occupancy(SmParams{}, program(4, 32, 100 * 1024));
  EXPECT_EQ(o.by_shared, 2);
  EXPECT_EQ(o.blocks, 2);
  EXPECT_EQ(o.shared_bytes_per_block, 101 * 1024);
  EXPECT_EQ(o.carve_out_bytes, 228 * 1024);
}

TEST(Dispatcher, RunsEveryBlockOnceAndNeverMoreThanFit) {
  Rig rig(program(4, 255));  // two blocks an SM
  rig.params.count = 3;
  rig.blocks = 50;
  rig.run();
  ASSERT_EQ(rig.source.begun.size(), 50u);
  std::ranges::sort(rig.source.begun);  // several begin in a cycle, SM by SM
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(rig.source.begun[i], i);
  EXPECT_EQ(rig.source.ended, 50u);
  EXPECT_EQ(rig.source.most_resident, 6u);
}

TEST(Dispatcher, SpreadsAGridOverTheSmsFirst) {
  Rig rig(program(4, 32));
  rig.params.count = 4;
  rig.blocks = 6;
  rig.run();
  EXPECT_EQ(rig.sms[0]->blocks_run(), 2u);
  EXPECT_EQ(rig.sms[1]->blocks_run(), 2u);
  EXPECT_EQ(rig.sms[2]->blocks_run(), 1u);
  EXPECT_EQ(rig.sms[3]->blocks_run(), 1u);
}

TEST(Dispatcher, AddsLaunchAndDrain) {
  Rig rig(program(1, 32));
  rig.launch.start_ns = 100;  // at 1 GHz: cycles
  rig.launch.drain_ns = 70;
  rig.launch.block_latency = 5;
  rig.run();
  // Sent at 100, there at 105; 0, 4, exit at 8; the notice at 105 + 8 + 5; drain.
  EXPECT_EQ(rig.dispatcher->blocks_end(), 118u);
  EXPECT_EQ(rig.dispatcher->end(), 188u);
  EXPECT_EQ(rig.stall(Stall::kTail), 70u);
  EXPECT_EQ(rig.stall(Stall::kLaunch), 105u);
  EXPECT_EQ(rig.stall(Stall::kLaunch, 1), 0u);  // its one warp is on the first sub-core
  EXPECT_EQ(rig.stall(Stall::kNoWork, 1), 118u);
}

TEST(Dispatcher, FillsAllSmsSideBySide) {
  Rig rig(program(1, 32));
  rig.params.count = 8;
  rig.blocks = 101;
  rig.launch.sm_interval = 10;
  rig.launch.block_interval = 500;
  rig.run();
  // The first is sent at 10, the last 100 * 10 / 8 later; there after 1, exit at 8, notice after 1.
  EXPECT_NEAR(static_cast<double>(rig.dispatcher->blocks_end()), 10 + 125 + 10, 1);
}

TEST(Dispatcher, FillsSlotsAgainAtARateThatIsNoWholeNumberOfCycles) {
  Rig rig(program(1, 32));
  rig.params.count = 8;
  rig.blocks = 8 * 32 + 100;
  rig.launch.sm_interval = 0.8;
  rig.launch.block_interval = 1.25;
  rig.run();
  // 256 slots are filled for the first time, ten a cycle; the others follow 1.25 apart.
  EXPECT_NEAR(static_cast<double>(rig.dispatcher->blocks_end()), 10 + 25.6 + 125 + 10, 2);
}

TEST(Dispatcher, FillsASlotAgainBeforeItsStoresArePerformedAndEndsAfterThem) {
  Instruction store = op(Opcode::kStg);
  store.site = 0;
  store.width = 4;
  Program p = make_program({store}, 1);
  p.registers_per_thread = 255;
  p.shared_bytes = 200 * 1024;  // one block at a time
  p.sites.push_back(row_layout(1));
  Rig rig(std::move(p));
  rig.blocks = 3;
  rig.memory_latency = 1000;
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = row_access(4096 * run.index, 32, 4, exec::AccessKind::kStore);
  };
  rig.run();
  ASSERT_EQ(rig.memory->sent.size(), 3u);
  // Blocks begin at 11, 14 and 17: store, exit a cycle later, notice and successor a cycle each.
  EXPECT_EQ(rig.source.most_resident, 1u);
  EXPECT_LT(rig.memory->sent[2].at, 100u);
  EXPECT_GE(rig.dispatcher->blocks_end(), rig.memory->sent[2].at + 1000);
  EXPECT_LT(rig.dispatcher->blocks_end(), 1100u);
}

TEST(Decode, SaysWhatAProgramCannotDo) {
  Program p = program(4, 32);
  p.code.pop_back();
  ASSERT_FALSE(decode(p));
  EXPECT_NE(decode(p).error().str().find("runs past its last instruction"), std::string::npos);
  p = program(4, 32);
  p.code[0] = op(Opcode::kLdg);
  EXPECT_NE(decode(p).error().str().find("needs a site"), std::string::npos);
  p.code[0] = op(Opcode::kBra);
  p.code[0].target = 77;
  EXPECT_NE(decode(p).error().str().find("jumps outside"), std::string::npos);
}

}  // namespace
}  // namespace xpusim::gpu::test
