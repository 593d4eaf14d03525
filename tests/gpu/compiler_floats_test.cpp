// What the compiler knows of floats: constants, bounds, and selects by one condition.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

/// A kernel of one warp over 256 f32 (two vectors of 4 a thread) in %x; %mask is the same in all
/// elements. The body makes a number %y.
std::map<std::string, int> counts(const std::string& body) {
  return test::count_mnemonics(
      R"(#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%in: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %z = arith.constant dense<0.000000e+00> : tensor<256xf32, #b>
    %one = arith.constant dense<1.000000e+00> : tensor<256xf32, #b>
    %two = arith.constant dense<2.000000e+00> : tensor<256xf32, #b>
    %pid = tt.get_program_id x : i32
    %in_grid = arith.cmpi slt, %pid, %n : i32
    %mask = tt.splat %in_grid : i1 -> tensor<256xi1, #b>
    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #b>
    %ins = tt.splat %in : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #b>
    %p = tt.addptr %ins, %r : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %x = tt.load %p : tensor<256x!tt.ptr<f32>, #b>
)" + body +
      R"(    tt.store %out, %y : !tt.ptr<f32>
    tt.return
  }
}
)");
}

std::string sum(const std::string& of) {
  return R"(    %y = "tt.reduce"(%)" + of + R"() <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %c: f32):
      %t = arith.addf %a, %c : f32
      tt.reduce.return %t : f32
    }) : (tensor<256xf32, #b>) -> f32
)";
}

TEST(Floats, ASumOfElementsUnderOneMaskIsMaskedAtItsEnd) {
  auto n = counts(
      "    %s = arith.select %mask, %x, %z : tensor<256xi1, #b>, tensor<256xf32, #b>\n" + sum("s"));
  EXPECT_EQ(n["FSEL"], 1);
  EXPECT_EQ(n["FADD"], 7 + 5);
}

TEST(Floats, SelectsThatSomethingElseReadsStay) {
  auto n = counts(R"(    %s = arith.select %mask, %x, %z : tensor<256xi1, #b>, tensor<256xf32, #b>
    %e = math.exp2 %s : tensor<256xf32, #b>
    %u = arith.addf %s, %e : tensor<256xf32, #b>
)" + sum("u"));
  EXPECT_EQ(n["FSEL"], 8);
}

TEST(Floats, AProductThatIsSummedUnderAMaskIsStillFused) {
  auto n = counts(R"(    %q = arith.mulf %x, %x : tensor<256xf32, #b>
    %s = arith.select %mask, %q, %z : tensor<256xi1, #b>, tensor<256xf32, #b>
)" + sum("s"));
  EXPECT_EQ(n["FMUL"], 1);
  EXPECT_EQ(n["FFMA"], 7);
  EXPECT_EQ(n["FSEL"], 1);
}

TEST(Floats, AConstantIsTheSameInAllLanes) {
  auto n = counts(sum("two"));
  EXPECT_EQ(n["SHFL.BFLY"], 0);
  EXPECT_EQ(n["FADD"], 0);
}

TEST(Floats, NothingIsAddedWhereZeroIs) {
  auto n = counts(R"(    %q = arith.mulf %x, %x : tensor<256xf32, #b>
    %s = arith.addf %q, %z : tensor<256xf32, #b>
    %u = arith.divf %s, %one : tensor<256xf32, #b>
    %v = arith.mulf %u, %one : tensor<256xf32, #b>
)" + sum("v"));
  EXPECT_EQ(n["FMUL"] + n["FFMA"], 8);
  EXPECT_EQ(n["FADD"], 5);
}

TEST(Floats, ZeroIsAddedWhereTheSumMayBeMinusZero) {
  auto n = counts("    %s = arith.addf %x, %z : tensor<256xf32, #b>\n" + sum("s"));
  EXPECT_EQ(n["FADD"], 8 + 7 + 5);
}

TEST(Floats, ADivisorOfKnownBoundsIsCheckedOnlyForTheRest) {
  const std::string exp = "    %e = math.exp2 %x : tensor<256xf32, #b>\n";
  const std::string divide = "    %q = arith.divf %one, %d : tensor<256xf32, #b>\n" + sum("q");
  auto any = counts("    %d = math.sqrt %x : tensor<256xf32, #b>\n" + divide);
  EXPECT_EQ(any["FSETP"], 16) << "too large, too small";
  auto above_one = counts(exp + "    %d = arith.addf %e, %one : tensor<256xf32, #b>\n" + divide);
  EXPECT_EQ(above_one["FSETP"], 8) << "too large";
  auto one_or_two =
      counts("    %d = arith.select %mask, %one, %two : tensor<256xi1, #b>, tensor<256xf32, #b>\n" +
             divide);
  EXPECT_EQ(one_or_two["FSETP"], 0);
  EXPECT_EQ(one_or_two["MUFU.RCP"], 1) << "all elements are one";
}

}  // namespace
}  // namespace xpusim::gpu
