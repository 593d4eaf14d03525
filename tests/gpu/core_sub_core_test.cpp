// Hand-computed cycles of tiny programs on one SM.

#include "models/gpu/core/chip.h"
#include "tests/gpu/core_harness.h"

namespace xpusim::gpu::test {
namespace {

Program program(std::vector<Instruction> code, int warps = 1) {
  return make_program(std::move(code), warps);
}

std::vector<Instruction> repeat(Instruction in, int n) {
  return std::vector<Instruction>(static_cast<std::size_t>(n), in);
}

TEST(SubCore, ADependentChainIssuesEveryStallCount) {
  Rig rig(program(repeat(op(Opcode::kFma, 4), 10)));
  rig.run();
  // Issue at 0, 4, ..., 36; the exit at 40.
  EXPECT_EQ(rig.sub().warp_cycles(), 41u);
  EXPECT_EQ(rig.stall(Stall::kIssued), 11u);
  EXPECT_EQ(rig.stall(Stall::kWait), 30u);
}

TEST(SubCore, TwoWarpsFillEachOthersGaps) {
  Rig rig(program(repeat(op(Opcode::kFma, 4), 10), 5));  // warps 0 and 4 share sub-core 0
  rig.run();
  EXPECT_EQ(rig.sub(0).active_cycles(), 42u);  // the second warp runs one cycle behind
  EXPECT_EQ(rig.sub(0).warp_cycles(), 41u + 42u);
  EXPECT_EQ(rig.sub(0).warp_stall(Stall::kNotSelected), 1u);
  EXPECT_EQ(rig.sub(1).active_cycles(), 41u);
}

/// Cycles from the first to the last of `n` instructions of each of four warps of one sub-core.
std::uint64_t fma_cycles(const std::vector<std::string>& mnemonics, int n) {
  std::vector<Instruction> code;
  for (int i = 0; i < n; ++i) {
    code.push_back(op(Opcode::kFma));
    code.back().mnemonic = mnemonics[static_cast<std::size_t>(i) % mnemonics.size()];
  }
  Rig rig(program(code, 16));
  rig.params.pipes.fma_interval = 1;
  rig.params.pipes.imad_interval = 2;
  rig.run();
  return rig.sub(0).active_cycles();
}

TEST(SubCore, OneHalfOfTheFmaPipeMultipliesIntegers) {
  EXPECT_NEAR(static_cast<double>(fma_cycles({"FFMA"}, 100)), 400, 12);
  EXPECT_NEAR(static_cast<double>(fma_cycles({"IMAD"}, 100)), 800, 12);
  EXPECT_NEAR(static_cast<double>(fma_cycles({"IMAD.WIDE"}, 100)), 1600, 12);
  EXPECT_NEAR(static_cast<double>(fma_cycles({"IMAD", "FFMA"}, 100)), 400, 30);  // the other half
}

TEST(SubCore, TheSpecialFunctionUnitTakesOneWarpEveryEightCycles) {
  Rig rig(program(repeat(op(Opcode::kMufu), 6)));
  rig.params.pipes.xu_interval = 8;
  rig.params.pipes.xu_queue = 2;
  rig.run();
  // The unit begins at 0, 8, 16, 24, ...; an instruction enters the queue when the one two before
  // it has begun: 0, 1, 2 (that of 0 has begun), 8, 16, 24; exit at 25.
  EXPECT_EQ(rig.sub().warp_cycles(), 26u);
  EXPECT_EQ(rig.stall(Stall::kMioThrottle), 5u + 7u + 7u);
}

TEST(SubCore, AResultOfTheSpecialFunctionUnitIsWaitedForByScoreboard) {
  Instruction mufu = op(Opcode::kMufu);
  mufu.sets = 2;
  Instruction add = op(Opcode::kFma, 4);
  add.wait_mask = 1u << 2;
  Rig rig(program({mufu, add}));
  rig.params.pipes.xu_latency = 18;
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 23u);  // 0, 18, exit at 22
  EXPECT_EQ(rig.stall(Stall::kShortScoreboard), 17u);
}

TEST(SubCore, ABarrierReleasesAllWarpsAfterTheLastHasCome) {
  Rig rig(program({op(Opcode::kBar)}, 2));  // on sub-cores 0 and 1
  rig.launch.warp_interval = 10;
  rig.params.mio.barrier_latency = 30;
  rig.run();
  EXPECT_EQ(rig.sub(0).warp_cycles(), 41u);  // arrives at 0, goes on at 10 + 30
  EXPECT_EQ(rig.sub(1).warp_cycles(), 41u);
  EXPECT_EQ(rig.sub(0).warp_stall(Stall::kBarrier), 39u);
  EXPECT_EQ(rig.sub(1).warp_stall(Stall::kBarrier), 29u);
  EXPECT_EQ(rig.sub(1).warp_stall(Stall::kLaunch), 10u);
}

TEST(SubCore, ArrivalsAtBarriersAreCountedOneAfterAnother) {
  Rig rig(program({op(Opcode::kBar)}, 8));
  rig.params.mio.barrier_latency = 14;
  rig.params.mio.barrier_interval = 2;
  rig.run();
  // Two warps a sub-core come at 0 and 1; the last of eight is counted at 14.
  EXPECT_EQ(rig.sub(0).warp_cycles(), 29u + 30u);
}

/// Two groups of two warps: the first runs `first`, the second `second`.
Program two_groups(std::vector<Instruction> first, std::vector<Instruction> second) {
  Instruction part = op(Opcode::kBra);
  part.branch = Branch::kToGroup;
  std::vector<Instruction> code{part};
  code.insert(code.end(), first.begin(), first.end());
  code.push_back(op(Opcode::kExit));
  const auto begin = static_cast<int>(code.size());
  code.insert(code.end(), second.begin(), second.end());
  Program p = program(std::move(code), 4);
  p.groups = {{0, 2, 16, 0}, {2, 2, 16, begin}};
  return p;
}

Instruction meet(int barrier, int warps) {
  Instruction in = op(Opcode::kBar);
  in.barrier = static_cast<std::uint8_t>(barrier);
  in.meeting = static_cast<std::uint8_t>(warps);
  return in;
}

TEST(SubCore, ANamedBarrierCountsItsOwnWarpsOnly) {
  Rig rig(two_groups({meet(0, 2)}, {op(Opcode::kAlu, 9), meet(2, 2), meet(1, 0)}));
  rig.launch.warp_interval = 10;
  rig.params.mio.barrier_latency = 30;
  rig.params.mio.barrier_interval = 0;
  rig.params.fetch.branch_latency = 5;
  rig.run();
  // Warps 0 and 1 meet at 1 and 11, and go on at 41 to their exit: they do not wait for the others.
  EXPECT_EQ(rig.sub(0).warp_cycles(), 42u);
  EXPECT_EQ(rig.sub(1).warp_cycles(), 42u);
  // Warps 2 and 3 begin at 20 and 30, branch for 5 cycles, compute for 9, meet at 34 and 44 until
  // 74, and then all that are left, themselves, until 105: the MIO takes one of them after the
  // other.
  EXPECT_EQ(rig.sub(2).warp_cycles(), 106u);
  EXPECT_EQ(rig.sub(3).warp_cycles(), 106u);
  EXPECT_EQ(rig.sub(2).warp_stall(Stall::kBarrier), 39u + 30u);
}

TEST(SubCore, AWarpWaitsForRegistersUntilOthersHaveGivenThemUp) {
  const auto registers = [](int n) {
    Instruction in = op(Opcode::kSetMaxReg);
    in.width = static_cast<std::uint16_t>(n);
    return in;
  };
  // Each warp of the first group wants 8 more, each of the second gives up 8.
  Rig rig(two_groups({registers(24)}, {op(Opcode::kAlu, 50), registers(8)}));
  rig.params.fetch.branch_latency = 5;
  rig.run();
  // The others come at 5, give up at 55; from 56 there are enough.
  EXPECT_EQ(rig.sub(0).warp_cycles(), 57u);
  EXPECT_EQ(rig.sub(2).warp_cycles(), 57u);
  EXPECT_EQ(rig.sub(0).warp_stall(Stall::kWarpgroup), 54u);
}

TEST(SubCore, WarpsOfAGroupAreNumberedByThemselvesForTheirAccesses) {
  Instruction load = op(Opcode::kLdg);
  load.site = 0;
  load.sets = 0;
  Program p = two_groups({}, {load});
  p.sites.push_back(row_layout(2));
  Rig rig(std::move(p));
  rig.source.write = [](BlockRun& run) { run.trace.add_access(0) = row_access(4096, 64); };
  rig.run();
  EXPECT_EQ(rig.memory->sent.size(), 2u);  // a line a warp: 64 elements of 4 bytes
}

TEST(SubCore, AnExitedWarpIsNotWaitedForAtABarrier) {
  // Warp 1's half of the site is masked off, so it leaves at the guarded exit.
  Instruction leave = op(Opcode::kExit);
  leave.site = 0;
  Program p = program({leave, op(Opcode::kBar)}, 2);
  p.sites.push_back(row_layout(2));
  Rig rig(std::move(p));
  rig.source.write = [](BlockRun& run) {
    exec::Access a = row_access(4096, 64);
    a.masked = true;
    a.mask.shape = {64};
    a.mask.dtype = kernel::DType::kI1;
    a.mask.form = exec::TileForm::kBox;
    a.mask.box.low.push_back(0);
    a.mask.box.high.push_back(32);
    run.trace.add_access(0) = a;
  };
  rig.run();
  EXPECT_EQ(rig.sub(0).issued(), 3u);
  EXPECT_EQ(rig.sub(1).issued(), 1u);
  EXPECT_EQ(rig.sub(0).warp_cycles(), 32u);  // exit guard 0, barrier 1, exit at 31
}

TEST(SubCore, ALoopRunsAsOftenAsTheTraceSays) {
  Instruction entry = op(Opcode::kBra), back = op(Opcode::kBra);
  entry.branch = Branch::kLoopEntry;
  entry.site = back.site = 0;
  entry.target = 3;
  back.branch = Branch::kLoopBack;
  back.target = 1;
  for (std::int64_t trips : {0, 1, 7}) {
    Rig rig(program({entry, op(Opcode::kFma, 4), back}));
    rig.source.write = [&](BlockRun& run) { run.trace.add_decision(0, trips); };
    rig.run();
    EXPECT_EQ(rig.profile->executed[1], static_cast<std::uint64_t>(trips));
    EXPECT_EQ(rig.profile->executed[2], static_cast<std::uint64_t>(trips));
    EXPECT_EQ(rig.profile->executed[3], 1u);
  }
}

TEST(SubCore, AnEffectTakesPlaceOnceWhenTheFirstWarpIssuesIt) {
  // while (cas fails): both warps go round three times; each round's atomic is one effect.
  Instruction cas = op(Opcode::kAtom);
  cas.site = 0;
  cas.width = 4;
  cas.sets = 0;
  Instruction leave = op(Opcode::kBra, 1), back = op(Opcode::kBra, 1);
  leave.branch = Branch::kIfZero;
  leave.site = 1;
  leave.target = 3;
  leave.wait_mask = 1;
  back.target = 0;
  Program p = program({cas, leave, back}, 2);
  p.sites.resize(2);
  p.sites[0] = row_layout(1);
  Rig rig(std::move(p));
  std::vector<engine::Cycle> effects;
  rig.source.write = [](BlockRun& run) {
    run.effect_site = 0;
    run.effect_occurrence = 0;
    run.trace.add_access(0) = row_access(4096, 32);
  };
  rig.source.go_on = [&](BlockRun& run) {
    effects.push_back(rig.domain->scheduler().now());
    const auto round = static_cast<std::uint32_t>(effects.size());
    run.trace.add_decision(1, round < 3 ? 1 : 0);
    if (round < 3) run.trace.add_access(0) = row_access(4096, 32);
    run.effect_site = round < 3 ? 0 : ~0u;
    run.effect_occurrence = round;
    return round <= 3;
  };
  rig.run();
  EXPECT_EQ(rig.profile->executed[0], 6u);
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_GT(effects[1], effects[0] + 100);  // not before the first one has come back
  EXPECT_GT(effects[2], effects[1] + 100);
}

TEST(SubCore, ATakenBranchWaitsForItsTarget) {
  Instruction jump = op(Opcode::kBra);
  jump.target = 1;
  Rig rig(program({jump}));
  rig.params.fetch.branch_latency = 12;
  rig.run();
  EXPECT_EQ(rig.sub().warp_cycles(), 13u);
  EXPECT_EQ(rig.stall(Stall::kBranch), 11u);
}

TEST(SubCore, TheFirstPassWaitsForTheInstructionCache) {
  Rig rig(program(repeat(op(Opcode::kFma), 16)));  // two lines, and the exit's
  rig.params.fetch.miss_latency = 100;
  rig.params.fetch.prefetch_lines = 1;
  rig.params.fetch.line_interval = 20;
  rig.run();
  // Line 0 at 100 (with line 1 at 120), issue 100-107, 120-127; line 2 is asked for when line 1 is
  // entered at 108: 208.
  EXPECT_EQ(rig.sub().warp_cycles(), 209u);
  EXPECT_EQ(rig.sms[0]->instruction_lines_fetched(), 3u);
  EXPECT_EQ(rig.stall(Stall::kNoInstruction), 100u + 12u + 80u);
}

TEST(SubCore, EveryCycleIsChargedToOneReason) {
  Instruction mufu = op(Opcode::kMufu);
  mufu.sets = 0;
  Instruction use = op(Opcode::kAlu, 5);
  use.wait_mask = 1;
  Rig rig(program({mufu, use, op(Opcode::kBar), mufu, use}, 8));
  rig.blocks = 20;
  rig.run();
  for (std::uint32_t s = 0; s < kSubCores; ++s) {
    EXPECT_EQ(rig.sub(s).ledger().sum(), rig.dispatcher->end());
    EXPECT_EQ(rig.sub(s).ledger().lived(), rig.dispatcher->end());
  }
  std::uint64_t issued = 0;
  for (std::uint64_t n : rig.profile->executed) issued += n;
  EXPECT_EQ(issued, 20u * 8u * 6u);
}

TEST(SubCore, SkippingIdleCyclesChangesNothing) {
  const auto checksum = [](engine::Scheduler::Mode mode, engine::Cycle window) {
    Instruction load = op(Opcode::kLdg);
    load.site = 0;
    load.sets = 1;
    load.width = 4;
    Instruction mufu = op(Opcode::kMufu);
    mufu.wait_mask = 2;
    mufu.sets = 0;
    Instruction use = op(Opcode::kAlu, 5);
    use.wait_mask = 1;
    Program p = program({load, mufu, use, op(Opcode::kBar), op(Opcode::kFma, 4)}, 4);
    p.sites.push_back(row_layout(4));
    Rig rig(std::move(p));
    rig.params.count = 3;
    rig.blocks = 100;
    rig.mode = mode;
    rig.window = window;
    rig.launch.block_latency = 40;
    rig.source.write = [](BlockRun& run) {
      run.trace.add_access(0) = row_access(4096 + 512 * (run.index % 7), 128);
    };
    rig.run();
    std::vector<std::uint64_t> sums{rig.dispatcher->end()};
    for (auto& sm : rig.sms) {
      for (std::uint32_t s = 0; s < kSubCores; ++s) sums.push_back(sm->sub_core(s).checksum());
    }
    return sums;
  };
  const auto stepped = checksum(engine::Scheduler::Mode::kTickAll, 1);
  EXPECT_EQ(checksum(engine::Scheduler::Mode::kSkip, 1), stepped);
  for (const engine::Cycle window : {2, 7, 32, 40}) {
    EXPECT_EQ(checksum(engine::Scheduler::Mode::kSkip, window), stepped) << window;
    EXPECT_EQ(checksum(engine::Scheduler::Mode::kTickAll, window), stepped) << window;
  }
}

TEST(SubCore, EffectsThatBlocksWaitForKeepTheOrderOfCycles) {
  const auto window = [](Opcode opcode) {
    Instruction access = op(opcode);
    access.site = 0;
    Program p = program({access});
    p.sites = {row_layout(1)};
    const auto image = decode(p);
    EXPECT_TRUE(image);
    return window_of(*image, 60);
  };
  EXPECT_EQ(window(Opcode::kAtom), 1u);
  EXPECT_EQ(window(Opcode::kRed), 60u);
  EXPECT_EQ(window(Opcode::kLdg), 60u);
}

}  // namespace
}  // namespace xpusim::gpu::test
