// What the compiler makes of pointwise kernels: rules of LLVM and of the vendor's assembler that
// listings of torch.compile's kernels show, on a few ops each; instruction counts worked out by
// hand.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/lowering/builder.h"
#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

constexpr const char* kHead =
    R"(#b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%f: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %g: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %h: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %i: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %l: !tt.ptr<i64> {tt.divisibility = 16 : i32}, %n: i32) {
    %c256 = arith.constant 256 : i32
    %pid = tt.get_program_id x : i32
    %o = arith.muli %pid, %c256 : i32
    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #b>
    %os = tt.splat %o : i32 -> tensor<256xi32, #b>
    %x = arith.addi %os, %r : tensor<256xi32, #b>
    %fs = tt.splat %f : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #b>
    %gs = tt.splat %g : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #b>
    %hs = tt.splat %h : !tt.ptr<bf16> -> tensor<256x!tt.ptr<bf16>, #b>
    %is = tt.splat %i : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #b>
    %ls = tt.splat %l : !tt.ptr<i64> -> tensor<256x!tt.ptr<i64>, #b>
    %fp = tt.addptr %fs, %x : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %gp = tt.addptr %gs, %x : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %hp = tt.addptr %hs, %x : tensor<256x!tt.ptr<bf16>, #b>, tensor<256xi32, #b>
    %ip = tt.addptr %is, %x : tensor<256x!tt.ptr<i32>, #b>, tensor<256xi32, #b>
    %lp = tt.addptr %ls, %x : tensor<256x!tt.ptr<i64>, #b>, tensor<256xi32, #b>
    %zero = arith.constant dense<0.0> : tensor<256xf32, #b>
    %one = arith.constant dense<1.0> : tensor<256xf32, #b>
)";

/// Counts by mnemonic of a kernel of four warps and two elements a thread, whose index %x goes
/// through the pointers %fp and %gp (f32), %hp (bf16), %ip (i32) and %lp (i64).
std::map<std::string, int> counts(const std::string& ops) {
  return test::count_mnemonics(kHead + ops + "    tt.return\n  }\n}\n");
}

TEST(Pointwise, AnIndexOfOneAddressIsAddedInHalvesAndASharedOneByWideProducts) {
  auto one = counts("    tt.store %fp, %zero : tensor<256x!tt.ptr<f32>, #b>\n");
  EXPECT_EQ(one["LEA.CO"], 1);
  EXPECT_EQ(one["LEA.HI.X.SX32"], 1);
  EXPECT_EQ(one["IMAD.WIDE"], 0);
  EXPECT_EQ(one["LDC.64"], 0);  // the pointer is in a uniform register
  auto two = counts(R"(    %v = tt.load %fp : tensor<256x!tt.ptr<f32>, #b>
    tt.store %gp, %v : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(two["LEA.CO"], 0);
  EXPECT_EQ(two["IMAD.WIDE"], 2);
  EXPECT_EQ(two["LDC.64"], 2);
}

TEST(Pointwise, LoadsThatSayHowToEvictTakeAPolicyOfTheUniformDatapath) {
  auto always =
      counts(R"(    %v = tt.load %fp evictionPolicy = evict_last : tensor<256x!tt.ptr<f32>, #b>
    %w = tt.load %gp evictionPolicy = evict_last : tensor<256x!tt.ptr<f32>, #b>
    %s = arith.addf %v, %w : tensor<256xf32, #b>
    tt.store %fp, %s : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(always["ULOP3"], 1);  // both share it
  EXPECT_EQ(always["UMOV"], 3);
  EXPECT_EQ(always["USHF.R"] + always["USHF.L"], 2);
  auto masked = counts(R"(    %b = tt.splat %n : i32 -> tensor<256xi32, #b>
    %m = arith.cmpi slt, %x, %b : tensor<256xi32, #b>
    %v = tt.load %fp, %m evictionPolicy = evict_first : tensor<256x!tt.ptr<f32>, #b>
    %w = tt.load %gp, %m evictionPolicy = evict_first : tensor<256x!tt.ptr<f32>, #b>
    %y = tt.load %ip, %m evictionPolicy = evict_first : tensor<256x!tt.ptr<i32>, #b>
    %z = arith.sitofp %y : tensor<256xi32, #b> to tensor<256xf32, #b>
    %s = arith.addf %v, %w : tensor<256xf32, #b>
    %t = arith.addf %s, %z : tensor<256xf32, #b>
    tt.store %fp, %t, %m : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(masked["LDG.E"], 6);  // the bound is any number: an element each
  EXPECT_EQ(masked["ULOP3"], 3);  // two in a row share one
}

TEST(Pointwise, ZerosAreStoredFromNoRegister) {
  auto n = counts("    tt.store %fp, %zero : tensor<256x!tt.ptr<f32>, #b>\n");
  EXPECT_EQ(n["STG.E.64"], 1);
  EXPECT_EQ(n["MOV"] + n["IMAD.MOV.U32"], 0);
  auto other = counts("    tt.store %fp, %one : tensor<256x!tt.ptr<f32>, #b>\n");
  EXPECT_EQ(other["MOV"] + other["IMAD.MOV.U32"], 2);  // side by side
}

TEST(Pointwise, LogicOfPredicatesGoesIntoComparisons) {
  auto n = counts(R"(    %v = tt.load %fp : tensor<256x!tt.ptr<f32>, #b>
    %w = tt.load %gp : tensor<256x!tt.ptr<f32>, #b>
    %c = arith.cmpf ogt, %v, %w : tensor<256xf32, #b>
    %d = arith.cmpf une, %v, %v : tensor<256xf32, #b>
    %e = arith.cmpf une, %w, %w : tensor<256xf32, #b>
    %u = arith.cmpi ugt, %d, %e : tensor<256xi1, #b>
    %q = arith.ori %c, %u : tensor<256xi1, #b>
    %s = arith.select %q, %v, %w : tensor<256xi1, #b>, tensor<256xf32, #b>
    tt.store %fp, %s : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["FSETP"], 6);  // NaN test; not a NaN, and that; greater, or that
  EXPECT_EQ(n["PLOP3"], 0);
  EXPECT_EQ(n["ISETP"], 0);  // comparing truth values is logic
}

TEST(Pointwise, ThreeNumbersAreCombinedBitByBitAtOnce) {
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %a = arith.xori %v, %x : tensor<256xi32, #b>
    %c13 = arith.constant dense<13> : tensor<256xi32, #b>
    %w = arith.xori %a, %c13 : tensor<256xi32, #b>
    tt.store %ip, %w : tensor<256x!tt.ptr<i32>, #b>
)");
  EXPECT_EQ(n["LOP3"], 3);  // of the index, and one an element
}

TEST(Pointwise, NumbersThatAreTheSameEverywhereAreImmediates) {
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %c7 = arith.constant dense<7> : tensor<256xi32, #b>
    %w = arith.muli %v, %c7 : tensor<256xi32, #b>
    tt.store %ip, %w : tensor<256x!tt.ptr<i32>, #b>
)");
  EXPECT_EQ(n["MOV"] + n["IMAD.MOV.U32"], 0);
  EXPECT_EQ(n["IMAD"], 3);  // of the index, and one an element
}

TEST(Pointwise, ALongProductWithAConstantLeavesOutHalvesThatAreZero) {
  auto n = counts(R"(    %v = tt.load %lp : tensor<256x!tt.ptr<i64>, #b>
    %c = arith.constant dense<1000> : tensor<256xi64, #b>
    %w = arith.muli %v, %c : tensor<256xi64, #b>
    tt.store %lp, %w : tensor<256x!tt.ptr<i64>, #b>
)");
  EXPECT_EQ(n["IMAD.WIDE.U32"], 2);
  EXPECT_EQ(n["IMAD"], 1 + 2);  // of the index; upper halves
  auto narrow = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %c = arith.constant dense<1000> : tensor<256xi64, #b>
    %u = arith.extsi %v : tensor<256xi32, #b> to tensor<256xi64, #b>
    %w = arith.muli %u, %c : tensor<256xi64, #b>
    tt.store %lp, %w : tensor<256x!tt.ptr<i64>, #b>
)");
  EXPECT_EQ(narrow["IMAD.WIDE"], 2);  // and nothing else
  EXPECT_EQ(narrow["IMAD"], 1);
}

TEST(Pointwise, ProductsAndSumsAreOneInstruction) {
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %c7 = arith.constant dense<7> : tensor<256xi32, #b>
    %p = arith.muli %v, %c7 : tensor<256xi32, #b>
    %w = arith.addi %p, %x : tensor<256xi32, #b>
    tt.store %ip, %w : tensor<256x!tt.ptr<i32>, #b>
)");
  EXPECT_EQ(n["IMAD"], 3);   // of the index, and one an element
  EXPECT_EQ(n["IADD3"], 1);  // the second element's index
}

TEST(Pointwise, ThreeNumbersAreAddedAtOnce) {
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %w = tt.load %fp : tensor<256x!tt.ptr<f32>, #b>
    %u = arith.fptosi %w : tensor<256xf32, #b> to tensor<256xi32, #b>
    %p = arith.addi %v, %u : tensor<256xi32, #b>
    %q = arith.addi %p, %x : tensor<256xi32, #b>
    tt.store %ip, %q : tensor<256x!tt.ptr<i32>, #b>
)");
  EXPECT_EQ(n["IADD3"], 2 + 1);  // an element each, and the second one's index
  EXPECT_EQ(n["IMAD.IADD"], 0);
}

TEST(Pointwise, ASumWhoseCarryGoesOnStaysByItself) {
  MachineCode code;
  Builder b(code);
  const VReg x = b.value(Opcode::kS2r, "S2R", {}), y = b.value(Opcode::kLdc, "LDC", {});
  const VReg first = b.value(Opcode::kAlu, "IADD3", {x, y});
  const VReg low = b.value(Opcode::kAlu, "IADD3", {first, y});
  const VReg high = b.value(Opcode::kAlu, "IADD3.X", {x, y, low});
  MachineInstruction& store = b.emit(Opcode::kStg, "STG.E.64", {}, {x, y, low, high});
  store.effect = MemoryEffect::kGlobalStore;
  combine_sums(code);
  EXPECT_EQ(code.blocks[0].code.size(), 6u);
}

TEST(Pointwise, AStrideThatIsNoPowerOfTwoIsOneProductOfTheWholeCoordinate) {
  auto n = counts(R"(    %c = arith.constant dense<1000> : tensor<256xi32, #b>
    %y = arith.muli %r, %c : tensor<256xi32, #b>
    %p = tt.addptr %fs, %y : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    tt.store %p, %zero : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["IMAD"], 1);
  EXPECT_EQ(n["LOP3"], 1);  // the thread's number below 128
}

TEST(Pointwise, RegistersThatMustStandSideBySideAreClearedTogether) {
  auto n = counts(R"(    %c2 = arith.constant dense<2> : tensor<256xi32, #b>
    %c1000 = arith.constant dense<1000> : tensor<256xi32, #b>
    %m = arith.cmpi slt, %x, %c1000 : tensor<256xi32, #b>
    %y = arith.muli %x, %c2 : tensor<256xi32, #b>
    %p = tt.addptr %fs, %y : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %v = tt.load %p, %m : tensor<256x!tt.ptr<f32>, #b>
    tt.store %gp, %v, %m : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["LDG.E"], 2);     // two elements apart
  EXPECT_EQ(n["STG.E.64"], 1);  // stored as one vector
  EXPECT_EQ(n["CS2R"], 1);
  EXPECT_EQ(n["CS2R.32"], 0);
}

TEST(Pointwise, AComparisonThatAlsoHoldsForNansIsOne) {
  auto n = counts(R"(    %v = tt.load %fp : tensor<256x!tt.ptr<f32>, #b>
    %c = arith.cmpf ogt, %v, %zero : tensor<256xf32, #b>
    %d = arith.cmpf une, %v, %v : tensor<256xf32, #b>
    %q = arith.ori %c, %d : tensor<256xi1, #b>
    %s = arith.select %q, %v, %zero : tensor<256xi1, #b>, tensor<256xf32, #b>
    tt.store %fp, %s : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["FSETP"], 2);
  EXPECT_EQ(n["FSEL"], 2);
  EXPECT_EQ(n["FMNMX"], 0);  // which does not keep NaNs
}

TEST(Pointwise, ClampsOfWhatIsNeverANanAreMaximaOrSaturate) {
  const std::string raised = R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %w = arith.sitofp %v : tensor<256xi32, #b> to tensor<256xf32, #b>
    %y = arith.addf %w, %one : tensor<256xf32, #b>
    %c = arith.cmpf ogt, %y, %zero : tensor<256xf32, #b>
    %d = arith.cmpf une, %y, %y : tensor<256xf32, #b>
    %q = arith.ori %c, %d : tensor<256xi1, #b>
    %s = arith.select %q, %y, %zero : tensor<256xi1, #b>, tensor<256xf32, #b>
)";
  auto n = counts(raised + "    tt.store %fp, %s : tensor<256x!tt.ptr<f32>, #b>\n");
  EXPECT_EQ(n["FMNMX"], 2);
  EXPECT_EQ(n["FSETP"] + n["FSEL"], 0);
  auto both = counts(raised + R"(    %e = arith.cmpf olt, %s, %one : tensor<256xf32, #b>
    %t = arith.select %e, %s, %one : tensor<256xi1, #b>, tensor<256xf32, #b>
    tt.store %fp, %t : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(both["FADD.SAT"], 2);
  EXPECT_EQ(both["FADD"] + both["FMNMX"] + both["FSETP"], 0);
}

TEST(Pointwise, ASumThatIsRoundedTo16BitsIsComputedInPairsThere) {
  const std::string sum = R"(    %v = tt.load %hp : tensor<256x!tt.ptr<bf16>, #b>
    %w = arith.extf %v : tensor<256xbf16, #b> to tensor<256xf32, #b>
    %s = arith.addf %w, %one : tensor<256xf32, #b>
    %t = arith.truncf %s : tensor<256xf32, #b> to tensor<256xbf16, #b>
    tt.store %hp, %t : tensor<256x!tt.ptr<bf16>, #b>
)";
  auto n = counts(sum);
  EXPECT_EQ(n["HADD2"], 1);
  EXPECT_EQ(n["FADD"] + n["F2FP.BF16.PACK_AB"] + n["SHF.L"] + n["PRMT"], 0);
  // Where the sum itself is wanted too, it is computed in 32 bits.
  auto both = counts(sum + "    tt.store %fp, %s : tensor<256x!tt.ptr<f32>, #b>\n");
  EXPECT_EQ(both["FADD"], 2);
  EXPECT_EQ(both["F2FP.BF16.PACK_AB"], 1);
}

TEST(Pointwise, AWarpTakesBothWaysOfTanh) {
  auto n = counts(R"(    %v = tt.load %fp : tensor<256x!tt.ptr<f32>, #b>
    %w = math.tanh %v : tensor<256xf32, #b>
    tt.store %fp, %w : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["BSSY"], 2);
  EXPECT_EQ(n["BRA"], 4);  // around the one and, after it, the other
  EXPECT_EQ(n["BSYNC"], 2);
  EXPECT_EQ(n["MUFU.EX2"], 2);
}

/// Sub-kernels of one program, chosen by the block's number, as torch.compile's foreach kernels
/// are.
std::string side(const std::string& pid_offset, const char* pointer) {
  return pid_offset + R"(      %xs = tt.splat %xo : i32 -> tensor<256xi32, #b>
      %xi = arith.addi %xs, %r : tensor<256xi32, #b>
      %few = arith.constant dense<100> : tensor<256xi32, #b>
      %m = arith.cmpi slt, %xi, %few : tensor<256xi32, #b>
)" + "      %ps = tt.addptr " +
         pointer + R"(, %xi : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
      tt.store %ps, %one, %m : tensor<256x!tt.ptr<f32>, #b>
)";
}

TEST(Pointwise, ASideOfABranchKnowsTheNumberThatItsConditionLeaves) {
  const std::string first = side("      %xo = arith.muli %pid, %c256 : i32\n", "%fs");
  const std::string second = side(
      "      %c1 = arith.constant 1 : i32\n      %po = arith.subi %pid, %c1 : i32\n"
      "      %xo = arith.muli %po, %c256 : i32\n",
      "%gs");
  auto n = counts(
      "    %c = arith.constant 1 : i32\n    %q = arith.cmpi slt, %pid, %c : i32\n"
      "    scf.if %q {\n" +
      first + "    } else {\n" + second + "    }\n");
  EXPECT_EQ(n["BSSY"] + n["BSYNC"], 0);  // the ways end
  EXPECT_EQ(n["BRA"], 1);
  EXPECT_EQ(n["EXIT"], 4);  // each side: of idle warps and of all
  // The first side's block is number 0: its index is the thread's, without a product.
  EXPECT_EQ(n["IMAD"] + n["LEA"], 1);
}

TEST(Pointwise, VectorsThatNoLaneTouchesAreLeftOut) {
  auto n =
      counts(R"(    %q = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #b>
    %few = arith.constant dense<3> : tensor<1024xi32, #b>
    %m = arith.cmpi slt, %q, %few : tensor<1024xi32, #b>
    %ps = tt.splat %f : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #b>
    %p = tt.addptr %ps, %q : tensor<1024x!tt.ptr<f32>, #b>, tensor<1024xi32, #b>
    %v = tt.load %p, %m : tensor<1024x!tt.ptr<f32>, #b>
    %w = arith.addf %v, %v : tensor<1024xf32, #b>
    tt.store %p, %w, %m : tensor<1024x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["LDG.E"], 2);  // of the first vector of four
  EXPECT_EQ(n["STG.E"], 2);
}

TEST(Pointwise, AConstantIsAnImmediateOnlyWhereItChangesZeroBits) {
  const std::string load =
      R"(    %p = tt.addptr %fs, %y : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %v = tt.load %p : tensor<256x!tt.ptr<f32>, #b>
    tt.store %gp, %v : tensor<256x!tt.ptr<f32>, #b>
)";
  // Elements two apart: their bit is free.
  auto free = counts(
      "    %c = arith.constant dense<2> : tensor<256xi32, #b>\n"
      "    %y = arith.muli %x, %c : tensor<256xi32, #b>\n" +
      load);
  EXPECT_EQ(free["LDG.E"], 2);
  EXPECT_EQ(free["LEA.CO"], 1 + 1);  // and the store's
  // Elements three apart: the sum may carry.
  auto carries = counts(
      "    %c = arith.constant dense<3> : tensor<256xi32, #b>\n"
      "    %y = arith.muli %x, %c : tensor<256xi32, #b>\n" +
      load);
  EXPECT_EQ(carries["LDG.E"], 2);
  EXPECT_EQ(carries["LEA.CO"], 2 + 1);
}

TEST(Pointwise, ElementsShareTheSignOfTheirBlock) {
  auto n = counts(R"(    %c = arith.constant dense<2> : tensor<256xi32, #b>
    %y = arith.remsi %x, %c : tensor<256xi32, #b>
    tt.store %ip, %y : tensor<256x!tt.ptr<i32>, #b>
)");
  EXPECT_EQ(n["SHF.R.S32.HI"], 1);  // a bit of the block's number
  EXPECT_EQ(n["SGXT"], 1);
  EXPECT_EQ(n["LEA.HI"], 2);
}

TEST(Pointwise, WideNumbersThatWereNarrowCompareAsNarrowOnes) {
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %u = arith.extsi %v : tensor<256xi32, #b> to tensor<256xi64, #b>
    %c = arith.constant dense<5> : tensor<256xi64, #b>
    %q = arith.cmpi sge, %u, %c : tensor<256xi64, #b>
    %s = arith.select %q, %v, %x : tensor<256xi1, #b>, tensor<256xi32, #b>
    tt.store %ip, %s : tensor<256x!tt.ptr<i32>, #b>
)");
  EXPECT_EQ(n["ISETP"], 2);
  EXPECT_EQ(n["ISETP.EX"] + n["SHF.R.S32.HI"], 0);
}

TEST(Pointwise, ConstantsAreAddedLastAndBecomeImmediates) {
  // Twice a number, and twice it and one: one address for both.
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %c2 = arith.constant dense<2> : tensor<256xi32, #b>
    %c1 = arith.constant dense<1> : tensor<256xi32, #b>
    %d = arith.muli %v, %c2 : tensor<256xi32, #b>
    %e = arith.addi %d, %c1 : tensor<256xi32, #b>
    %p = tt.addptr %fs, %d : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %q = tt.addptr %fs, %e : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %a = tt.load %p : tensor<256x!tt.ptr<f32>, #b>
    %b = tt.load %q : tensor<256x!tt.ptr<f32>, #b>
    %s = arith.addf %a, %b : tensor<256xf32, #b>
    tt.store %gp, %s : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["LDG.E"], 4);
  EXPECT_EQ(n["LEA.CO"], 2);     // an element each, with and without the one
  EXPECT_EQ(n["IMAD.WIDE"], 2);  // of the index that load and store share
}

TEST(Pointwise, SineAndCosineOfOneNumberReduceItOnce) {
  auto n = counts(R"(    %v = tt.load %fp : tensor<256x!tt.ptr<f32>, #b>
    %s = math.sin %v : tensor<256xf32, #b>
    %c = math.cos %v : tensor<256xf32, #b>
    %w = arith.addf %s, %c : tensor<256xf32, #b>
    tt.store %fp, %w : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["F2I"], 2);  // an element each
  EXPECT_EQ(n["BSSY"], 4);
  EXPECT_GE(n["NOP"], 4 * 51);  // where the code for large arguments stands, which nobody runs
}

TEST(Pointwise, AnOredConstantOfAnIndexIsAddedToItsSums) {
  // Two rows of a column: one sum, and one address that is a constant further.
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %c7 = arith.constant dense<7> : tensor<256xi32, #b>
    %m = arith.muli %v, %v : tensor<256xi32, #b>
    %k = arith.muli %r, %c7 : tensor<256xi32, #b>
    %j = arith.addi %m, %k : tensor<256xi32, #b>
    %q = tt.addptr %fs, %j : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
    %a = tt.load %q : tensor<256x!tt.ptr<f32>, #b>
    tt.store %gp, %a : tensor<256x!tt.ptr<f32>, #b>
)");
  EXPECT_EQ(n["LOP3.OR"], 0);
  EXPECT_EQ(n["LDG.E"], 2);
}

TEST(Pointwise, TheLargerOfTwoIntegersNeedsNoPredicate) {
  auto n = counts(R"(    %v = tt.load %ip : tensor<256x!tt.ptr<i32>, #b>
    %c = arith.cmpi sgt, %v, %x : tensor<256xi32, #b>
    %s = arith.select %c, %v, %x : tensor<256xi1, #b>, tensor<256xi32, #b>
    tt.store %ip, %s : tensor<256x!tt.ptr<i32>, #b>
)");
  EXPECT_EQ(n["VIMNMX"], 2);
  EXPECT_EQ(n["ISETP"] + n["SEL"], 0);
}

}  // namespace
}  // namespace xpusim::gpu
