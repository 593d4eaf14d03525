// The passes' rules one by one, on small kernels with results computed by hand.

#include <gmock/gmock.h>

#include "models/gpu/compiler/passes/encodings.h"
#include "tests/gpu/passes_text.h"

namespace xpusim::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string compiled(const std::string& body, passes::Target target = {}) {
  const auto module = test::compile_ttir(test::ttir(body), target);
  return module ? kernel::print_module(*module) : module.error().str();
}

TEST(PassesSpread, FillsTheFirstDimensionsWithThreadsThenWarpsAndLeavesTheRestToTheLast) {
  const auto b = passes::spread({128, 32}, {1, 8}, {1, 0}, 4);
  EXPECT_THAT(b.threads, ElementsAre(8, 4));
  EXPECT_THAT(b.warps, ElementsAre(4, 1));
  const auto wide = passes::spread({16, 256}, {1, 4}, {1, 0}, 8);
  EXPECT_THAT(wide.threads, ElementsAre(1, 32));
  EXPECT_THAT(wide.warps, ElementsAre(4, 2));
}

TEST(PassesSpread, GivesATileSmallerThanTheBlockCopies) {
  const auto b = passes::spread({8}, {1}, {0}, 4);
  EXPECT_THAT(b.threads, ElementsAre(32));
  EXPECT_THAT(b.warps, ElementsAre(4));
}

constexpr const char* kCopy =
    "    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>\n"
    "    %s = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>\n"
    "    %p = tt.addptr %s, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>\n"
    "    %v = tt.load %p : tensor<1024x!tt.ptr<f32>>\n"
    "    %t = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>\n"
    "    %q = tt.addptr %t, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>\n"
    "    tt.store %q, %v : tensor<1024x!tt.ptr<f32>>\n";

TEST(PassesCoalesce, MovesSixteenBytesAThreadWhereElementsAreNeighboursAndAligned) {
  EXPECT_THAT(compiled(kCopy), HasSubstr("sizePerThread = [4]"));
}

TEST(PassesCoalesce, LeavesNoThreadWithoutWork) {
  EXPECT_THAT(compiled(kCopy, {16}), HasSubstr("sizePerThread = [2]"));  // 1024 / 512 threads
}

TEST(PassesCoalesce, TakesStridedElementsOneByOne) {
  const std::string strided =
      "    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>\n"
      "    %two = arith.constant dense<2> : tensor<1024xi32>\n"
      "    %o = arith.muli %r, %two : tensor<1024xi32>\n"
      "    %s = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>\n"
      "    %p = tt.addptr %s, %o : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>\n"
      "    %v = tt.load %p : tensor<1024x!tt.ptr<f32>>\n"
      "    tt.store %p, %v : tensor<1024x!tt.ptr<f32>>\n";
  const std::string text = compiled(strided);
  EXPECT_THAT(text, HasSubstr("sizePerThread = [1]"));
  EXPECT_THAT(text, Not(HasSubstr("convert_layout")));
}

// A tile is read along its rows and written along its columns: its data must change hands once, its
// indices are computed anew.
TEST(PassesRematerialize, ConvertsDataButNotIndices) {
  const std::string transpose =
      "    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>\n"
      "    %i = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>\n"
      "    %j = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>\n"
      "    %c = arith.constant dense<64> : tensor<64x1xi32>\n"
      "    %d = arith.constant dense<64> : tensor<1x64xi32>\n"
      "    %ic = arith.muli %i, %c : tensor<64x1xi32>\n"
      "    %jd = arith.muli %j, %d : tensor<1x64xi32>\n"
      "    %b0 = tt.broadcast %ic : tensor<64x1xi32> -> tensor<64x64xi32>\n"
      "    %b1 = tt.broadcast %j : tensor<1x64xi32> -> tensor<64x64xi32>\n"
      "    %b2 = tt.broadcast %i : tensor<64x1xi32> -> tensor<64x64xi32>\n"
      "    %b3 = tt.broadcast %jd : tensor<1x64xi32> -> tensor<64x64xi32>\n"
      "    %from = arith.addi %b0, %b1 : tensor<64x64xi32>\n"
      "    %to = arith.addi %b2, %b3 : tensor<64x64xi32>\n"
      "    %s = tt.splat %x : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>\n"
      "    %p = tt.addptr %s, %from : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>\n"
      "    %v = tt.load %p : tensor<64x64x!tt.ptr<f32>>\n"
      "    %t = tt.splat %y : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>\n"
      "    %q = tt.addptr %t, %to : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>\n"
      "    tt.store %q, %v : tensor<64x64x!tt.ptr<f32>>\n";
  const auto module = test::compile_ttir(test::ttir(transpose), {});
  ASSERT_TRUE(module) << module.error().str();
  EXPECT_EQ(test::count_ops(*module, "ttg.convert_layout"), 1);
  const std::string text = kernel::print_module(*module);
  EXPECT_THAT(text, HasSubstr("sizePerThread = [1, 4]"));
  EXPECT_THAT(text, HasSubstr("sizePerThread = [4, 1]"));
}

/// A loop of `side` x 64 x 64 products of 32-bit elements, rounded to tf32.
std::string product(int side) {
  const std::string m = std::to_string(side);
  const std::string a = m + "x64x", b = "64x64x", c = m + "x64xf32";
  return "    %zero = arith.constant 0 : i32\n    %step = arith.constant 64 : i32\n"
         "    %acc = arith.constant dense<0.0> : tensor<" +
         c +
         ">\n"
         "    %r = tt.make_range {end = " +
         m + " : i32, start = 0 : i32} : tensor<" + m +
         "xi32>\n"
         "    %k = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>\n"
         "    %i = tt.expand_dims %r {axis = 1 : i32} : tensor<" +
         m + "xi32> -> tensor<" + m +
         "x1xi32>\n    %j = tt.expand_dims %k {axis = 0 : i32} : tensor<64xi32> -> "
         "tensor<1x64xi32>\n    %h = tt.expand_dims %k {axis = 1 : i32} : tensor<64xi32> -> "
         "tensor<64x1xi32>\n"
         "    %nm = tt.splat %n : i32 -> tensor<" +
         m +
         "x1xi32>\n"
         "    %nk = tt.splat %n : i32 -> tensor<64x1xi32>\n"
         "    %in = arith.muli %i, %nm : tensor<" +
         m +
         "x1xi32>\n"
         "    %hn = arith.muli %h, %nk : tensor<64x1xi32>\n"
         "    %ib = tt.broadcast %in : tensor<" +
         m + "x1xi32> -> tensor<" + a +
         "i32>\n"
         "    %jb = tt.broadcast %j : tensor<1x64xi32> -> tensor<" +
         a +
         "i32>\n"
         "    %hb = tt.broadcast %hn : tensor<64x1xi32> -> tensor<" +
         b +
         "i32>\n"
         "    %jc = tt.broadcast %j : tensor<1x64xi32> -> tensor<" +
         b +
         "i32>\n"
         "    %ao = arith.addi %ib, %jb : tensor<" +
         a +
         "i32>\n"
         "    %bo = arith.addi %hb, %jc : tensor<" +
         b +
         "i32>\n"
         "    %as = tt.splat %x : !tt.ptr<f32> -> tensor<" +
         a +
         "!tt.ptr<f32>>\n"
         "    %bs = tt.splat %y : !tt.ptr<f32> -> tensor<" +
         b +
         "!tt.ptr<f32>>\n"
         "    %cs = tt.splat %z : !tt.ptr<f32> -> tensor<" +
         a +
         "!tt.ptr<f32>>\n"
         "    %ap = tt.addptr %as, %ao : tensor<" +
         a + "!tt.ptr<f32>>, tensor<" + a +
         "i32>\n"
         "    %bp = tt.addptr %bs, %bo : tensor<" +
         b + "!tt.ptr<f32>>, tensor<" + b +
         "i32>\n"
         "    %cp = tt.addptr %cs, %ao : tensor<" +
         a + "!tt.ptr<f32>>, tensor<" + a +
         "i32>\n"
         "    %d = arith.constant dense<64> : tensor<" +
         a +
         "i32>\n"
         "    %out:2 = scf.for %kk = %zero to %n step %step iter_args(%ca = %acc, %pa = %ap) -> "
         "(tensor<" +
         c + ">, tensor<" + a +
         "!tt.ptr<f32>>) : i32 {\n"
         "      %av = tt.load %pa : tensor<" +
         a +
         "!tt.ptr<f32>>\n"
         "      %bv = tt.load %bp : tensor<" +
         b +
         "!tt.ptr<f32>>\n"
         "      %cv = tt.dot %av, %bv, %ca, inputPrecision = tf32 : tensor<" +
         a + "f32> * tensor<" + b + "f32> -> tensor<" + c +
         ">\n"
         "      %pn = tt.addptr %pa, %d : tensor<" +
         a + "!tt.ptr<f32>>, tensor<" + a +
         "i32>\n"
         "      scf.yield %cv, %pn : tensor<" +
         c + ">, tensor<" + a +
         "!tt.ptr<f32>>\n    }\n"
         "    tt.store %cp, %out#0 : tensor<" +
         a + "!tt.ptr<f32>>\n";
}

TEST(PassesProducts, TakeWgmmaFromSixtyFourRowsAndAWarpGroupOn) {
  EXPECT_THAT(compiled(product(64)), HasSubstr("ttng.warp_group_dot "));
  EXPECT_THAT(compiled(product(64)), HasSubstr("instrShape = [16, 64, 8]"));
  EXPECT_THAT(compiled(product(32)), HasSubstr("versionMajor = 2"));
  EXPECT_THAT(compiled(product(64), {2}), HasSubstr("versionMajor = 2"));
}

TEST(PassesPipeline, CopiesAheadByAllButOneStage) {
  for (const std::int64_t stages : {2, 3, 4}) {
    const auto module = test::compile_ttir(test::ttir(product(64)), {4, stages});
    ASSERT_TRUE(module) << module.error().str();
    // Two copies an iteration ahead before the loop, and two in it.
    EXPECT_EQ(test::count_ops(*module, "ttg.async_copy_global_to_local"), 2 * stages);
    const std::string text = kernel::print_module(*module);
    EXPECT_THAT(text, HasSubstr("memdesc<" + std::to_string(stages) + "x64x64xf32"));
    EXPECT_THAT(text, HasSubstr("{num = " + std::to_string(2 * (stages - 2)) + " : i32}"));
  }
}

// mma.sync reads its factors into registers at once: a buffer is free again one iteration earlier.
TEST(PassesPipeline, NeedsABufferLessWithMma) {
  EXPECT_THAT(compiled(product(32), {4, 4}), HasSubstr("memdesc<3x32x64xf32"));
}

TEST(PassesPipeline, LeavesALoopWithOneStageAsItIs) {
  const auto module = test::compile_ttir(test::ttir(product(64)), {4, 1});
  ASSERT_TRUE(module) << module.error().str();
  EXPECT_EQ(test::count_ops(*module, "ttg.async_copy_global_to_local"), 0);
  EXPECT_EQ(test::count_ops(*module, "tt.load"), 2);
  EXPECT_EQ(test::count_ops(*module, "ttng.fence_async_shared"), 1);
}

TEST(PassesLaunch, LetsOneProductRunIntoTheNextIteration) {
  const std::string text = compiled(product(64));
  EXPECT_THAT(text, HasSubstr("isAsync = true"));
  EXPECT_THAT(text, HasSubstr("{pendings = 1 : i32}"));
  EXPECT_THAT(text, HasSubstr("{pendings = 0 : i32}"));
}

TEST(PassesErrors, NameWhatIsWrongWithWarpsAndStages) {
  EXPECT_EQ(compiled(kCopy, {3}),
            "k.ttir: error: num_warps is a power of two from 1 to 32, not 3\n");
  EXPECT_EQ(compiled(kCopy, {4, 0}), "k.ttir: error: num_stages is from 1 to 16, not 0\n");
}

TEST(PassesErrors, NameAnOpThatHasNoPlaceAndItsLine) {
  const auto module = test::compile_ttir(
      "module {\n  tt.func public @k(%d: !tt.tensordesc<tensor<64x64xf32>>, %i: i32) {\n"
      "    %v = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<64x64xf32>> -> "
      "tensor<64x64xf32>\n    tt.return\n  }\n}\n");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().str(), "k.ttir:3:5: error: tt.descriptor_load has no layouts yet\n");
}

TEST(PassesErrors, TakeNoKernelThatHasLayouts) {
  auto module = kernel::read_module("module attributes {\"ttg.num-warps\" = 4 : i32} {\n}\n", "k");
  ASSERT_TRUE(module) << module.error().str();
  const auto again = passes::to_ttgir(*module, {});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().str(), HasSubstr("these passes take kernels in TTIR form"));
}

}  // namespace
}  // namespace xpusim::gpu
