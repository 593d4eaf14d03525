// Hand-computed cycles of asynchronous copies, TMA and matrix instructions on one SM.

#include <array>

#include "models/gpu/core/async_groups.h"
#include "models/gpu/core/tensor_core.h"
#include "tests/gpu/core_harness.h"

namespace xpusim::gpu::test {
namespace {

MmaShape shape(int m, int n, int k, int bits, bool a_in_shared = false) {
  MmaShape s;
  s.m = static_cast<std::uint16_t>(m);
  s.n = static_cast<std::uint16_t>(n);
  s.k = static_cast<std::uint16_t>(k);
  s.bits = static_cast<std::uint8_t>(bits);
  s.a_in_shared = a_in_shared;
  return s;
}

Instruction wgmma(int n, bool commits = false, bool a_in_shared = true) {
  Instruction in = op(Opcode::kWgmma);
  in.mma = shape(64, n, 16, 16, a_in_shared);
  in.mma.commits = commits;
  return in;
}
Instruction wait(Opcode opcode, int pending) {
  Instruction in = op(opcode);
  in.pending = static_cast<std::uint8_t>(pending);
  return in;
}
Instruction mma(std::uint8_t scoreboard = kNoScoreboard) {
  Instruction in = op(Opcode::kMma);
  in.mma = shape(16, 8, 16, 16);
  in.sets = scoreboard;
  return in;
}
Instruction use(std::uint8_t mask) {
  Instruction in = op(Opcode::kFma, 4);
  in.wait_mask = mask;
  return in;
}
Instruction copy(std::uint32_t site, int width) {
  Instruction in = op(Opcode::kLdgsts);
  in.site = site;
  in.width = static_cast<std::uint16_t>(width);
  return in;
}

/// Each lane moves `elements` f32 that follow one another.
SiteLayout vector_layout(std::uint32_t elements) {
  SiteLayout l = row_layout(1);
  l.vector_elements = elements;
  for (auto& base : l.lane_bases) base[0] *= elements;
  l.shape[0] *= elements;
  return l;
}

exec::Access copy_access(std::uint64_t base, std::int64_t count) {
  return row_access(base, count, 4, exec::AccessKind::kAsyncCopy);
}
void keep_first(exec::Access& a, std::int64_t elements) {
  a.masked = true;
  a.mask.shape = a.pointers.shape;
  a.mask.dtype = kernel::DType::kI1;
  a.mask.form = exec::TileForm::kBox;
  a.mask.box.low.push_back(0);
  a.mask.box.high.push_back(elements);
}

/// A warp that copies site by site, all in one group, and waits for it.
Program copies(const std::vector<Instruction>& code, std::uint32_t elements) {
  std::vector<Instruction> all = code;
  all.push_back(op(Opcode::kLdgdepbar));
  all.push_back(wait(Opcode::kDepbar, 0));
  Program p = make_program(std::move(all), 1);
  for (std::size_t s = 0; s < code.size(); ++s) p.sites.push_back(vector_layout(elements));
  return p;
}

TEST(TensorCore, KeepsToTheMeasuredCyclesOfEachShape) {
  const TensorParams p;
  const auto of = [&](Opcode code, const MmaShape& s) { return tensor_cycles(p, code, s); };
  EXPECT_EQ(of(Opcode::kWgmma, shape(64, 64, 16, 16)), 32u);
  EXPECT_EQ(of(Opcode::kWgmma, shape(64, 128, 16, 16)), 64u);
  EXPECT_EQ(of(Opcode::kWgmma, shape(64, 256, 16, 16)), 128u);
  EXPECT_EQ(of(Opcode::kWgmma, shape(64, 128, 8, 32)), 64u);
  EXPECT_EQ(of(Opcode::kWgmma, shape(64, 128, 32, 8)), 64u);
  EXPECT_EQ(of(Opcode::kMma, shape(16, 8, 16, 16)), 6u);
  EXPECT_EQ(of(Opcode::kMma, shape(16, 8, 8, 16)), 4u);
  EXPECT_EQ(of(Opcode::kMma, shape(16, 8, 8, 32)), 6u);
  EXPECT_EQ(of(Opcode::kMma, shape(16, 8, 32, 8)), 6u);
  EXPECT_EQ(of(Opcode::kMma, shape(16, 8, 16, 64)), 64u);
  EXPECT_EQ(of(Opcode::kMma, shape(8, 8, 4, 64)), 16u);
  EXPECT_EQ(mma_latency(p, shape(16, 8, 16, 16)), 24u);
  EXPECT_EQ(mma_latency(p, shape(16, 8, 8, 16)), 17u);
  EXPECT_EQ(mma_latency(p, shape(16, 8, 32, 8)), 24u);
  EXPECT_EQ(mma_latency(p, shape(8, 8, 4, 64)), 26u);
}

TEST(TensorCore, ChainsTakeTheMeasuredTime) {
  // Cycles from before WARPGROUP.ARRIVE until after the wait for chains of 1, 2, 4, 8 and 16, on an
  // H200 (traces/h200/microbench_sm.json, wgmma_wait).
  struct Row {
    int n;
    bool a_in_shared;
    std::array<double, 5> cycles;
  };
  const Row rows[] = {
      {8, true, {58, 76, 112, 184, 328}},       {16, true, {62, 82, 122, 202, 362}},
      {32, true, {71, 94, 142, 238, 430}},      {64, true, {87, 118, 182, 310, 566}},
      {128, true, {119, 182, 310, 566, 1078}},  {256, true, {182, 310, 566, 1078, 2102}},
      {64, false, {84, 120, 196, 342, 630}},    {128, false, {116, 184, 324, 598, 1142}},
      {256, false, {180, 312, 580, 1110, 2166}}};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.cycles.size(); ++i) {
      std::vector<Instruction> code{op(Opcode::kWgArrive)};
      for (int k = 0; k + 1 < 1 << i; ++k) code.push_back(wgmma(row.n, false, row.a_in_shared));
      code.push_back(wgmma(row.n, true, row.a_in_shared));
      code.push_back(wait(Opcode::kWgDepbar, 0));
      Rig rig(make_program(std::move(code)));
      rig.run();
      EXPECT_NEAR(static_cast<double>(rig.sub(3).warp_cycles()), row.cycles[i], 16)
          << row.n << " x " << (1 << i) << (row.a_in_shared ? "" : " from registers");
    }
  }
}

TEST(TensorCore, AQuarterOfAWgmmaReadsItsRowsAndItsShareOfTheRightFactor) {
  EXPECT_EQ(4 * wgmma_shared_bytes(shape(64, 128, 16, 16, true)), (64u + 128u) * 32u);
  EXPECT_EQ(4 * wgmma_shared_bytes(shape(64, 128, 16, 16, false)), 128u * 32u);
  EXPECT_EQ(4 * wgmma_shared_bytes(shape(64, 64, 8, 32, true)), (64u + 64u) * 32u);
}

TEST(TensorCore, AWarpWaitsForItsWgmma) {
  Rig rig(make_program({wgmma(128, true), wait(Opcode::kWgDepbar, 0)}));
  rig.run();
  // Issued at 0, on the core until 64, complete at 64 + 46; then the exit.
  for (std::uint32_t s = 0; s < kSubCores; ++s) EXPECT_EQ(rig.sub(s).warp_cycles(), 111u);
  EXPECT_EQ(rig.stall(Stall::kWarpgroup), 108u);
}

TEST(TensorCore, AWgmmaReadsItsLeftFactorFromRegistersBeforeItBegins) {
  Rig rig(make_program({wgmma(64, true, false), wait(Opcode::kWgDepbar, 0)}));
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 16u + 32u + 27u + 1u);
}

TEST(TensorCore, AChainOfWgmmasFollowsWithoutGaps) {
  Rig rig(make_program({wgmma(128), wgmma(128), wgmma(128, true), wait(Opcode::kWgDepbar, 0)}));
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 3u * 64u + 46u + 1u);
  EXPECT_EQ(rig.stall(Stall::kWarpgroup), 15u + 15u + 204u);  // issued a quarter of its time apart
}

TEST(TensorCore, AFullQueueHoldsTheNextWgmma) {
  Rig rig(make_program(std::vector<Instruction>(4, wgmma(128))));
  rig.params.tensor.wgmma_queue = 2;
  rig.params.tensor.wgmma_queue_hold = 32;
  rig.run();
  // They begin at 0, 64, 128, 192; issued at 0, 16, 0 + 32, 64 + 32. The exit does not wait.
  EXPECT_EQ(rig.sub().warp_cycles(), 98u);
  EXPECT_EQ(rig.stall(Stall::kWarpgroup), 15u + 15u + 63u);
}

TEST(TensorCore, BesideAWgmmaTheIntegerPipeTakesTurnsHalfAsOften) {
  std::vector<Instruction> code{wgmma(128)};
  code.insert(code.end(), 20, op(Opcode::kAlu));
  Rig rig(make_program(code));
  rig.params.pipes.alu_interval = 2;
  rig.params.tensor.beside = 2;
  rig.run();
  // On the core until 64: 16 issue at 1, 5, ..., 61, then four at 65, 67, 69, 71, and the exit.
  EXPECT_EQ(rig.sub().warp_cycles(), 73u);
}

TEST(TensorCore, TwoWarpgroupsTakeTurns) {
  Rig rig(make_program({wgmma(128, true), wait(Opcode::kWgDepbar, 0)}, 8));
  rig.run();
  // The second one's begins when the first one's ends: complete at 110 and 174.
  EXPECT_EQ(rig.sub().warp_cycles(), 111u + 175u);
  EXPECT_EQ(rig.sub().warp_stall(Stall::kGmma), 16u);  // issued at 16
}

TEST(TensorCore, AWaitLetsTheLastGroupsBeUnderWay) {
  Rig rig(make_program({wgmma(128, true), wgmma(128, true), wait(Opcode::kWgDepbar, 1),
                        op(Opcode::kFma), wait(Opcode::kWgDepbar, 0)}));
  rig.run();
  // 0, 16, 17, until 110; 110, 111, until 128 + 46.
  EXPECT_EQ(rig.sub().warp_cycles(), 175u);
  EXPECT_EQ(rig.stall(Stall::kWarpgroup), 15u + 92u + 62u);
}

TEST(TensorCore, SharedMemoryLimitsNarrowWgmmas) {
  // 64x8: 4 cycles of products, 2 + 16 wavefronts of factors.
  Rig rig(make_program({std::vector<Instruction>(64, wgmma(8))}));
  rig.program.code.insert(rig.program.code.end() - 1, wgmma(8, true));
  rig.program.code.insert(rig.program.code.end() - 1, wait(Opcode::kWgDepbar, 0));
  rig.run();
  const auto bandwidth = static_cast<double>(65 * 18);
  EXPECT_NEAR(static_cast<double>(rig.sub().warp_cycles()), bandwidth + 46, 32);
}

TEST(TensorCore, TheWarpsOfAWarpgroupMeet) {
  Rig rig(make_program({op(Opcode::kWgArrive)}, 8));
  rig.launch.warp_interval = 10;
  rig.params.tensor.arrive_latency = 4;
  rig.run();
  // Warps 0 to 3 come at 0, 10, 20, 30 and leave at 34; the others 40 cycles later.
  for (std::uint32_t s = 0; s < kSubCores; ++s) EXPECT_EQ(rig.sub(s).warp_cycles(), 35u + 75u);
  EXPECT_EQ(rig.sub().warp_stall(Stall::kWarpgroup), 33u + 33u);
}

TEST(TensorCore, AnMmaKeepsTheCoreAndItsResultComesLater) {
  Rig chain(make_program({mma(0), use(1)}, 1));
  chain.run();
  EXPECT_EQ(chain.sub().warp_cycles(), 24u + 4u + 1u);
  Rig burst(make_program({mma(), mma(), mma(), mma()}, 1));
  burst.run();
  EXPECT_EQ(burst.sub().warp_cycles(), 20u);  // 0, 6, 12, 18 and the exit
  EXPECT_EQ(burst.stall(Stall::kMathPipe), 3u * 5u);
}

TEST(TensorCore, MatrixInstructionsThatThereAreNotAreRefused) {
  EXPECT_FALSE(decode(make_program({wgmma(12)})));
  EXPECT_FALSE(decode(make_program({wgmma(128)}, 2)));
  EXPECT_FALSE(decode(make_program({op(Opcode::kMma)})));
  Instruction odd = mma();
  odd.mma.bits = 24;
  EXPECT_FALSE(decode(make_program({odd})));
  EXPECT_TRUE(decode(make_program({wgmma(256), mma()})));
}

TEST(AsyncCopy, IsCompleteWhenItsDataAreInSharedMemory) {
  Rig rig(copies({copy(0, 4)}, 1));
  rig.params.mio.copy_latency = 100;
  rig.source.write = [](BlockRun& run) { run.trace.add_access(0) = copy_access(4096, 32); };
  rig.run();
  // Issued at 0, leaves at 1, back at 101, through the SM at 113, written in one cycle; the warp
  // learns of it 100 cycles later.
  EXPECT_EQ(rig.sub().warp_cycles(), 115u + 100u);
  EXPECT_EQ(rig.stall(Stall::kLongScoreboard), 110u + 100u);  // the wait was issued at 3
  EXPECT_EQ(rig.sms[0]->lsu().load_sectors, 4u);
  EXPECT_EQ(rig.sms[0]->lsu().wavefronts, 1u);  // of the write: narrow copies count as stores do
}

TEST(AsyncCopy, OfFourBytesPaysForBankConflicts) {
  Instruction c = copy(0, 4);
  c.extra_passes = 15;
  Rig rig(copies({c}, 1));
  rig.source.write = [](BlockRun& run) { run.trace.add_access(0) = copy_access(4096, 32); };
  rig.run();
  EXPECT_EQ(rig.sms[0]->lsu().wavefronts, 16u);
  EXPECT_EQ(rig.sub().warp_cycles(), 115u + 15u);
}

TEST(AsyncCopy, OfSixteenBytesPassesTheL1By) {
  for (const int width : {4, 16}) {
    const auto elements = static_cast<std::uint32_t>(width / 4);
    Rig rig(copies({copy(0, width), copy(1, width)}, elements));
    rig.source.write = [&](BlockRun& run) {
      run.trace.add_access(0) = copy_access(4096, 32 * elements);
      run.trace.add_access(1) = copy_access(4096, 32 * elements);
    };
    rig.run();
    EXPECT_EQ(rig.memory->sent.size(), width == 16 ? 2u : 1u);
    EXPECT_EQ(rig.sms[0]->lsu().load_sectors, 2u * 4u * elements);
    EXPECT_EQ(rig.sms[0]->lsu().load_sectors_hit, width == 16 ? 0u : 4u);
  }
}

TEST(AsyncCopy, WaitsLetTheLastGroupsBeUnderWay) {
  // The second group is asked for when the first has come.
  const Instruction close = op(Opcode::kLdgdepbar);
  Program p = make_program({copy(0, 16), close, copy(1, 16), close, wait(Opcode::kDepbar, 1),
                            op(Opcode::kFma), wait(Opcode::kDepbar, 0)},
                           1);
  p.sites = {vector_layout(4), vector_layout(4)};
  Rig rig(std::move(p));
  rig.params.mio.copies = 1;
  rig.params.mio.copy_latency = 100;
  rig.params.mio.copied_bytes_per_cycle = 128;
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = copy_access(4096, 128);
    run.trace.add_access(1) = copy_access(8192, 128);
  };
  rig.run();
  ASSERT_EQ(rig.memory->sent.size(), 2u);
  EXPECT_EQ(rig.memory->sent[1].at - rig.memory->sent[0].at, 100u);
  // The first is written at 113 to 116; the second, sent at 101, at 213 to 216; the warp learns of
  // each 100 cycles later.
  EXPECT_EQ(rig.sub().warp_cycles(), 218u + 100u);
  EXPECT_EQ(rig.stall(Stall::kLongScoreboard), (217u - 8u) + (317u - 219u));
}

TEST(AsyncCopy, TheSmTellsOneWarpAtATimeThatItsCopiesHaveCome) {
  const auto cycles = [](std::int64_t interval) {
    Program p = make_program({copy(0, 16), op(Opcode::kLdgdepbar), wait(Opcode::kDepbar, 0)}, 4);
    p.sites = {vector_layout(4)};
    Rig rig(std::move(p));
    rig.params.mio.copy_interval = interval;
    rig.source.write = [](BlockRun& run) { run.trace.add_access(0) = copy_access(4096, 512); };
    rig.run();
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < 4; ++i) last = std::max(last, rig.sub(i).warp_cycles());
    return last;
  };
  EXPECT_EQ(cycles(50) - cycles(0), 3u * 50u - 3u);  // four lines pass a cycle: a warp a cycle
}

TEST(AsyncCopy, LanesThatAreOffAreFilledWithZerosAndAskForNothing) {
  Rig none(copies({copy(0, 16)}, 4));
  none.source.write = [](BlockRun& run) {
    keep_first(run.trace.add_access(0) = copy_access(4096, 128), 0);
  };
  none.run();
  EXPECT_EQ(none.memory->sent.size(), 0u);
  EXPECT_EQ(none.sms[0]->lsu().load_requests, 0u);
  EXPECT_EQ(none.sms[0]->lsu().wavefronts, 4u);
  Rig half(copies({copy(0, 16)}, 4));
  half.source.write = [](BlockRun& run) {
    keep_first(run.trace.add_access(0) = copy_access(4096, 128), 64);
  };
  half.run();
  EXPECT_EQ(half.sms[0]->lsu().load_sectors, 8u);
  EXPECT_EQ(half.sms[0]->lsu().wavefronts, 2u);
  EXPECT_GT(half.sub().warp_cycles(), 113u);
}

TEST(AsyncCopy, MatricesMoveInAsManyWavefrontsAsTheyHaveBytesAndConflicts) {
  Instruction ldsm = op(Opcode::kLdsm);
  ldsm.width = 16;
  ldsm.sets = 0;
  ldsm.extra_passes = 4;
  Rig rig(make_program({ldsm, use(1)}, 1));
  rig.params.mio.shared_latency = 29;
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 1u + 7u + 29u + 4u + 1u);
  EXPECT_EQ(rig.sms[0]->lsu().wavefronts, 8u);
}

TEST(AsyncCopy, AFenceTakesItsTime) {
  Rig rig(make_program({op(Opcode::kFence)}, 1));
  rig.params.mio.proxy_fence_latency = 13;
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 14u);
  EXPECT_EQ(rig.stall(Stall::kMembar), 12u);
}

/// A loop of a matrix product: copies two trips ahead, a barrier, products of the trip before.
struct Pipeline : Rig {
  explicit Pipeline(std::uint64_t block_count) : Rig(make()) {
    blocks = block_count;
    params.count = 2;
    launch.block_latency = 40;
    source.write = [](BlockRun& run) {
      run.trace.add_decision(1, kTrips);
      for (std::uint64_t i = 0; i < kTrips; ++i) {
        run.trace.add_access(0) = copy_access(4096 + 65536 * run.index + 2048 * i, 512);
      }
    };
  }
  static constexpr std::int64_t kTrips = 9;
  static Program make() {
    Instruction entry = op(Opcode::kBra), back = op(Opcode::kBra);
    entry.branch = Branch::kLoopEntry;
    entry.site = back.site = 1;
    entry.target = 10;
    back.branch = Branch::kLoopBack;
    back.target = 1;
    Program p = make_program({entry, copy(0, 16), op(Opcode::kLdgdepbar), wait(Opcode::kDepbar, 2),
                              op(Opcode::kBar), op(Opcode::kWgArrive), wgmma(64), wgmma(64, true),
                              wait(Opcode::kWgDepbar, 1), back, wait(Opcode::kWgDepbar, 0)});
    p.sites = {vector_layout(4), {}};
    p.sites[0].warp_bases = {{128}, {256}};
    p.sites[0].shape = {512};
    return p;
  }
};

TEST(AsyncCopy, EveryCycleOfAPipelineIsCharged) {
  Pipeline rig(12);
  rig.run();
  for (const auto& sm : rig.sms) {
    for (std::uint32_t s = 0; s < kSubCores; ++s) {
      EXPECT_EQ(sm->sub_core(s).ledger().sum(), rig.dispatcher->end());
    }
    const LsuCounters& c = sm->lsu();
    EXPECT_EQ(c.load_sectors, c.sectors_done);
    EXPECT_EQ(c.sectors_requested, c.sectors_done);
  }
  EXPECT_EQ(rig.profile->executed[6], 12u * 4u * Pipeline::kTrips);
}

TEST(AsyncCopy, APipelineTakesTheSameTimeByWindowsAndCycleByCycle) {
  const auto sums = [](engine::Scheduler::Mode mode, engine::Cycle window) {
    Pipeline rig(12);
    rig.mode = mode;
    rig.window = window;
    rig.run();
    std::vector<std::uint64_t> all{rig.dispatcher->end()};
    for (auto& sm : rig.sms) {
      for (std::uint32_t s = 0; s < kSubCores; ++s) all.push_back(sm->sub_core(s).checksum());
    }
    return all;
  };
  const auto stepped = sums(engine::Scheduler::Mode::kTickAll, 1);
  EXPECT_EQ(sums(engine::Scheduler::Mode::kSkip, 1), stepped);
  EXPECT_EQ(sums(engine::Scheduler::Mode::kSkip, 40), stepped);
}

Instruction box_op(Opcode code, std::uint32_t site) {
  Instruction in = op(code);
  in.site = site;
  in.active_warps = 1;
  return in;
}
Instruction phase_wait(std::uint32_t site) {
  Instruction in = op(Opcode::kSyncsWait);
  in.site = site;
  return in;
}
/// Rows of 32 f32 that are 1024 bytes apart; the first `inside` of them lie in the tensor.
exec::Access box(std::int64_t rows, std::int64_t inside, exec::AccessKind kind,
                 std::int64_t phase = exec::kNoPhase) {
  exec::Access a = row_access(4096, 32, 4, kind);
  a.pointers.shape = {rows, 32};
  a.pointers.affine.digits[0].dim = 1;
  a.pointers.affine.digits.push_back({1024, 1, 0, 0});
  a.masked = true;
  a.mask.shape = a.pointers.shape;
  a.mask.form = exec::TileForm::kBox;
  a.mask.box.low = {0, 0};
  a.mask.box.high = {inside, 32};
  a.phase = phase;
  return a;
}
/// One warp announces a box (site 1), asks for it (site 0) and waits (site 2).
struct BoxRig : Rig {
  explicit BoxRig(int warps = 1)
      : Rig(make_program({box_op(Opcode::kSyncs, 1), box_op(Opcode::kUtma, 0), phase_wait(2)},
                         warps)) {
    params.tma.descriptor_latency = 0;
    params.tma.issue_latency = 28;
    params.tma.wait_latency = 43;
  }
};
void write_box(BlockRun& run, const exec::Access& access) {
  run.trace.add_access(0) = access;
  run.trace.add_decision(1, 0);
  run.trace.add_decision(2, 0);
  run.trace.add_phase_event(0);
  run.trace.add_phase_event(0);
}

TEST(Tma, ABoxHasArrivedWhenItsLastLineIsInSharedMemory) {
  BoxRig rig(4);
  rig.source.write = [](BlockRun& run) {
    write_box(run, box(2, 2, exec::AccessKind::kAsyncCopy, 0));
  };
  rig.run();
  // Asked for at 1, lines at 29 and 30, back at 129 and 130, in shared memory at 143; the
  // wait's 43.
  ASSERT_EQ(rig.memory->sent.size(), 2u);
  EXPECT_EQ(rig.memory->sent[1].at, rig.memory->sent[0].at + 1);
  for (std::uint32_t s = 0; s < kSubCores; ++s) EXPECT_EQ(rig.sub(s).warp_cycles(), 187u);
  EXPECT_EQ(rig.sms[0]->tma().sectors_done(), 8u);
  EXPECT_EQ(rig.sms[0]->lsu().load_sectors, 0u);
}

TEST(Tma, WhatLiesOutsideTheTensorIsNotAskedFor) {
  for (const std::int64_t inside : {0, 1}) {
    BoxRig rig;
    rig.source.write = [&](BlockRun& run) {
      write_box(run, box(2, inside, exec::AccessKind::kAsyncCopy, 0));
    };
    rig.run();
    EXPECT_EQ(rig.memory->sent.size(), static_cast<std::size_t>(inside));
    EXPECT_EQ(rig.sub().warp_cycles(), inside == 1 ? 186u : 29u + 43u + 1u);
  }
}

TEST(Tma, AWaitForWhatIsOverTakesOnlyItsOwnTime) {
  Rig rig(make_program({phase_wait(0)}, 1));
  rig.source.write = [](BlockRun& run) { run.trace.add_decision(0, exec::kNoPhase); };
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 44u);
}

TEST(Tma, LinesUnderWayAreBounded) {
  BoxRig rig;
  rig.params.tma.lines = 4;
  rig.source.write = [](BlockRun& run) {
    write_box(run, box(10, 10, exec::AccessKind::kAsyncCopy, 0));
  };
  rig.run();
  ASSERT_EQ(rig.memory->sent.size(), 10u);
  for (std::size_t i = 4; i < 10; ++i) {
    EXPECT_GE(rig.memory->sent[i].at, rig.memory->sent[i - 4].at + 100);
  }
  EXPECT_EQ(rig.sms[0]->tma().lines_under_way(), 0u);
}

TEST(Tma, AStoreLetsGoOfSharedMemoryBeforeItIsPerformed) {
  Program p = make_program({box_op(Opcode::kUtma, 0), wait(Opcode::kUtmaWait, 0)}, 1);
  Rig rig(std::move(p));
  rig.params.tma.descriptor_latency = 0;
  rig.params.tma.store_latency = 130;
  rig.params.tma.store_line_interval = 4;
  rig.source.write = [](BlockRun& run) {
    run.trace.add_access(0) = box(2, 2, exec::AccessKind::kStore);
  };
  rig.run();
  // Read from 130 to 138; written 100 cycles later, for which the launch waits but not the block.
  EXPECT_EQ(rig.sub().warp_cycles(), 139u);
  EXPECT_EQ(rig.sms[0]->block_cycles(), 139u);
  EXPECT_GE(rig.dispatcher->blocks_end(), 11 + 238u);
  EXPECT_EQ(rig.memory->sent[0].message.kind, memory::kWrite);
}

TEST(Tma, AWaitForStoresLetsTheLastBeUnderWay) {
  for (const int pending : {0, 1}) {
    Rig rig(make_program(
        {box_op(Opcode::kUtma, 0), box_op(Opcode::kUtma, 1), wait(Opcode::kUtmaWait, pending)}, 1));
    rig.params.tma.descriptor_latency = 0;
    rig.source.write = [](BlockRun& run) {
      run.trace.add_access(0) = box(2, 2, exec::AccessKind::kStore);
      run.trace.add_access(1) = box(16, 16, exec::AccessKind::kStore);
    };
    rig.run();
    EXPECT_EQ(rig.sub().warp_cycles(), pending == 1 ? 139u : 130u + 32u + 64u + 1u);
  }
}

TEST(Tma, BoxesOfManyBlocksAllArriveByWindowsAndCycleByCycle) {
  const auto sums = [](engine::Scheduler::Mode mode, engine::Cycle window) {
    BoxRig rig(4);
    rig.blocks = 9;
    rig.mode = mode;
    rig.window = window;
    rig.launch.block_latency = 40;
    rig.params.tma.lines = 8;
    rig.source.write = [](BlockRun& run) {
      write_box(run, box(20, 20 - static_cast<std::int64_t>(run.index % 3),
                         exec::AccessKind::kAsyncCopy, 0));
    };
    rig.run();
    EXPECT_EQ(rig.sms[0]->tma().sectors_requested(), rig.sms[0]->tma().sectors_done());
    EXPECT_EQ(rig.sub().ledger().sum(), rig.dispatcher->end());
    std::vector<std::uint64_t> all{rig.dispatcher->end()};
    for (std::uint32_t s = 0; s < kSubCores; ++s) all.push_back(rig.sub(s).checksum());
    return all;
  };
  const auto stepped = sums(engine::Scheduler::Mode::kTickAll, 1);
  EXPECT_EQ(sums(engine::Scheduler::Mode::kSkip, 1), stepped);
  EXPECT_EQ(sums(engine::Scheduler::Mode::kSkip, 40), stepped);
}

TEST(AsyncGroups, AreCompleteInOrder) {
  AsyncGroups g;
  g.begin();
  const std::uint8_t first = g.open();
  g.close(0);
  g.add(50);
  g.close(1);
  EXPECT_EQ(g.ready(2), 0u);
  EXPECT_EQ(g.ready(1), AsyncGroups::kUnknown);
  EXPECT_EQ(g.ready(0), AsyncGroups::kUnknown);
  g.end(first, 70);
  EXPECT_EQ(g.ready(1), 70u);
  EXPECT_EQ(g.ready(0), 70u);
}

TEST(AsyncGroups, MoreThanItTellsApartCountAsOne) {
  AsyncGroups g;
  for (int i = 0; i < 1000; ++i) {
    g.begin();
    g.close(0);
  }
  EXPECT_EQ(g.ready(255), 0u);
  EXPECT_EQ(g.ready(254), AsyncGroups::kUnknown);
}

}  // namespace
}  // namespace xpusim::gpu::test
