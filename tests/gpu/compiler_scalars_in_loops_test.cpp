// Do short loops over scalars compile, whatever they carry and branch on?

#include <gtest/gtest.h>

#include <string>

#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

/// A kernel of one warp over pointers %p (f32), %q (i32), and %fs (f32), %l (i64) and %n (i32).
std::map<std::string, int> counts(const std::string& body) {
  return test::count_mnemonics(
      R"(module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<i32>, %ls: !tt.ptr<i64>, %fs: f32, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
)" + body +
      "    tt.return\n  }\n}\n");
}

TEST(ScalarsInLoops, ABranchWithoutAnElseMayStandInAShortLoop) {
  auto n = counts(R"(    %g = arith.cmpi sgt, %n, %c1 : i32
    scf.for %i = %c0 to %c4 step %c1 : i32 {
      scf.if %g {
        tt.store %q, %i : !tt.ptr<i32>
      }
    }
)");
  EXPECT_GE(n["STG.E"], 1);
}

TEST(ScalarsInLoops, AnArgumentIsCarriedInARegister) {
  auto n = counts(R"(    %a = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %fs) -> (f32) : i32 {
      %y = arith.addf %x, %fs : f32
      scf.yield %y : f32
    }
    tt.store %p, %a : !tt.ptr<f32>
)");
  EXPECT_EQ(n["FADD"], 4);
  EXPECT_EQ(n["STG.E"], 1);
  auto unchanged =
      counts(R"(    %a = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %fs) -> (f32) : i32 {
      scf.yield %x : f32
    }
    tt.store %p, %a : !tt.ptr<f32>
)");
  EXPECT_EQ(unchanged["STG.E"], 1);
}

TEST(ScalarsInLoops, TheOneQuotientThatNoNumberHoldsIsLeftToTheRun) {
  auto n = counts(R"(    %least = arith.constant -9223372036854775808 : i64
    %minus = arith.constant -1 : i64
    %d = arith.divsi %least, %minus : i64
    %r = arith.remsi %least, %minus : i64
    %s = arith.addi %d, %r : i64
    tt.store %ls, %s : !tt.ptr<i64>
)");
  EXPECT_EQ(n["STG.E.64"], 1);
}

}  // namespace
}  // namespace xpusim::gpu
