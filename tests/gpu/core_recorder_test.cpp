// What a recorder of an SM keeps, and that it changes nothing.

#include "models/gpu/core/recorder.h"

#include <map>

#include "tests/gpu/core_harness.h"

namespace xpusim::gpu::test {
namespace {

constexpr auto kNow = SmRecorder::Window{};

Instruction memory(Opcode code, std::uint32_t site, std::uint8_t scoreboard = kNoScoreboard) {
  Instruction in = op(code);
  in.site = site;
  in.sets = scoreboard;
  in.width = 4;
  return in;
}

/// A strided load, its use, and a store.
Program strided(int warps) {
  Instruction use = op(Opcode::kFma, 4);
  use.wait_mask = 1;
  Program p = make_program({memory(Opcode::kLdg, 0, 0), use, memory(Opcode::kStg, 1)}, warps);
  for (int site = 0; site < 2; ++site) p.sites.push_back(row_layout(warps));
  return p;
}

void write_strided(BlockRun& run) {
  run.trace.add_access(0) = row_access(4096, 256, 64);
  run.trace.add_access(1) = row_access(1 << 20, 256, 4, exec::AccessKind::kStore);
}

/// A rig whose only SM is recorded.
struct RecordedRig {
  explicit RecordedRig(Program program, SmRecorder::Window window = kNow)
      : rig(std::move(program)), recorder(window, rig.program.code.size()) {
    rig.source.write = write_strided;
    rig.on_sm = [this](Sm& sm) { sm.record_with(&recorder); };
  }
  void run() {
    rig.run();
    recorder.finish();
  }
  Rig rig;
  SmRecorder recorder;
};

TEST(SmRecorder, TheSpansOfAWarpAreItsCyclesByReason) {
  RecordedRig r(strided(1));
  r.run();
  const auto& slot = r.recorder.slots()[0];
  // Issued at cycle 0 of the warp; the use waits for 16 lines that leave one a cycle.
  ASSERT_GE(slot.spans.size(), 4u);
  EXPECT_EQ(slot.spans[0].state, Stall::kIssued);
  EXPECT_EQ(slot.spans[0].pc, 0);
  EXPECT_EQ(slot.spans[0].until, r.recorder.first() + 1);
  EXPECT_EQ(slot.spans[1].state, Stall::kLongScoreboard);
  EXPECT_EQ(slot.spans[1].pc, 1);  // that it waits to issue
  EXPECT_EQ(slot.spans[2].state, Stall::kIssued);
  EXPECT_EQ(slot.spans[3].state, Stall::kWait);
  EXPECT_EQ(slot.spans[3].until - slot.spans[2].until, 3u);  // a stall count of four
}

TEST(SmRecorder, SpansOfAllWarpsSumUpToTheSubCoresOwnCounts) {
  RecordedRig r(strided(8));
  r.rig.blocks = 3;
  r.run();
  std::map<Stall, std::uint64_t> sums;
  for (const auto& slot : r.recorder.slots()) {
    std::uint64_t from = r.recorder.first();
    for (const auto& span : slot.spans) {
      ASSERT_GT(span.until, from);
      if (span.state != Stall::kNoWarp) sums[span.state] += span.until - from;
      from = span.until;
    }
    if (!slot.spans.empty()) {
      EXPECT_EQ(from, r.recorder.end());
    }
  }
  for (std::size_t s = 0; s < static_cast<std::size_t>(Stall::kCount); ++s) {
    const auto state = static_cast<Stall>(s);
    std::uint64_t counted = 0;
    for (std::uint32_t i = 0; i < kSubCores; ++i)
      counted += state == Stall::kIssued ? r.rig.sub(i).issued() : r.rig.sub(i).warp_stall(state);
    EXPECT_EQ(sums[state], counted) << name(state);
  }
}

TEST(SmRecorder, AStridedLoadTouchesASectorALane) {
  RecordedRig r(strided(1));
  r.run();
  const auto& load = r.recorder.profile()[0];
  EXPECT_EQ(load.requests, 1u);
  EXPECT_EQ(load.sectors, 32u);       // 64 bytes apart
  EXPECT_EQ(load.least_sectors, 4u);  // of 128 bytes
  ASSERT_EQ(load.examples.size(), 1u);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    EXPECT_EQ(load.examples[0].addresses[lane], 4096u + 64 * lane);
  const auto& store = r.recorder.profile()[2];
  EXPECT_EQ(store.sectors, 4u);
  EXPECT_EQ(store.least_sectors, 4u);
  EXPECT_EQ(load.sectors, r.rig.sms[0]->lsu().load_sectors);
  EXPECT_EQ(store.sectors, r.rig.sms[0]->lsu().store_sectors);
}

TEST(SmRecorder, LanesThatShareBytesNeedFewerSectors) {
  std::array<std::uint64_t, kWarpLanes> lanes;
  lanes.fill(256);
  EXPECT_EQ(least_sectors(lanes, 4), 1u);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) lanes[lane] = 256 + 8 * lane;
  EXPECT_EQ(least_sectors(lanes, 16), 9u);  // 31 * 8 + 16 = 264 bytes
  lanes.fill(Footprint::kNoAddress);
  EXPECT_EQ(least_sectors(lanes, 4), 0u);
}

TEST(SmRecorder, NothingElseChangesWhenItListens) {
  const auto checksums = [](bool recorded) {
    RecordedRig r(strided(8));
    r.rig.blocks = 5;
    if (!recorded) r.rig.on_sm = nullptr;
    r.run();
    std::vector<std::uint64_t> all;
    for (std::uint32_t i = 0; i < kSubCores; ++i) all.push_back(r.rig.sub(i).checksum());
    return all;
  };
  EXPECT_EQ(checksums(true), checksums(false));
}

TEST(SmRecorder, AWindowHasItsCyclesAndNoMore) {
  SmRecorder::Window window;
  window.first = 30;
  window.cycles = 50;
  RecordedRig r(strided(4), window);
  r.run();
  EXPECT_EQ(r.recorder.first(), 30u);
  EXPECT_EQ(r.recorder.end(), 80u);
  EXPECT_FALSE(r.recorder.is_cut());
  for (const auto& slot : r.recorder.slots())
    if (!slot.spans.empty()) {
      EXPECT_EQ(slot.spans.back().until, 80u);
    }
  EXPECT_EQ(r.recorder.profile()[0].requests, 4u);  // counts are of the whole launch
}

TEST(SmRecorder, AFullRecordingEndsForAllWarpsAtOnce) {
  SmRecorder::Window window;
  window.most_spans = 9;
  RecordedRig r(strided(4), window);
  r.run();
  EXPECT_TRUE(r.recorder.is_cut());
  std::size_t spans = 0;
  for (const auto& slot : r.recorder.slots()) {
    spans += slot.spans.size();
    if (!slot.spans.empty()) {
      EXPECT_EQ(slot.spans.back().until, r.recorder.end());
    }
  }
  EXPECT_LE(spans, 9u + 4u);
}

}  // namespace
}  // namespace xpusim::gpu::test
