// What each op becomes, on small kernels of one tile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A kernel of 512 f32 elements over 4 warps (one vector of 4 a thread): `body` sees %p (pointers),
/// %m (a mask), %x (a masked load), %z (a tile of zeros), %s (a float scalar) and %out.
std::string kernel_text(const std::string& body) {
  return R"(#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%in: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %s: f32) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #blocked>
    %nn = tt.splat %n : i32 -> tensor<512xi32, #blocked>
    %m = arith.cmpi slt, %r, %nn : tensor<512xi32, #blocked>
    %z = arith.constant dense<0.000000e+00> : tensor<512xf32, #blocked>
    %b = tt.splat %in : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
    %p = tt.addptr %b, %r : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
    %ob = tt.splat %out : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
    %q = tt.addptr %ob, %r : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
)" + body +
         R"(
    tt.return
  }
}
)";
}

using test::compile_text;

std::map<std::string, int> counts(const std::string& body) {
  return test::count_mnemonics(kernel_text(body));
}

const std::string kLoad = "    %x = tt.load %p : tensor<512x!tt.ptr<f32>, #blocked>\n";
const std::string kStore = "    tt.store %q, %y : tensor<512x!tt.ptr<f32>, #blocked>\n";

std::string unary(const std::string& op) {
  return kLoad + "    %y = " + op + " %x : tensor<512xf32, #blocked>\n" + kStore;
}

TEST(Lowering, AWholeTileMovesInOneVectorAThread) {
  auto n = counts(kLoad + "    tt.store %q, %x : tensor<512x!tt.ptr<f32>, #blocked>\n");
  EXPECT_EQ(n["LDG.E.128"], 1);
  EXPECT_EQ(n["STG.E.128"], 1);
  EXPECT_EQ(n["IMAD.WIDE"], 2);
  EXPECT_EQ(n["CS2R"], 0) << "nothing is masked";
  EXPECT_EQ(n["MOV"], 0) << "what was loaded side by side is stored from there";
  EXPECT_EQ(n["EXIT"], 1);
}

TEST(Lowering, AMaskedLoadZeroesItsDestinationTwoWordsAtOnce) {
  auto n = counts("    %y = tt.load %p, %m : tensor<512x!tt.ptr<f32>, #blocked>\n" + kStore);
  EXPECT_EQ(n["CS2R"], 2);
  EXPECT_EQ(n["ISETP"], 1);
}

TEST(Lowering, OtherThanZeroTakesAMoveAWord) {
  auto n = counts(
      "    %c = arith.constant dense<0xFF800000> : tensor<512xf32, #blocked>\n"
      "    %y = tt.load %p, %m, %c : tensor<512x!tt.ptr<f32>, #blocked>\n" +
      kStore);
  EXPECT_EQ(n["CS2R"], 0);
  EXPECT_EQ(n["MOV"] + n["IMAD.MOV.U32"], 4);
}

TEST(Lowering, AMaskedLastStoreBecomesAnEarlyExit) {
  const auto program = compile_text(
      kernel_text(kLoad + "    tt.store %q, %x, %m : tensor<512x!tt.ptr<f32>, #blocked>\n"));
  ASSERT_TRUE(program) << program.error().str();
  const auto& code = program->code;
  ASSERT_GE(code.size(), 3u);
  const Instruction& exit = code[code.size() - 3];
  const Instruction& store = code[code.size() - 2];
  EXPECT_EQ(exit.op, Opcode::kExit);
  EXPECT_NE(exit.guard, kNoGuard);
  EXPECT_TRUE(exit.guard_negated);
  EXPECT_EQ(exit.site, store.site);
  EXPECT_EQ(store.op, Opcode::kStg);
  EXPECT_EQ(store.guard, kNoGuard);
}

TEST(Lowering, ExpIsScaledBothWaysUnderAPredicate) {
  auto n = counts(unary("math.exp"));
  EXPECT_EQ(n["FMUL"], 3 * 4);
  EXPECT_EQ(n["FSETP"], 4);
  EXPECT_EQ(n["MUFU.EX2"], 4);
}

TEST(Lowering, Exp2IsOneInstruction) {
  auto n = counts(unary("math.exp2"));
  EXPECT_EQ(n["MUFU.EX2"], 4);
  EXPECT_EQ(n["FMUL"], 0);
}

TEST(Lowering, DivisionByAScalarLooksItsReciprocalUpOnce) {
  auto n = counts(kLoad +
                  "    %d = tt.splat %s : f32 -> tensor<512xf32, #blocked>\n"
                  "    %y = arith.divf %x, %d : tensor<512xf32, #blocked>\n" +
                  kStore);
  EXPECT_EQ(n["MUFU.RCP"], 1);
  EXPECT_EQ(n["FSETP"], 2);
  EXPECT_EQ(n["FMUL"], 2 + 3 * 4);
}

TEST(Lowering, AProductThatOnlyASumReadsIsFused) {
  auto n = counts(kLoad +
                  "    %d = tt.splat %s : f32 -> tensor<512xf32, #blocked>\n"
                  "    %t = arith.mulf %x, %d : tensor<512xf32, #blocked>\n"
                  "    %y = arith.addf %t, %x : tensor<512xf32, #blocked>\n" +
                  kStore);
  EXPECT_EQ(n["FFMA"], 4);
  EXPECT_EQ(n["FMUL"] + n["FADD"], 0);
}

TEST(Lowering, AProductThatSomethingElseReadsTooIsNot) {
  auto n = counts(kLoad +
                  "    %d = tt.splat %s : f32 -> tensor<512xf32, #blocked>\n"
                  "    %t = arith.mulf %x, %d : tensor<512xf32, #blocked>\n"
                  "    %u = arith.addf %t, %x : tensor<512xf32, #blocked>\n"
                  "    %y = arith.maxnumf %t, %u : tensor<512xf32, #blocked>\n" +
                  kStore);
  EXPECT_EQ(n["FMUL"], 4);
  EXPECT_EQ(n["FADD"], 4);
  EXPECT_EQ(n["FMNMX"], 4);
}

TEST(Lowering, AReductionShufflesWithinWarpsAndMeetsInSharedMemory) {
  const std::string body = kLoad + R"(    %y = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %c: f32):
      %t = arith.addf %a, %c : f32
      tt.reduce.return %t : f32
    }) : (tensor<512xf32, #blocked>) -> f32
    tt.store %out, %y : !tt.ptr<f32>
)";
  auto n = counts(body);
  EXPECT_EQ(n["SHFL.BFLY"], 5 + 2);  // 32 lanes, then 4 warps
  EXPECT_EQ(n["FADD"], 3 + 5 + 2);   // 4 registers, then as many as shuffles
  EXPECT_EQ(n["STS"], 2);
  EXPECT_EQ(n["LDS"], 2);
  EXPECT_EQ(n["BAR.SYNC.DEFER_BLOCKING"], 2);
  EXPECT_EQ(n["STG.E"], 1);
  const auto program = compile_text(kernel_text(body));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->shared_bytes, 16);  // as Triton reports for 4 warps
  EXPECT_TRUE(program->sites[1].lane_zero_only);
  EXPECT_TRUE(program->sites[1].warp_zero_only);
}

TEST(Lowering, AMisalignedRowIsLoadedElementByElement) {
  std::string text =
      kernel_text(kLoad + "    tt.store %q, %x : tensor<512x!tt.ptr<f32>, #blocked>\n");
  const std::string aligned = "%in: !tt.ptr<f32> {tt.divisibility = 16 : i32}";
  text.replace(text.find(aligned), aligned.size(), "%in: !tt.ptr<f32>");
  const auto program = compile_text(text);
  ASSERT_TRUE(program) << program.error().str();
  std::map<std::string, int> n;
  for (const auto& i : program->code) ++n[i.mnemonic];
  EXPECT_EQ(n["LDG.E"], 4);
  EXPECT_EQ(n["STG.E.128"], 1);
}

TEST(Lowering, TheSmallestKernelIsThisText) {
  const auto program = compile_text(
      kernel_text(kLoad + "    tt.store %q, %x : tensor<512x!tt.ptr<f32>, #blocked>\n"));
  ASSERT_TRUE(program) << program.error().str();
  std::vector<std::string> mnemonics;
  for (const auto& i : program->code) mnemonics.push_back(i.mnemonic);
  EXPECT_THAT(mnemonics, ElementsAre("LDC", "S2R", "ULDC.64", "LDC.64", "LDC.64", "SHF.L", "LOP3",
                                     "IMAD.WIDE", "LDG.E.128", "IMAD.WIDE", "STG.E.128", "EXIT"));
}

TEST(Lowering, AnOpWithoutALoweringIsNamedWithItsLine) {
  const auto program = compile_text(kernel_text(unary("math.tan")));
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().list()[0].str(),
              HasSubstr("error: 'math.tan' is not yet lowered for the GPU"));
  EXPECT_EQ(program.error().list()[0].where.line, 13);
}

TEST(Lowering, UnsupportedOpsAreListedOnce) {
  const auto module = kernel::read_module(kernel_text(unary("math.tan")), "k.ttgir");
  ASSERT_TRUE(module);
  EXPECT_THAT(unsupported_ops(*module), ElementsAre("math.tan"));
}

/// Mnemonics of an atomic's instructions, by its memory order.
std::vector<std::string> atomic(const std::string& order) {
  const std::string tile =
      "(tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xf32, #blocked>, "
      "tensor<512xi1, #blocked>) -> tensor<512xf32, #blocked>\n";
  const auto program =
      compile_text(kernel_text("    %a = tt.atomic_rmw exch, " + order + ", %q, %z, %m : " + tile));
  EXPECT_TRUE(program) << program.error().str();
  std::vector<std::string> found;
  if (!program) return found;
  for (const auto& i : program->code) {
    const bool mine = i.op == Opcode::kMembar || i.op == Opcode::kNop || i.op == Opcode::kAtom ||
                      i.op == Opcode::kRed || i.op == Opcode::kCctl;
    if (mine && found.size() < 6) found.push_back(i.mnemonic);
  }
  return found;
}

TEST(Lowering, AtomicsThatAcquireAndReleaseAreFencedAndReturn) {
  EXPECT_THAT(atomic("acq_rel, gpu"),
              ElementsAre("BSSY", "BRA", "MEMBAR.ALL.GPU", "ERRBAR", "CGAERRBAR", "ATOMG.E"));
  EXPECT_THAT(atomic("acquire, gpu"), ElementsAre("ATOMG.E", "CCTL.IVALL", "ATOMG.E", "CCTL.IVALL",
                                                  "ATOMG.E", "CCTL.IVALL"));
  EXPECT_THAT(atomic("relaxed, gpu"), ElementsAre("RED.E", "RED.E", "RED.E", "RED.E"));
  EXPECT_THAT(atomic("acq_rel, cta"), ElementsAre("RED.E", "RED.E", "RED.E", "RED.E"));
}

}  // namespace
}  // namespace xpusim::gpu
