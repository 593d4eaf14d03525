#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/gpu/program/program.h"

namespace xpusim::gpu {
namespace {

Program small_program() {
  Program p;
  p.name = "copy \"one\" \\ line";
  p.num_warps = 2;
  p.registers_per_thread = 16;
  p.shared_bytes = 64;
  p.lines = {{"a b.py", 3, 4}, {"", 0, 0}};
  SiteLayout site;
  site.shape = {8, 32};
  site.vectors = 2;
  site.vector_elements = 4;
  site.vector_dim = 1;
  site.reg_bases = {{4, 0}};
  site.lane_bases = {{0, 4}, {0, 8}, {0, 16}, {1, 0}, {2, 0}};
  site.warp_bases = {{0, 0}};
  site.skip_warps = 1;
  p.sites = {{}, site};
  Instruction load;
  load.op = Opcode::kLdg;
  load.mnemonic = "LDG.E.128";
  load.dst = {4, 5, 6, 7};
  load.src = {2, 3};
  load.usrc = {4};
  load.guard = 0;
  load.guard_negated = true;
  load.stall = 2;
  load.wait_mask = 0b100001;
  load.sets = 3;
  load.reads = 0;
  load.site = 1;
  load.vector = 1;
  load.width = 16;
  load.line = 1;
  Instruction store;
  store.op = Opcode::kSts;
  store.mnemonic = "STS";
  store.src = {4};
  store.psrc = {2};
  store.pdst = {1};
  store.udst = {9};
  store.active_warps = 1;
  store.active_lanes = 4;
  store.extra_passes = 3;
  store.shared_lanes = 0;
  store.shared_offset = 128;
  SharedLanes lanes;
  lanes.base = 256;
  lanes.lanes.assign(kWarpLanes, 8);
  lanes.lanes[31] = SharedLanes::kOff;
  lanes.warps = {64};
  lanes.paddings = {{128, 4}};
  p.shared_lanes = {lanes};
  Instruction branch;
  branch.op = Opcode::kBra;
  branch.mnemonic = "BRA";
  branch.branch = Branch::kLoopBack;
  branch.target = 1;
  branch.site = 7;
  Instruction exit;
  exit.op = Opcode::kExit;
  exit.mnemonic = "EXIT";
  Instruction part;
  part.op = Opcode::kBra;
  part.mnemonic = "BRA";
  part.branch = Branch::kToGroup;
  Instruction meet;
  meet.op = Opcode::kBar;
  meet.mnemonic = "BAR.SYNC";
  meet.barrier = 15;
  meet.meeting = 2;
  p.code = {load, store, branch, part, meet, exit};
  p.groups = {{0, 1, 16, 0}, {1, 1, 24, 4}};
  return p;
}

TEST(ProgramText, APrintedProgramReadsBackTheSame) {
  const Program p = small_program();
  const auto q = parse_program(print(p), "p.warp");
  ASSERT_TRUE(q) << q.error().str();
  EXPECT_EQ(q->name, p.name);
  EXPECT_EQ(q->code, p.code);
  EXPECT_EQ(q->sites, p.sites);
  EXPECT_EQ(q->shared_lanes, p.shared_lanes);
  EXPECT_EQ(q->groups, p.groups);
  EXPECT_EQ(print(*q), print(p));
}

TEST(ProgramText, TheControlWordReadsLikeADisassemblers) {
  EXPECT_THAT(
      print(small_program()),
      ::testing::HasSubstr("[B0----5:R0:W3:S02] @!P0 ldg LDG.E.128 R4,R5,R6,R7 <- R2,R3,UR4 "
                           "site=1 vector=1 width=16 line=1"));
}

TEST(ProgramText, OffsetsInSharedMemoryAreJoinedByExclusiveOrThenPadded) {
  const auto at = small_program().shared_lanes[0].at(128, 1);
  EXPECT_EQ(at[0], 256 + (8 ^ 64 ^ 128) + 4);  // 200 bytes: one padding
  EXPECT_EQ(at[31], SharedLanes::kOff);
}

TEST(ProgramText, AnInstructionForPeopleHasNoControlWord) {
  EXPECT_EQ(brief(small_program().code[0]), "@!P0 LDG.E.128 R4..R7 <- R2, R3, UR4");
  EXPECT_EQ(brief(small_program().code[2]), "BRA 1");
}

std::string first_error(const std::string& code) {
  const auto p = parse_program("schema: xpusim.warp_program/1\ncode:\n" + code, "p.warp");
  return p ? "" : p.error().list()[0].str();
}

TEST(ProgramText, MistakesAreNamedWhereTheyStand) {
  EXPECT_EQ(first_error("  0: [B------:R-:W-:S01] fam FADD R1 <- R2\n"),
            "p.warp:3:30: error: unknown kind of instruction 'fam'; did you mean 'fma'?");
  EXPECT_EQ(first_error("  0: [B------:R-:W9:S01] fma FADD\n"),
            "p.warp:3:19: error: expected a scoreboard, a number from 0 to 5");
  EXPECT_EQ(first_error("  1: [B------:R-:W-:S01] fma FADD\n"),
            "p.warp:3:34: error: expected entry number 0");
  EXPECT_EQ(first_error("  0: [B------:R-:W-:S01] fma FADD X3\n"),
            "p.warp:3:37: error: expected '='");
  EXPECT_EQ(first_error("  0: [B------:R-:W-:S01] ldg LDG.E R1 <- R2 site=4\n"),
            "p.warp:3:1: error: there is no site 4");
  EXPECT_EQ(first_error("  0: [B------:R-:W-:S01] lds LDS R1 <- R2 at=1 offset=0\n"),
            "p.warp:3:1: error: there are no shared_lanes 1");
  EXPECT_EQ(first_error("  0: [B------:R-:W-:S01] bra BRA target=5 branch=always\n"),
            "p.warp:3:1: error: a branch to nowhere");
  EXPECT_EQ(first_error("  0: [B------:R-:W-:S99] fma FADD\n"),
            "p.warp:3:22: error: expected a stall count, a number from 0 to 63");
}

TEST(ProgramText, GroupsAreTheWarpsOneAfterAnother) {
  for (const std::string second : {"first=2 warps=1", "first=1 warps=2"}) {
    const auto p = parse_program(
        "schema: xpusim.warp_program/1\nwarps: 2\ngroups:\n"
        "  0: first=0 warps=1 registers=16 begin=0\n  1: " +
            second + " registers=16 begin=0\ncode:\n  0: [B------:R-:W-:S01] exit EXIT\n",
        "p.warp");
    ASSERT_FALSE(p);
    EXPECT_EQ(p.error().list()[0].str(),
              "p.warp:1:1: error: the groups are not the block's warps, one after another");
  }
}

TEST(ProgramText, ATextWithoutSchemaIsRefused) {
  const auto p = parse_program("name: \"x\"\n", "p.warp");
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().list()[0].str(),
            "p.warp:1:1: error: expected 'schema: xpusim.warp_program/1'");
}

}  // namespace
}  // namespace xpusim::gpu
