// Lowering of transposes, reshapes, scans, histograms, gathers and branches: instruction counts
// worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "models/gpu/core/kernel_image.h"
#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

/// A kernel of four warps over pointers %f and %o (f32), %i (i32) and a number %n.
std::string kernel_text(const std::string& body) {
  return R"(#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#one = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#row = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#column = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#flat = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%f: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %i: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #b>
    %fs = tt.splat %f : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
    %is = tt.splat %i : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #b>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
    %fp = tt.addptr %fs, %r : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    %ip = tt.addptr %is, %r : tensor<512x!tt.ptr<i32>, #b>, tensor<512xi32, #b>
    %op = tt.addptr %os, %r : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    %x = tt.load %fp : tensor<512x!tt.ptr<f32>, #b>
)" + body +
         R"(    tt.return
  }
}
)";
}

/// Counts by mnemonic of a kernel that an SM can read too.
std::map<std::string, int> counts(const std::string& body) {
  const auto program = test::compile_text(kernel_text(body));
  EXPECT_TRUE(program) << program.error().str();
  std::map<std::string, int> n;
  if (!program) return n;
  const auto image = decode(*program);
  EXPECT_TRUE(image) << image.error().str();
  for (const auto& i : program->code) ++n[i.mnemonic];
  return n;
}

constexpr const char* kStore = "    tt.store %op, %y : tensor<512x!tt.ptr<f32>, #b>\n";

TEST(LowerShapes, ATransposeRenamesRegisters) {
  const std::string load =
      R"(    %c = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #row}>>
    %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #row}>> -> tensor<1x32xi32, #row>
    %c3 = tt.broadcast %c2 : tensor<1x32xi32, #row> -> tensor<16x32xi32, #row>
    %ps = tt.splat %f : !tt.ptr<f32> -> tensor<16x32x!tt.ptr<f32>, #row>
    %p = tt.addptr %ps, %c3 : tensor<16x32x!tt.ptr<f32>, #row>, tensor<16x32xi32, #row>
    %v = tt.load %p : tensor<16x32x!tt.ptr<f32>, #row>
)";
  auto n = counts(
      load +
      R"(    %t = tt.trans %v {order = array<i32: 1, 0>} : tensor<16x32xf32, #row> -> tensor<32x16xf32, #column>
    %s = math.sqrt %t : tensor<32x16xf32, #column>
    %u = tt.trans %s {order = array<i32: 1, 0>} : tensor<32x16xf32, #column> -> tensor<16x32xf32, #row>
    tt.store %p, %u : tensor<16x32x!tt.ptr<f32>, #row>
)");
  auto plain = counts(load + R"(    %s = math.sqrt %v : tensor<16x32xf32, #row>
    tt.store %p, %s : tensor<16x32x!tt.ptr<f32>, #row>
)");
  EXPECT_EQ(n, plain);
}

TEST(LowerShapes, AReshapeOfAnIndexStaysInClosedForm) {
  auto n = counts(R"(    %q = tt.reshape %r : tensor<512xi32, #b> -> tensor<1x512xi32, #flat>
    %c = arith.constant dense<511> : tensor<1x512xi32, #flat>
    %m = arith.cmpi slt, %q, %c : tensor<1x512xi32, #flat>
    %back = tt.reshape %m : tensor<1x512xi1, #flat> -> tensor<512xi1, #b>
    tt.store %op, %x, %back : tensor<512x!tt.ptr<f32>, #b>
)");
  // The mask is compared where the store needs it: only the last element is off.
  EXPECT_GE(n["ISETP"], 1);
  EXPECT_EQ(n["PLOP3"] + n["SEL"], 0);
}

TEST(LowerScan, ThreadsThenLanesThenWarps) {
  auto n = counts(std::string(R"(    %y = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %c: f32):
      %m = arith.maxnumf %a, %c : f32
      tt.scan.return %m : f32
    }) : (tensor<512xf32, #b>) -> tensor<512xf32, #b>
)") + kStore);
  // Three in the thread, five with lanes below, sums of the first two and three warps, one with the
  // warps below, three with what came before the thread.
  EXPECT_EQ(n["FMNMX"], 3 + 5 + 2 + 1 + 3);
  EXPECT_EQ(n["SHFL.UP"], 5 + 1);
  EXPECT_EQ(n["STS"], 1);
  EXPECT_EQ(n["LDS.128"], 1);
  EXPECT_EQ(n["BAR.SYNC.DEFER_BLOCKING"], 1);
}

TEST(LowerScan, AReversedOneTurnsLanesAroundBeforeAndAfter) {
  auto n = counts(std::string(R"(    %y = "tt.scan"(%x) <{axis = 0 : i32, reverse = true}> ({
    ^bb0(%a: f32, %c: f32):
      %m = arith.addf %a, %c : f32
      tt.scan.return %m : f32
    }) : (tensor<512xf32, #b>) -> tensor<512xf32, #b>
)") + kStore);
  EXPECT_EQ(n["SHFL.BFLY"], 2 * 4 * 5);  // four registers, five distances
  EXPECT_EQ(n["SHFL.UP"], 6);
}

TEST(LowerScan, AnAxisWithinAThreadTakesNoShuffle) {
  auto n = counts(
      R"(    %c = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32, #ttg.slice<{dim = 1, parent = #column}>>
    %c2 = tt.expand_dims %c {axis = 1 : i32} : tensor<4xi32, #ttg.slice<{dim = 1, parent = #column}>> -> tensor<4x1xi32, #column>
    %c3 = tt.broadcast %c2 : tensor<4x1xi32, #column> -> tensor<4x16xi32, #column>
    %ps = tt.splat %f : !tt.ptr<f32> -> tensor<4x16x!tt.ptr<f32>, #column>
    %p = tt.addptr %ps, %c3 : tensor<4x16x!tt.ptr<f32>, #column>, tensor<4x16xi32, #column>
    %v = tt.load %p : tensor<4x16x!tt.ptr<f32>, #column>
    %y = "tt.scan"(%v) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %d: f32):
      %m = arith.addf %a, %d : f32
      tt.scan.return %m : f32
    }) : (tensor<4x16xf32, #column>) -> tensor<4x16xf32, #column>
    tt.store %p, %y : tensor<4x16x!tt.ptr<f32>, #column>
)");
  EXPECT_EQ(n["FADD"], 3);
  EXPECT_EQ(n["SHFL.UP"] + n["STS"], 0);
}

TEST(LowerHistogram, BallotsOfEachBitThenMasksAndPopulationCounts) {
  auto n = counts(R"(    %v = tt.load %ip : tensor<512x!tt.ptr<i32>, #b>
    %h = tt.histogram %v : tensor<512xi32, #b> -> tensor<128xi32, #one>
    %k = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #one>
    %ps = tt.splat %i : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #one>
    %p = tt.addptr %ps, %k : tensor<128x!tt.ptr<i32>, #one>, tensor<128xi32, #one>
    tt.store %p, %h : tensor<128x!tt.ptr<i32>, #one>
)");
  EXPECT_EQ(n["VOTE.ANY"], 4 * 7);  // four registers, seven bits
  EXPECT_EQ(n["POPC"], 4 * 4);      // 128 bins over 32 lanes
  EXPECT_EQ(n["ATOMS.ADD"], 4);
  EXPECT_EQ(n["STS"], 1);  // zeroes
  EXPECT_EQ(n["LDS"], 1);
  EXPECT_EQ(n["BAR.SYNC.DEFER_BLOCKING"], 2);
}

TEST(LowerGather, WhatCrossesWarpsGoesThroughSharedMemory) {
  auto n = counts(std::string(R"(    %v = tt.load %ip : tensor<512x!tt.ptr<i32>, #b>
    %y = tt.gather %x[%v] {axis = 0 : i32} : (tensor<512xf32, #b>, tensor<512xi32, #b>) -> tensor<512xf32, #b>
)") + kStore);
  EXPECT_EQ(n["STS.128"], 1);
  EXPECT_EQ(n["LDS"], 4);
  EXPECT_EQ(n["SHFL.IDX"], 0);
}

TEST(LowerBranch, SidesMeetInTheRegistersOfTheResult) {
  auto n = counts(std::string(R"(    %c = arith.cmpi slt, %n, %n : i32
    %z = arith.constant 7 : i32
    %p = arith.cmpi sgt, %n, %z : i32
    %y = scf.if %p -> (tensor<512xf32, #b>) {
      %s = math.sqrt %x : tensor<512xf32, #b>
      scf.yield %s : tensor<512xf32, #b>
    } else {
      %e = math.exp2 %x : tensor<512xf32, #b>
      scf.yield %e : tensor<512xf32, #b>
    }
)") + kStore);
  EXPECT_EQ(n["MUFU.SQRT"], 4);
  EXPECT_EQ(n["MUFU.EX2"], 4);
  EXPECT_EQ(n["BRA"], 2);
  EXPECT_EQ(n["MOV"] + n["IMAD.MOV.U32"], 0);  // both sides write the result's registers
}

TEST(LowerBranch, CheapSidesAreBothComputedAndSelected) {
  auto n = counts(std::string(R"(    %z = arith.constant 7 : i32
    %p = arith.cmpi sgt, %n, %z : i32
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %s = scf.if %p -> (f32) {
      scf.yield %two : f32
    } else {
      scf.yield %three : f32
    }
    %t = tt.splat %s : f32 -> tensor<512xf32, #b>
    %y = arith.mulf %x, %t : tensor<512xf32, #b>
)") + kStore);
  EXPECT_EQ(n["BRA"], 0);
  EXPECT_EQ(n["SEL"], 1);
}

TEST(LowerBranch, AWhileLoopIsTestedBeforeAndAtItsEnd) {
  const auto program = test::compile_text(kernel_text(R"(    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %w:2 = scf.while (%k = %n, %v = %x) : (i32, tensor<512xf32, #b>) -> (i32, tensor<512xf32, #b>) {
      %p = arith.cmpi sgt, %k, %z : i32
      scf.condition(%p) %k, %v : i32, tensor<512xf32, #b>
    } do {
    ^bb0(%k: i32, %v: tensor<512xf32, #b>):
      %d = arith.subi %k, %one : i32
      %s = math.sqrt %v : tensor<512xf32, #b>
      scf.yield %d, %s : i32, tensor<512xf32, #b>
    }
    tt.store %op, %w#1 : tensor<512x!tt.ptr<f32>, #b>
)"));
  ASSERT_TRUE(program) << program.error().str();
  std::vector<Branch> branches;
  int tests = 0, roots = 0;
  for (const auto& i : program->code) {
    if (i.op == Opcode::kBra) branches.push_back(i.branch);
    tests += i.mnemonic == "ISETP";
    roots += i.mnemonic == "MUFU.SQRT";
  }
  EXPECT_THAT(branches, testing::ElementsAre(Branch::kIfZero, Branch::kIfSet));
  EXPECT_EQ(tests, 2);
  EXPECT_EQ(roots, 4);
}

TEST(LowerLoops, ATileOfEqualElementsIsCarriedInOneRegister) {
  auto n = counts(std::string(R"(    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = arith.constant dense<1.0> : tensor<512xf32, #b>
    %w:2 = scf.for %k = %z to %n step %one iter_args(%u = %c, %v = %x) -> (tensor<512xf32, #b>, tensor<512xf32, #b>) : i32 {
      %t = arith.addf %u, %c : tensor<512xf32, #b>
      %s = math.sqrt %v : tensor<512xf32, #b>
      scf.yield %t, %s : tensor<512xf32, #b>, tensor<512xf32, #b>
    }
    %y = arith.mulf %w#0, %w#1 : tensor<512xf32, #b>
)") + kStore);
  EXPECT_EQ(n["FADD"], 1);
  EXPECT_EQ(n["MUFU.SQRT"], 4);
  EXPECT_EQ(n["FMUL"], 4);
}

/// A number that a branch computes first and the code after it needs too is computed before it.
TEST(LowerBranch, WhatBothTheBranchAndTheCodeAfterItNeedComesBeforeIt) {
  const auto program = test::compile_text(kernel_text(R"(    %z = arith.constant 7 : i32
    %p = arith.cmpi sgt, %n, %z : i32
    scf.if %p {
      tt.store %op, %x : tensor<512x!tt.ptr<f32>, #b>
    }
    %y = math.sqrt %x : tensor<512xf32, #b>
    tt.store %op, %y : tensor<512x!tt.ptr<f32>, #b>
)"));
  ASSERT_TRUE(program) << program.error().str();
  int addresses = 0;
  bool branched = false;
  for (const auto& i : program->code) {
    branched = branched || i.op == Opcode::kBra;
    if (i.mnemonic != "IMAD.WIDE") continue;
    ++addresses;
    EXPECT_FALSE(branched);
  }
  EXPECT_EQ(addresses, 2);  // one of what is loaded, one of what is stored
}

TEST(LowerBranch, PointersFromSeveralPathsAreRefusedByName) {
  const auto program = test::compile_text(kernel_text(R"(    %z = arith.constant 7 : i32
    %p = arith.cmpi sgt, %n, %z : i32
    %q = scf.if %p -> (!tt.ptr<f32>) {
      scf.yield %f : !tt.ptr<f32>
    } else {
      scf.yield %o : !tt.ptr<f32>
    }
    %v = tt.load %q : !tt.ptr<f32>
    tt.store %o, %v : !tt.ptr<f32>
)"));
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().str(), testing::HasSubstr("pointers that come from several paths"));
}

}  // namespace
}  // namespace xpusim::gpu
