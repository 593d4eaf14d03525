// Lowering of conversions, division, layouts and loops: instruction counts worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

/// A kernel of four warps over pointers %f (f32), %h (bf16), %o (f32) and a number %n.
std::string kernel_text(const std::string& body) {
  return R"(#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#one = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#row = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#turned = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%f: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %h: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #b>
    %fs = tt.splat %f : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
    %hs = tt.splat %h : !tt.ptr<bf16> -> tensor<512x!tt.ptr<bf16>, #b>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
    %fp = tt.addptr %fs, %r : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    %hp = tt.addptr %hs, %r : tensor<512x!tt.ptr<bf16>, #b>, tensor<512xi32, #b>
    %op = tt.addptr %os, %r : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
)" + body +
         R"(    tt.return
  }
}
)";
}

Expected<Program> compile_body(const std::string& body) {
  return test::compile_text(kernel_text(body));
}

std::map<std::string, int> counts(const std::string& body) {
  return test::count_mnemonics(kernel_text(body));
}

TEST(LowerFloats, TwoBf16ElementsAWordAreWidenedByShiftsAndAPermuteForTheUpper) {
  auto n = counts(R"(    %x = tt.load %hp : tensor<512x!tt.ptr<bf16>, #b>
    %y = arith.extf %x : tensor<512xbf16, #b> to tensor<512xf32, #b>
    tt.store %op, %y : tensor<512x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["LDG.E.64"], 1);  // four elements of two bytes
  EXPECT_EQ(n["PRMT"], 2);
  EXPECT_EQ(n["SHF.L"] + n["IMAD.SHL.U32"], 4 + 1);  // and the thread's index
  EXPECT_EQ(n["STG.E.128"], 1);
}

TEST(LowerFloats, NarrowingPacksTwoElementsAnInstruction) {
  auto n = counts(R"(    %x = tt.load %fp : tensor<512x!tt.ptr<f32>, #b>
    %y = arith.truncf %x : tensor<512xf32, #b> to tensor<512xbf16, #b>
    tt.store %hp, %y : tensor<512x!tt.ptr<bf16>, #b>
)");
  EXPECT_EQ(n["F2FP.BF16.PACK_AB"], 2);
  EXPECT_EQ(n["PRMT"], 0);
  EXPECT_EQ(n["STG.E.64"], 1);
}

/// Instructions that a quotient (or remainder) of the index by a constant adds, as an address.
std::map<std::string, int> divided(const std::string& op, int by) {
  return counts("    %c = arith.constant dense<" + std::to_string(by) +
                "> : tensor<512xi32, #b>\n    %q = " + op +
                " %r, %c : tensor<512xi32, #b>\n"
                "    %p = tt.addptr %fs, %q : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>\n"
                "    %x = tt.load %p : tensor<512x!tt.ptr<f32>, #b>\n"
                "    tt.store %op, %x : tensor<512x!tt.ptr<f32>, #b>\n");
}

TEST(LowerDivision, APowerOfTwoIsAShiftOfWhatIsNeverNegative) {
  auto n = divided("arith.divsi", 2);  // of four elements, two and two are equal
  EXPECT_EQ(n["SHF.R"], 2);
  EXPECT_EQ(n["SHF.R.S32.HI"] + n["LEA.HI"] + n["IMAD.HI"], 0);
}

TEST(LowerDivision, OtherConstantsTakeAHighProduct) {
  auto n = divided("arith.divsi", 3);
  EXPECT_EQ(n["IMAD.HI.U32"], 4);
  EXPECT_EQ(n["LDG.E"], 4);
}

TEST(LowerDivision, EqualQuotientsAreComputedOnce) {
  auto n = divided("arith.divsi", 3136);  // a multiple of four
  EXPECT_EQ(n["IMAD.HI.U32"], 1);
  EXPECT_EQ(n["SHF.R.U32.HI"], 1);
}

TEST(LowerLoad, OneAddressIsLoadedOnce) {
  auto n = counts(R"(    %c = arith.constant dense<4> : tensor<512xi32, #b>
    %q = arith.divsi %r, %c : tensor<512xi32, #b>
    %p = tt.addptr %fs, %q : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    %x = tt.load %p : tensor<512x!tt.ptr<f32>, #b>
    %y = tt.load %fp : tensor<512x!tt.ptr<f32>, #b>
    %z = arith.addf %x, %y : tensor<512xf32, #b>
    tt.store %op, %z : tensor<512x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["LDG.E"], 1);  // four elements of a lane are one element in memory
  EXPECT_EQ(n["LDG.E.128"], 1);
}

TEST(LowerDivision, ARemainderWhoseRunsAreLongIsComputedOnceAVector) {
  auto n = divided("arith.remsi", 3136);  // a multiple of 4: four elements stay together
  EXPECT_EQ(n["IMAD.HI.U32"], 1);
  EXPECT_EQ(n["LDG.E.128"], 1);
}

TEST(LowerDivision, ARunTimeDivisorTakesTheLongWayByAReciprocal) {
  auto n = counts(R"(    %d = tt.splat %n : i32 -> tensor<512xi32, #b>
    %q = arith.divsi %r, %d : tensor<512xi32, #b>
    %p = tt.addptr %fs, %q : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    %x = tt.load %p : tensor<512x!tt.ptr<f32>, #b>
    tt.store %op, %x : tensor<512x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["MUFU.RCP"], 1);  // one divisor
  EXPECT_EQ(n["I2F.RP"], 1);
  EXPECT_EQ(n["F2I.FTZ.U32.TRUNC.NTZ"], 1);
  EXPECT_EQ(n["IMAD.HI.U32"], 1 + 4);
}

std::string converted(const std::string& to) {
  return "    %x = tt.load %fp : tensor<512x!tt.ptr<f32>, #b>\n"
         "    %y = ttg.convert_layout %x : tensor<512xf32, #b> -> tensor<512xf32, " +
         to +
         ">\n"
         "    %os1 = tt.splat %o : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, " +
         to + ">\n    %r1 = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, " +
         to + ">\n    %p1 = tt.addptr %os1, %r1 : tensor<512x!tt.ptr<f32>, " + to +
         ">, tensor<512xi32, " + to + ">\n    tt.store %p1, %y : tensor<512x!tt.ptr<f32>, " + to +
         ">\n";
}

TEST(ConvertLayout, WarpsExchangeThroughSharedMemory) {
  const auto program = compile_body(converted("#one"));
  ASSERT_TRUE(program) << program.error().str();
  std::map<std::string, int> n;
  for (const auto& i : program->code) ++n[i.mnemonic];
  EXPECT_EQ(n["STS.128"], 1);        // four elements of a lane are in lanes 0 to 3 afterwards:
  EXPECT_EQ(n["LDSM.16.M88.4"], 1);  // a row of a matrix
  EXPECT_EQ(n["BAR.SYNC.DEFER_BLOCKING"], 1);
  EXPECT_EQ(program->shared_bytes, 512 * 4);
}

TEST(ConvertLayout, LanesOfAWarpExchangeByShuffles) {
  auto n = counts(
      R"(    %s = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #row}>>
    %ps = tt.splat %f : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #row}>>
    %p = tt.addptr %ps, %s : tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #row}>>, tensor<32xi32, #ttg.slice<{dim = 0, parent = #row}>>
    %x = tt.load %p : tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #row}>>
    %y = ttg.convert_layout %x : tensor<32xf32, #ttg.slice<{dim = 0, parent = #row}>> -> tensor<32xf32, #ttg.slice<{dim = 0, parent = #turned}>>
    %s1 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #turned}>>
    %qs = tt.splat %o : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #turned}>>
    %q = tt.addptr %qs, %s1 : tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #turned}>>, tensor<32xi32, #ttg.slice<{dim = 0, parent = #turned}>>
    tt.store %q, %y : tensor<32x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #turned}>>
)");
  EXPECT_EQ(n["SHFL.IDX"], 8);  // 32 elements over four distinct lanes: eight registers
  EXPECT_EQ(n["STS"], 0);
  EXPECT_EQ(n["BAR.SYNC.DEFER_BLOCKING"], 0);
}

/// #b with some bits of the register's and the lane's number changed for each other.
std::string exchanged(const std::string& registers, const std::string& lanes) {
  return "#ttg.linear<{register = " + registers + ", lane = " + lanes +
         ", warp = [[128], [256]], block = []}>";
}

TEST(ConvertLayout, LanesExchangeThroughSharedMemoryWhereTwoOfTheirBitsComeFromRegisters) {
  auto one = counts(converted(exchanged("[[4], [2]]", "[[1], [8], [16], [32], [64]]")));
  EXPECT_EQ(one["SHFL.IDX"], 4);
  EXPECT_EQ(one["STS.128"] + one["STS"] + one["NOP"], 0);
  auto two = counts(converted(exchanged("[[4], [8]]", "[[1], [2], [16], [32], [64]]")));
  EXPECT_EQ(two["SHFL.IDX"], 0);
  EXPECT_GE(two["STS.128"] + two["STS"], 1);
  EXPECT_GE(two["NOP"], 1);  // only the warp's own lanes wait for one another
  EXPECT_EQ(two["BAR.SYNC.DEFER_BLOCKING"], 0);
}

const std::string kSum = R"(    %z = arith.constant dense<0.000000e+00> : tensor<512xf32, #b>
    %c0 = arith.constant 0 : i32
    %c512 = arith.constant 512 : i32
    %sum = scf.for %i = %c0 to %n step %c512 iter_args(%acc = %z) -> (tensor<512xf32, #b>)  : i32 {
      %is = tt.splat %i : i32 -> tensor<512xi32, #b>
      %at = arith.addi %is, %r : tensor<512xi32, #b>
      %p = tt.addptr %fs, %at : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
      %x = tt.load %p : tensor<512x!tt.ptr<f32>, #b>
      %next = arith.addf %acc, %x : tensor<512xf32, #b>
      scf.yield %next : tensor<512xf32, #b>
    }
    tt.store %op, %sum : tensor<512x!tt.ptr<f32>, #b>
)";

TEST(LowerFor, TheBodyLoadsAddsInPlaceAndBranchesBack) {
  const auto program = compile_body(kSum);
  ASSERT_TRUE(program) << program.error().str();
  std::size_t back = 0;
  for (std::size_t at = 0; at < program->code.size(); ++at) {
    if (program->code[at].branch == Branch::kLoopBack) back = at;
  }
  ASSERT_NE(back, 0u);
  std::map<std::string, int> body;
  for (auto at = static_cast<std::size_t>(program->code[back].target); at <= back; ++at) {
    ++body[program->code[at].mnemonic];
  }
  EXPECT_EQ(body["LDG.E.128"], 1);  // the step keeps the alignment
  EXPECT_EQ(body["FADD"], 4);
  EXPECT_EQ(body["MOV"] + body["IMAD.MOV.U32"], 0);  // sums are written where they are carried
  EXPECT_EQ(body["S2R"] + body["LDC.64"], 0);        // what does not change stands before the loop
  EXPECT_EQ(body["ISETP"], 1);
}

TEST(LowerFor, AShortLoopWithConstantBoundsIsUnrolledAndItsLoadsAreNumbered) {
  std::string body = kSum;
  body.replace(body.find("to %n step"), 10, "to %c2048 step");
  const auto program = compile_body("    %c2048 = arith.constant 2048 : i32\n" + body);
  ASSERT_TRUE(program) << program.error().str();
  std::vector<int> copies;
  for (const auto& i : program->code) {
    EXPECT_NE(i.mnemonic, "BRA");
    if (i.mnemonic == "LDG.E.128") copies.push_back(i.copy);
  }
  std::sort(copies.begin(), copies.end());
  EXPECT_EQ(copies, (std::vector<int>{0, 1, 2, 3}));
  const auto again = parse_program(print(*program), "again");
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(print(*again), print(*program));
}

/// Divisions of indices count once a vector: the other elements need no address.
TEST(LowerFor, WhatItsDivisionsAreWorthDecidesWhetherALoopIsUnrolled) {
  const auto loads = [](const std::string& index) {
    return counts(R"(    %c0 = arith.constant 0 : i32
    %c512 = arith.constant 512 : i32
    %c4096 = arith.constant 4096 : i32
    %d = arith.constant dense<512> : tensor<512xi32, #b>
    %zero = arith.constant dense<0.0> : tensor<512xf32, #b>
    %sum = scf.for %i = %c0 to %c4096 step %c512 iter_args(%acc = %zero) -> (tensor<512xf32, #b>)  : i32 {
      %is = tt.splat %i : i32 -> tensor<512xi32, #b>
      %at = arith.addi %is, %r : tensor<512xi32, #b>
      %q = arith.divsi %at, %d : tensor<512xi32, #b>
      %s = arith.remsi %q, %d : tensor<512xi32, #b>
      %t = arith.divsi %s, %d : tensor<512xi32, #b>
      %m = arith.muli %t, %d : tensor<512xi32, #b>
      %n1 = arith.addi %m, %at : tensor<512xi32, #b>
      %p = tt.addptr %fs, )" +
                  index + R"( : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
      %x = tt.load %p : tensor<512x!tt.ptr<f32>, #b>
      %next = arith.addf %acc, %x : tensor<512xf32, #b>
      scf.yield %next : tensor<512xf32, #b>
    }
    tt.store %op, %sum : tensor<512x!tt.ptr<f32>, #b>
)");
  };
  auto vectors = loads("%n1"), elements = loads("%t");
  EXPECT_EQ(vectors["LDG.E.128"], 8);  // 8 * (9 + 3 * 6) instructions
  EXPECT_EQ(vectors["BRA"], 0);
  EXPECT_EQ(elements["LDG.E"], 1);  // the same of four, in a loop: 8 * (9 + 4 * 3 * 6) are too many
  EXPECT_GE(elements["BRA"], 1);
}

/// A pointer that moves on by the same number in all threads: one pair of registers moves, and each
/// vector adds its own offset to it.
TEST(LowerFor, APointerThatMovesAsOneTakesTwoInstructionsAnIteration) {
  auto n = counts(R"(    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = arith.constant dense<4096> : tensor<512xi32, #b>
    %zero = arith.constant dense<0.0> : tensor<512xf32, #b>
    %q:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %fp, %sum = %zero) -> (tensor<512x!tt.ptr<f32>, #b>, tensor<512xf32, #b>)  : i32 {
      %x = tt.load %p : tensor<512x!tt.ptr<f32>, #b>
      %next = arith.addf %sum, %x : tensor<512xf32, #b>
      %on = tt.addptr %p, %step : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
      scf.yield %on, %next : tensor<512x!tt.ptr<f32>, #b>, tensor<512xf32, #b>
    }
    tt.store %op, %q#1 : tensor<512x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["LDG.E.128"], 1);
  EXPECT_EQ(n["FADD"], 4);
  EXPECT_EQ(n["IMAD.X"], 2);  // the base, and the vector's address
  EXPECT_EQ(n["CS2R"], 2);    // four zeros to begin with
}

TEST(LowerMasks, AMaskThatHoldsForAllThreadsGuardsNothing) {
  auto n = counts(R"(    %c = arith.constant dense<512> : tensor<512xi32, #b>
    %m = arith.cmpi slt, %r, %c : tensor<512xi32, #b>
    %x = tt.load %fp, %m : tensor<512x!tt.ptr<f32>, #b>
    tt.store %op, %x, %m : tensor<512x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["ISETP"], 0);
  EXPECT_EQ(n["CS2R"], 0);
}

}  // namespace
}  // namespace xpusim::gpu
