// Which loops does the vendor's compiler count in 64 bits, and what does that add?

#include <gtest/gtest.h>

#include <string>

#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

/// Sums of 32 columns, %i to %i + 31, below %n while %i counts to `bound` by `step`.
std::map<std::string, int> counts(const std::string& bound, const std::string& step) {
  return test::count_mnemonics(
      R"(#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f32>, %o: !tt.ptr<f32>, %n: i32 {tt.divisibility = 16 : i32}) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %c4096 = arith.constant 4096 : i32
    %zeros = arith.constant dense<0.000000e+00> : tensor<32xf32, #b>
    %pid = tt.get_program_id x : i32
    %blocks = arith.muli %pid, %c64 : i32
    %tiles = arith.divsi %n, %c64 : i32
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #b>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #b>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #b>
    %ns = tt.splat %n : i32 -> tensor<32xi32, #b>
    %sum = scf.for %i = %c0 to )" +
      bound + " step " + step +
      R"( iter_args(%x = %zeros) -> (tensor<32xf32, #b>) : i32 {
      %is = tt.splat %i : i32 -> tensor<32xi32, #b>
      %c = arith.addi %is, %r : tensor<32xi32, #b>
      %m = arith.cmpi slt, %c, %ns : tensor<32xi32, #b>
      %a = tt.addptr %ps, %c : tensor<32x!tt.ptr<f32>, #b>, tensor<32xi32, #b>
      %v = tt.load %a, %m, %zeros : tensor<32x!tt.ptr<f32>, #b>
      %y = arith.addf %x, %v : tensor<32xf32, #b>
      scf.yield %y : tensor<32xf32, #b>
    }
    %oa = tt.addptr %os, %r : tensor<32x!tt.ptr<f32>, #b>, tensor<32xi32, #b>
    tt.store %oa, %sum : tensor<32x!tt.ptr<f32>, #b>
    tt.return
  }
}
)");
}

TEST(WideCounters, AnArgumentMayLieWithinAStepOfTheLargestNumber) {
  EXPECT_EQ(counts("%n", "%c32")["ISETP.EX"], 0);
}

TEST(WideCounters, ABoundThatLeavesRoomForAStepMakesThemWide) {
  for (const auto& [bound, step] : {std::pair{"%c4096", "%c32"},  // a constant
                                    {"%blocks", "%c64"},          // a multiple of the step
                                    {"%tiles", "%c64"},           // a quotient
                                    {"%n", "%c1"}}) {             // a step of one
    auto n = counts(bound, step);
    EXPECT_EQ(n["ISETP.EX"], 2) << bound;  // the mask, and whether another iteration follows
    EXPECT_GE(n["IMAD.X"], 1) << bound;    // the columns' upper halves
  }
}

}  // namespace
}  // namespace xpusim::gpu
