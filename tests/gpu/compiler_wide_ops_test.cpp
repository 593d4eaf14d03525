// Lowering of 64-bit floats and divisions, narrow floats, atomics with results, calls and functions
// of several blocks: instruction counts worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/gpu/core/kernel_image.h"
#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

constexpr const char* kHead =
    R"(#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
)";

/// A kernel of four warps over pointers %d (f64), %f (f32), %i (i32), %l (i64), %q (f8) and %n.
std::string kernel_text(const std::string& body, const std::string& other = "") {
  return kHead +
         std::string(
             R"(  tt.func public @k(%d: !tt.ptr<f64> {tt.divisibility = 16 : i32}, %f: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %i: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %l: !tt.ptr<i64> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f8E4M3FN> {tt.divisibility = 16 : i32}, %n: i32) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #b>
    %ds = tt.splat %d : !tt.ptr<f64> -> tensor<512x!tt.ptr<f64>, #b>
    %fs = tt.splat %f : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
    %is = tt.splat %i : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #b>
    %ls = tt.splat %l : !tt.ptr<i64> -> tensor<512x!tt.ptr<i64>, #b>
    %qs = tt.splat %q : !tt.ptr<f8E4M3FN> -> tensor<512x!tt.ptr<f8E4M3FN>, #b>
    %dp = tt.addptr %ds, %r : tensor<512x!tt.ptr<f64>, #b>, tensor<512xi32, #b>
    %fp = tt.addptr %fs, %r : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    %ip = tt.addptr %is, %r : tensor<512x!tt.ptr<i32>, #b>, tensor<512xi32, #b>
    %lp = tt.addptr %ls, %r : tensor<512x!tt.ptr<i64>, #b>, tensor<512xi32, #b>
    %qp = tt.addptr %qs, %r : tensor<512x!tt.ptr<f8E4M3FN>, #b>, tensor<512xi32, #b>
)") + body +
         "    tt.return\n  }\n" + other + "}\n";
}

/// Counts by mnemonic of a kernel that an SM can read too.
std::map<std::string, int> counts(const std::string& text) {
  const auto program = test::compile_text(text);
  EXPECT_TRUE(program) << program.error().str();
  std::map<std::string, int> n;
  if (!program) return n;
  const auto image = decode(*program);
  EXPECT_TRUE(image) << image.error().str();
  for (const auto& i : program->code) ++n[i.mnemonic];
  return n;
}

std::map<std::string, int> doubles(const std::string& ops) {
  return counts(kernel_text("    %x = tt.load %dp : tensor<512x!tt.ptr<f64>, #b>\n" + ops +
                            "    tt.store %dp, %y : tensor<512x!tt.ptr<f64>, #b>\n"));
}

TEST(LowerDoubles, SumsProductsAndComparisonsAreOneInstructionAnElement) {
  auto n = doubles(R"(    %s = arith.addf %x, %x : tensor<512xf64, #b>
    %p = arith.mulf %s, %x : tensor<512xf64, #b>
    %c = arith.cmpf olt, %p, %x : tensor<512xf64, #b>
    %y = arith.select %c, %p, %x : tensor<512xi1, #b>, tensor<512xf64, #b>
)");
  EXPECT_EQ(n["LDG.E.128"], 2);  // two elements each
  EXPECT_EQ(n["DADD"], 4);
  EXPECT_EQ(n["DMUL"], 4);
  EXPECT_EQ(n["DSETP"], 4);
  EXPECT_EQ(n["FSEL"], 8);  // both halves
}

TEST(LowerDoubles, AQuotientIsAReciprocalOfTheUpperHalfThatIsRefined) {
  auto n = doubles("    %y = arith.divf %x, %x : tensor<512xf64, #b>\n");
  EXPECT_EQ(n["MUFU.RCP64H"], 4);
  EXPECT_EQ(n["DFMA"], 4 * 7);
  EXPECT_EQ(n["DMUL"], 4);
}

TEST(LowerDoubles, ConversionsGoThroughTheSpecialFunctionUnit) {
  auto n = doubles(R"(    %s = arith.truncf %x : tensor<512xf64, #b> to tensor<512xf32, #b>
    %y = arith.extf %s : tensor<512xf32, #b> to tensor<512xf64, #b>
)");
  EXPECT_EQ(n["F2F.F32.F64"], 4);
  EXPECT_EQ(n["F2F.F64.F32"], 4);
}

TEST(LowerDoubles, UnknownFunctionsAreRefusedByName) {
  const auto program = test::compile_text(kernel_text(
      R"(    %x = tt.load %dp : tensor<512x!tt.ptr<f64>, #b>
    %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_lgamma"} : (tensor<512xf64, #b>) -> tensor<512xf64, #b>
)"));
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().str(), testing::HasSubstr("__nv_lgamma on 64-bit elements"));
}

TEST(LowerWideDivision, ByAConstantTakesFourWideProducts) {
  auto n = counts(kernel_text(R"(    %x = tt.load %lp : tensor<512x!tt.ptr<i64>, #b>
    %c = arith.constant dense<10> : tensor<512xi64, #b>
    %y = arith.divui %x, %c : tensor<512xi64, #b>
    tt.store %lp, %y : tensor<512x!tt.ptr<i64>, #b>
)"));
  EXPECT_EQ(n["IMAD.WIDE.U32"], 4 * 3);
  EXPECT_EQ(n["IMAD.WIDE.U32.X"], 4);
  EXPECT_EQ(n["I2F.U32.RP"], 0);
}

TEST(LowerWideDivision, ByANumberTakesTheShortWayWhereUpperHalvesAreZero) {
  auto n = counts(kernel_text(R"(    %x = tt.load %lp : tensor<512x!tt.ptr<i64>, #b>
    %y = arith.remui %x, %x : tensor<512xi64, #b>
    tt.store %lp, %y : tensor<512x!tt.ptr<i64>, #b>
)"));
  EXPECT_EQ(n["MUFU.RCP"], 4);
  EXPECT_EQ(n["BSSY"], 4);
}

TEST(LowerNarrowFloats, TwoElementsOfEightBitsAreUnpackedAtOnce) {
  auto n = counts(kernel_text(R"(    %x = tt.load %qp : tensor<512x!tt.ptr<f8E4M3FN>, #b>
    %w = tt.fp_to_fp %x : tensor<512xf8E4M3FN, #b> -> tensor<512xf32, #b>
    %y = tt.fp_to_fp %w, rounding = rtne : tensor<512xf32, #b> -> tensor<512xf8E4M3FN, #b>
    tt.store %qp, %y : tensor<512x!tt.ptr<f8E4M3FN>, #b>
)"));
  EXPECT_EQ(n["LDG.E"], 1);
  EXPECT_EQ(n["F2FP.F16.E4M3.UNPACK_B"], 2);
  EXPECT_EQ(n["HADD2.F32"], 4);
  EXPECT_EQ(n["F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C"], 2);
  EXPECT_EQ(n["STG.E"], 1);
}

TEST(LowerAtomics, TheResultOfAScalarPassesThroughSharedMemory) {
  auto n = counts(kernel_text(R"(    %one = arith.constant 1 : i32
    %true = arith.constant true
    %old = tt.atomic_rmw add, acq_rel, gpu, %i, %one, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %t = tt.splat %old : i32 -> tensor<512xi32, #b>
    tt.store %ip, %t : tensor<512x!tt.ptr<i32>, #b>
)"));
  EXPECT_EQ(n["ATOMG.E"], 1);
  EXPECT_EQ(n["MEMBAR.ALL.GPU"], 1);
  EXPECT_EQ(n["STS"], 1);
  EXPECT_EQ(n["BAR.SYNC.DEFER_BLOCKING"], 1);
  EXPECT_EQ(n["LDS"], 1);
}

TEST(LowerAtomics, EachLaneKeepsTheResultsOfItsTile) {
  auto n = counts(kernel_text(R"(    %x = tt.load %ip : tensor<512x!tt.ptr<i32>, #b>
    %true = arith.constant dense<true> : tensor<512xi1, #b>
    %old = tt.atomic_rmw add, relaxed, gpu, %ip, %x, %true : (tensor<512x!tt.ptr<i32>, #b>, tensor<512xi32, #b>, tensor<512xi1, #b>) -> tensor<512xi32, #b>
    tt.store %ip, %old : tensor<512x!tt.ptr<i32>, #b>
)"));
  EXPECT_EQ(n["ATOMG.E"], 4);
  EXPECT_EQ(n["STS"], 0);
}

TEST(LowerAtomics, SumsOfFloatsTakeFourElementsAtOnce) {
  auto n = counts(kernel_text(R"(    %x = tt.load %fp : tensor<512x!tt.ptr<f32>, #b>
    %true = arith.constant dense<true> : tensor<512xi1, #b>
    %old = tt.atomic_rmw fadd, relaxed, gpu, %fp, %x, %true : (tensor<512x!tt.ptr<f32>, #b>, tensor<512xf32, #b>, tensor<512xi1, #b>) -> tensor<512xf32, #b>
)"));
  EXPECT_EQ(n["RED.E.ADD.F"], 1);
}

TEST(LowerAtomics, ALockIsTakenByALoopOfSwaps) {
  auto n = counts(kernel_text(R"(    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.while : () -> () {
      %old = tt.atomic_cas acq_rel, gpu, %i, %z, %one : (!tt.ptr<i32>, i32, i32) -> i32
      %c = arith.cmpi eq, %old, %one : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
)"));
  EXPECT_EQ(n["ATOMG.E.CAS"], 1);
  EXPECT_EQ(n["BAR.SYNC.DEFER_BLOCKING"], 2);  // the iteration before has read the result too
}

TEST(LowerCall, TheFunctionStandsBetweenCallAndReturn) {
  auto n =
      counts(kernel_text(R"(    %x = tt.load %f : !tt.ptr<f32>
    %y = tt.call @root(%x) : (f32) -> f32
    %z = tt.call @root(%y) : (f32) -> f32
    %t = tt.splat %z : f32 -> tensor<512xf32, #b>
    tt.store %fp, %t : tensor<512x!tt.ptr<f32>, #b>
)",
                         R"(  tt.func private @root(%v: f32) -> f32 attributes {noinline = true} {
    %s = math.sqrt %v : f32
    tt.return %s : f32
  }
)"));
  EXPECT_EQ(n["CALL.REL.NOINC"], 2);
  EXPECT_EQ(n["RET.REL.NODEC"], 2);
  EXPECT_EQ(n["MUFU.SQRT"], 2);
}

TEST(LowerBlocks, AnEarlyReturnEndsTheWarp) {
  const std::string text = kHead + std::string(R"(  tt.func public @k(%f: !tt.ptr<f32>, %n: i32) {
    %z = arith.constant 0 : i32
    %c = arith.cmpi sle, %n, %z : i32
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    tt.return
  ^bb2:
    %x = tt.load %f : !tt.ptr<f32>
    %s = math.sqrt %x : f32
    tt.store %f, %s : !tt.ptr<f32>
    tt.return
  }
}
)");
  auto n = counts(text);
  EXPECT_GE(n["EXIT"], 2);
  EXPECT_EQ(n["BRA"], 2);
  EXPECT_EQ(n["MUFU.SQRT"], 1);
}

}  // namespace
}  // namespace xpusim::gpu
