// Control words of small programs, worked out by hand.

#include <gtest/gtest.h>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

Instruction make(Opcode op, std::vector<std::uint16_t> dst, std::vector<std::uint16_t> src) {
  Instruction i;
  i.op = op;
  i.dst = std::move(dst);
  i.src = std::move(src);
  return i;
}

CompilerParams params() {
  CompilerParams p;
  p.alu_latency = p.fma_latency = 4;
  p.predicate_latency = 13;
  return p;
}

TEST(Control, ADependentPairOfAddsIssuesFourCyclesApart) {
  std::vector<Instruction> code = {make(Opcode::kFma, {2}, {0, 1}), make(Opcode::kFma, {3}, {2, 2}),
                                   make(Opcode::kExit, {}, {})};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 4);
  EXPECT_EQ(code[1].stall, 1);
}

TEST(Control, IndependentInstructionsInBetweenHideTheLatency) {
  std::vector<Instruction> code = {make(Opcode::kFma, {2}, {0, 1}), make(Opcode::kFma, {3}, {0, 1}),
                                   make(Opcode::kFma, {4}, {0, 1}),
                                   make(Opcode::kFma, {5}, {2, 2})};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 1);
  EXPECT_EQ(code[1].stall, 1);
  EXPECT_EQ(code[2].stall, 2);  // issues at 2, its successor at 4
}

TEST(Control, AGuardWaitsForItsPredicateThirteenCycles) {
  std::vector<Instruction> code = {make(Opcode::kAlu, {}, {0}), make(Opcode::kExit, {}, {})};
  code[0].pdst = {3};
  code[1].guard = 3;
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 13);
}

TEST(Control, LoadsRaiseScoreboardsThatTheirReadersWaitFor) {
  std::vector<Instruction> code = {make(Opcode::kLdg, {4}, {0, 1}), make(Opcode::kLdg, {5}, {2, 3}),
                                   make(Opcode::kFma, {6}, {4, 4}),
                                   make(Opcode::kFma, {7}, {5, 6})};
  set_control(code, params());
  EXPECT_EQ(code[0].sets, 0);
  EXPECT_EQ(code[1].sets, 1);
  EXPECT_EQ(code[2].wait_mask, 0b01);
  EXPECT_EQ(code[3].wait_mask, 0b10);
  EXPECT_EQ(code[2].stall, 4);
}

TEST(Control, ASeventhLoadSharesTheScoreboardOfTheSixth) {
  std::vector<Instruction> code;
  for (std::uint16_t r = 0; r < 7; ++r) code.push_back(make(Opcode::kLdg, {r}, {20, 21}));
  code.push_back(make(Opcode::kFma, {30}, {6, 6}));
  set_control(code, params());
  EXPECT_EQ(code[5].sets, 5);
  EXPECT_EQ(code[6].sets, 5);
  EXPECT_EQ(code[7].wait_mask, 0b100000);
}

TEST(Control, OverwritingTheSourceOfAStoreWaitsUntilItIsRead) {
  std::vector<Instruction> code = {make(Opcode::kStg, {}, {0, 1, 4}),
                                   make(Opcode::kFma, {4}, {2, 3})};
  set_control(code, params());
  EXPECT_EQ(code[0].sets, kNoScoreboard);
  EXPECT_EQ(code[0].reads, 0);
  EXPECT_EQ(code[1].wait_mask, 0b1);
}

TEST(Control, AResultThatIsReadFirstNeedsNoReadScoreboard) {
  std::vector<Instruction> code = {make(Opcode::kLdg, {4}, {0, 1}), make(Opcode::kFma, {5}, {4, 4}),
                                   make(Opcode::kFma, {0}, {5, 5})};
  set_control(code, params());
  EXPECT_EQ(code[0].reads, kNoScoreboard);
}

TEST(Control, LoadsReadTheirAddressesBeforeLaterLoadsOverwriteThem) {
  std::vector<Instruction> code = {make(Opcode::kLdg, {4}, {0, 1}), make(Opcode::kLdg, {5}, {0, 1}),
                                   make(Opcode::kLdg, {0}, {0, 1}), make(Opcode::kFma, {1}, {6, 6}),
                                   make(Opcode::kFma, {7}, {4, 5})};
  set_control(code, params());
  EXPECT_EQ(code[2].wait_mask, 0);                        // in order
  EXPECT_EQ(code[1].reads, kNoScoreboard);                // code[2] reads after it
  EXPECT_NE(code[3].wait_mask & 1u << code[2].reads, 0);  // the FMA pipe may be ahead
}

TEST(Control, WhatStandsForAReadIsNotTheResultsOwnScoreboard) {
  std::vector<Instruction> code;
  for (std::uint16_t r = 0; r < 8; ++r) {
    const auto address = static_cast<std::uint16_t>(20 + 2 * r);
    code.push_back(make(Opcode::kLdg, {r}, {address}));
    code.push_back(make(Opcode::kFma, {address}, {50, 50}));
  }
  for (std::uint16_t r = 0; r < 8; ++r) code.push_back(make(Opcode::kFma, {60}, {r, r}));
  set_control(code, params());
  for (const Instruction& i : code) {
    if (i.op != Opcode::kLdg) continue;
    EXPECT_NE(i.reads, kNoScoreboard);
    EXPECT_NE(i.reads, i.sets);
  }
}

TEST(Control, AnOverwriteWaitsForTheResultStillUnderWay) {
  std::vector<Instruction> code = {make(Opcode::kLdg, {4}, {0, 1}), make(Opcode::kAlu, {4}, {2})};
  set_control(code, params());
  EXPECT_EQ(code[1].wait_mask, 0b1);
}

TEST(Control, UniformResultsTakeLongerToReachTheLanes) {
  CompilerParams p = params();
  p.uniform_latency = 6;
  p.uniform_to_vector_latency = 12;
  std::vector<Instruction> code = {make(Opcode::kUniform, {}, {}), make(Opcode::kUniform, {}, {}),
                                   make(Opcode::kAlu, {0}, {})};
  code[0].udst = {4};
  code[1].usrc = {4};
  code[1].udst = {5};
  code[2].usrc = {5};
  set_control(code, p);
  EXPECT_EQ(code[0].stall, 6);
  EXPECT_EQ(code[1].stall, 12);
}

TEST(Control, APredicateThatIsAnOperandComesAsFastAsANumber) {
  std::vector<Instruction> code = {make(Opcode::kAlu, {}, {0}), make(Opcode::kAlu, {1}, {0})};
  code[0].pdst = {3};
  code[1].psrc = {3};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 4);
}

TEST(Control, AResultTakesACycleMoreToAnotherPipe) {
  std::vector<Instruction> code = {make(Opcode::kAlu, {2}, {0}), make(Opcode::kFma, {3}, {2}),
                                   make(Opcode::kStg, {}, {0, 1, 3}), make(Opcode::kFma, {4}, {0}),
                                   make(Opcode::kMufu, {5}, {4})};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 5);
  EXPECT_EQ(code[1].stall, 5);
  EXPECT_EQ(code[3].stall, 4);  // but for the XU
}

TEST(Control, UnitsTakeNewWorkEveryFewCycles) {
  std::vector<Instruction> code = {make(Opcode::kAlu, {2}, {0}), make(Opcode::kAlu, {3}, {0}),
                                   make(Opcode::kLdc, {4}, {}), make(Opcode::kFma, {5}, {0}),
                                   make(Opcode::kLdc, {6}, {})};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 2);
  EXPECT_EQ(code[1].stall, 1);
  EXPECT_EQ(code[2].stall, 1);
  EXPECT_EQ(code[3].stall, 7);  // eight after the first LDC
}

TEST(Control, AWideMultiplyAddHoldsTheMultiplierFourCycles) {
  std::vector<Instruction> code = {make(Opcode::kFma, {2}, {0}), make(Opcode::kFma, {4}, {0}),
                                   make(Opcode::kFma, {5}, {0})};
  code[0].mnemonic = code[1].mnemonic = "IMAD.WIDE";
  code[2].mnemonic = "FADD";
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 4);
  EXPECT_EQ(code[1].stall, 1);
}

TEST(Control, AccessesToMemoryAreFourCyclesApart) {
  std::vector<Instruction> code = {make(Opcode::kLdg, {4}, {0, 1}), make(Opcode::kLds, {5}, {2}),
                                   make(Opcode::kAlu, {7}, {3}), make(Opcode::kShfl, {6}, {2})};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 4);
  EXPECT_EQ(code[1].stall, 1);
  EXPECT_EQ(code[2].stall, 3);
}

TEST(Control, WhatWaitsForAScoreboardComesNoSoonerThanItIsRaised) {
  std::vector<Instruction> code = {make(Opcode::kShfl, {5}, {2}), make(Opcode::kFma, {6}, {5})};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 2);
}

TEST(Control, BehindABarrierMemoryWaitsAndArithmeticDoesNot) {
  std::vector<Instruction> code = {make(Opcode::kBar, {}, {}), make(Opcode::kAlu, {7}, {3}),
                                   make(Opcode::kLds, {5}, {2})};
  set_control(code, params());
  EXPECT_EQ(code[0].stall, 1);
  EXPECT_EQ(code[1].stall, 5);  // six after the barrier
}

}  // namespace
}  // namespace xpusim::gpu
