// Who gets which block, and how many fit.

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
  EXPECT_EQ(rig.stall(Stall::kDrain), 70u);
  EXPECT_EQ(rig.stall(Stall::kLaunch), 105u);
  EXPECT_EQ(rig.stall(Stall::kLaunch, 1), 0u);  // its one warp is on the first sub-core
  EXPECT_EQ(rig.stall(Stall::kNoWork, 1), 118u);
}

TEST(Dispatcher, KeepsARateThatIsNoWholeNumberOfCycles) {
  Rig rig(program(1, 32));
  rig.params.count = 8;
  rig.blocks = 101;
  rig.launch.block_interval = 1.25;
  rig.run();
  // The first is sent at 10, the last 100 * 1.25 later; there after 1, exit at 8, notice after 1.
  EXPECT_NEAR(static_cast<double>(rig.dispatcher->blocks_end()), 10 + 125 + 10, 1);
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
