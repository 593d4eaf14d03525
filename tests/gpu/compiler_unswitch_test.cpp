// Loops that threads skip whose mask fails.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

/// A loop of four warps that adds rows of 512 f32 up, in columns below %n; `work` makes %v of
/// what it loads, %x, and of the sum so far, %sum.
std::map<std::string, int> counts(
    const std::string& work, int rows = 1024,
    const std::string& after = "    %done = arith.addf %all, %all : tensor<512xf32, #b>\n") {
  return test::count_mnemonics(
      R"(#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%in: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c512 = arith.constant 512 : i32
    %rows = arith.constant )" +
      std::to_string(rows) + R"( : i32
    %z = arith.constant dense<0.000000e+00> : tensor<512xf32, #b>
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #b>
    %nn = tt.splat %n : i32 -> tensor<512xi32, #b>
    %mask = arith.cmpi slt, %r, %nn : tensor<512xi32, #b>
    %ins = tt.splat %in : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
    %all = scf.for %i = %c0 to %rows step %c1 iter_args(%sum = %z) -> (tensor<512xf32, #b>)  : i32 {
      %first = arith.muli %i, %c512 : i32
      %fs = tt.splat %first : i32 -> tensor<512xi32, #b>
      %at = arith.addi %fs, %r : tensor<512xi32, #b>
      %p = tt.addptr %ins, %at : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
      %x = tt.load %p, %mask, %z : tensor<512x!tt.ptr<f32>, #b>
)" + work +
      R"(      %next = arith.select %mask, %v, %sum : tensor<512xi1, #b>, tensor<512xf32, #b>
      scf.yield %next : tensor<512xf32, #b>
    }
)" + after +
      R"(    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
    %q = tt.addptr %outs, %r : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    tt.store %q, %done, %mask : tensor<512x!tt.ptr<f32>, #b>
    tt.return
  }
}
)");
}

TEST(Unswitch, ASmallLoopIsSkippedWhereItsMaskFailsAndElseUnmasked) {
  auto n = counts("      %v = arith.addf %sum, %x : tensor<512xf32, #b>\n");
  EXPECT_EQ(n["FSEL"], 0);
  EXPECT_EQ(n["CS2R"], 2) << "only the sums begin with zeros";
  EXPECT_EQ(n["BSSY"], 1);
  EXPECT_EQ(n["BSYNC"], 1);
  EXPECT_EQ(n["ISETP"], 2) << "the mask, and the loop's end";
}

TEST(Unswitch, AfterTheLoopItsMaskIsTestedAgain) {
  const std::string sum = "      %v = arith.addf %sum, %x : tensor<512xf32, #b>\n";
  auto plain = counts(sum);
  auto masked = counts(
      sum, 1024,
      "    %done = arith.select %mask, %all, %z : tensor<512xi1, #b>, tensor<512xf32, #b>\n");
  EXPECT_EQ(masked["FSEL"], plain["FSEL"] + 4);
}

TEST(Unswitch, AShortLoopsCopiesShareOneAddress) {
  auto n = counts("      %v = arith.addf %sum, %x : tensor<512xf32, #b>\n", 8);
  EXPECT_EQ(n["LDG.E.128"], 8);
  EXPECT_EQ(n["IMAD.WIDE"], 2) << "a row's place, and that of the result";
  EXPECT_EQ(n["IADD3"] + n["VIADD"] + n["LOP3.OR"], 0);
}

TEST(Unswitch, ALargeOneIsMaskedInside) {
  std::string work = "      %v0 = arith.addf %sum, %x : tensor<512xf32, #b>\n";
  for (int k = 1; k < 8; ++k) {
    const std::string before = "%v" + std::to_string(k - 1);
    work += "      %v" + std::string(k == 7 ? "" : std::to_string(k)) + " = arith.mulf " + before +
            ", " + before + " : tensor<512xf32, #b>\n";
  }
  auto n = counts(work);
  EXPECT_EQ(n["FSEL"], 4);
  EXPECT_EQ(n["BSSY"], 0);
}

TEST(Unswitch, SpecialFunctionsMakeALoopLarge) {
  auto n = counts(
      "      %d = math.exp %x : tensor<512xf32, #b>\n"
      "      %e = math.sqrt %d : tensor<512xf32, #b>\n"
      "      %v = arith.addf %sum, %e : tensor<512xf32, #b>\n");
  EXPECT_EQ(n["FSEL"], 4);
}

}  // namespace
}  // namespace xpusim::gpu
