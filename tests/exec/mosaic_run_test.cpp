// The window pipeline, DMAs and semaphores of whole Mosaic launches, on small kernels of our own;
// and that what is undefined is a named error with its line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/exec/mosaic_harness.h"

namespace xpusim::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<double>;

Init arange() {
  Init i;
  i.kind = Init::Kind::kArange;
  return i;
}

/// A kernel over a grid: `args` after the grid's index, a body, windows, and further functions.
std::string gridded(const std::string& args, const std::string& body, int steps,
                    const std::string& windows, const std::string& functions) {
  return "module {\n  func.func @kernel(%i: i32, " + args +
         ") attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], "
         "iteration_bounds = array<i64: " +
         std::to_string(steps) +
         ">, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, window_params = [" + windows +
         "]} {\n    %c0 = arith.constant 0 : index\n" + body + "    return\n  }\n" + functions +
         "}\n";
}
std::string transform(const std::string& name, const std::string& body, const std::string& index) {
  return "  func.func @" + name +
         "(%i: i32) -> (i32, i32) {\n    %c0_i32 = arith.constant 0 : i32\n" + body +
         "    return " + index + ", %c0_i32 : i32, i32\n  }\n";
}
std::string window(const std::string& transform, const std::string& more = "") {
  return "{" + more + "transform_indices = @" + transform + ", window_bounds = array<i64: 8, 128>}";
}
const std::string kBlock = "memref<8x128xf32, #tpu.memory_space<vmem>>";
const std::string kCopyArgs = "%x: " + kBlock + ", %o: " + kBlock;
const std::string kCopyBody =
    "    %v = vector.load %x[%c0, %c0] : " + kBlock + ", vector<8x128xf32>\n" +
    "    tpu.vector_store %o[%c0, %c0], %v {strides = array<i32>} : " + kBlock +
    ", vector<8x128xf32>, \n";

/// The first element of each row of blocks.
Values heads(const MosaicKernel& k, std::size_t operand) {
  Values out;
  const Values all = k.values(operand);
  for (std::size_t i = 0; i < all.size(); i += 8 * 128) out.push_back(all[i]);
  return out;
}

// --- windows -----------------------------------------------------------------------------------

TEST(MosaicWindows, AreEqualBlocksFetchedAndWrittenOnce) {
  const std::string half = transform("half",
                                     "    %c2 = arith.constant 2 : i32\n"
                                     "    %h = arith.divsi %i, %c2 : i32\n",
                                     "%h");
  MosaicKernel k(read_kernel_text(
      gridded(kCopyArgs, kCopyBody, 6, window("half") + ", " + window("half"), half)));
  k.operand(DType::kF32, {24, 128}, arange());
  k.operand(DType::kF32, {24, 128}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  EXPECT_EQ(k.values(1), k.values(0));
  EXPECT_EQ(k.result.steps, 6u);
  EXPECT_EQ(k.result.fetches, 3u);
  EXPECT_EQ(k.result.skipped_fetches, 3u);
  EXPECT_EQ(k.result.write_backs, 3u);
}

/// A kernel whose step i reads block i and writes block i + 1 of the same tensor.
Values chased(const std::string& mode) {
  const std::string next =
      transform("own", "", "%i") + transform("next",
                                             "    %c1 = arith.constant 1 : i32\n"
                                             "    %n = arith.addi %i, %c1 : i32\n",
                                             "%n");
  MosaicKernel k(read_kernel_text(
      gridded(kCopyArgs, kCopyBody, 3, window("own", mode) + ", " + window("next", mode), next)));
  k.operand(DType::kF32, {32, 128}, arange());
  k.same_as(0);
  EXPECT_TRUE(k.run()) << k.problems;
  return heads(k, 0);
}

TEST(MosaicWindows, IsADoubleBuffersNextBlockReadBeforeTheStepComputes) {
  EXPECT_THAT(chased(""), ElementsAre(0, 0, 1024, 2048));
}

TEST(MosaicWindows, DoesASynchronousBlockSeeWhatTheStepBeforeWrote) {
  EXPECT_THAT(chased("pipeline_mode = #tpu.pipeline_mode<synchronous>, "), ElementsAre(0, 0, 0, 0));
}

TEST(MosaicWindows, DoesALastBlockThatHangsOverKeepToItsTensor) {
  // Each block is reduced to the sum of its rows: what lies past the edge is no number.
  const std::string body =
      "    %v = vector.load %x[%c0, %c0] : " + kBlock + ", vector<8x128xf32>\n" +
      "    %z = arith.constant dense<0.0> : vector<128xf32>\n"
      "    %s = vector.multi_reduction <add>, %v, %z [0] : vector<8x128xf32> to vector<128xf32>\n"
      "    %r = vector.shape_cast %s : vector<128xf32> to vector<1x128xf32>\n"
      "    %b = vector.broadcast %r : vector<1x128xf32> to vector<8x128xf32>\n"
      "    tpu.vector_store %o[%c0, %c0], %b {strides = array<i32>} : " +
      kBlock + ", vector<8x128xf32>, \n";
  MosaicKernel k(read_kernel_text(gridded(kCopyArgs, body, 2, window("own") + ", " + window("own"),
                                          transform("own", "", "%i"))));
  k.operand(DType::kF32, {11, 128}, randn(1));
  k.operand(DType::kF32, {11, 128}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  const Values out = k.values(1);
  EXPECT_TRUE(std::isfinite(out[7 * 128]));
  EXPECT_TRUE(std::isnan(out[8 * 128]));
}

TEST(MosaicWindows, IsABlockOutsideItsTensorAnError) {
  MosaicKernel k(read_kernel_text(gridded(
      kCopyArgs, kCopyBody, 4, window("own") + ", " + window("own"), transform("own", "", "%i"))));
  k.operand(DType::kF32, {24, 128}, arange());
  k.operand(DType::kF32, {32, 128}, unwritten());
  EXPECT_FALSE(k.run());
  EXPECT_THAT(k.problems, HasSubstr("test.mlir:2:"));
  EXPECT_THAT(k.problems, HasSubstr("window 'x': block 3 of dimension 0 lies outside tensor"));
}

TEST(MosaicWindows, IsAnOpenGridOfNoGivenExtentAnError) {
  MosaicKernel k("language/ir/dynamic_grid");
  k.integers({1}, {3});
  k.operand(DType::kF32, {24, 128}, randn(1));
  k.operand(DType::kF32, {24, 128}, unwritten());
  k.extent(-1);
  EXPECT_FALSE(k.run());
  EXPECT_THAT(k.problems, HasSubstr("the extent of grid dimension 0 is not given"));
}

TEST(MosaicWindows, AreWrongOperandsErrors) {
  MosaicKernel k(read_kernel_text(gridded(
      kCopyArgs, kCopyBody, 2, window("own") + ", " + window("own"), transform("own", "", "%i"))));
  k.operand(DType::kF32, {24}, arange());
  EXPECT_FALSE(k.run());
  EXPECT_THAT(k.problems, HasSubstr("1 operands"));
  k.operand(DType::kBF16, {24, 128}, unwritten());
  EXPECT_FALSE(k.run());
  EXPECT_THAT(k.problems, HasSubstr("window 'x': it has 2 dimensions, its tensor 1"));
  EXPECT_THAT(k.problems, HasSubstr("operand 1 ('o') needs a tensor of its type"));
}

// --- DMAs --------------------------------------------------------------------------------------

const std::string kHbm = "memref<16x128xf32, #tpu.memory_space<any>>";
const std::string kDma = "memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>";
const std::string kFlag = "memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>";
const std::string kHalf = "memref<8x128xf32, #tpu.memory_space<any>>";

/// A kernel without a grid: operands %x and %o in HBM, scratch %b in VMEM, semaphores %s and %f.
std::string plain(const std::string& body) {
  return "module {\n  func.func @kernel(%x: " + kHbm + ", %o: " + kHbm + ", %b: " + kBlock +
         ", %s: " + kDma + ", %f: " + kFlag +
         ") attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 3 "
         ": i64} {\n    %c0 = arith.constant 0 : index\n    %n0 = arith.constant 0 : i32\n"
         "    %n1 = arith.constant 1 : i32\n    %n8 = arith.constant 8 : i32\n"
         "    %x0 = tpu.memref_slice %x[%n0, %n0] : " +
         kHbm + " -> " + kHalf + "\n    %x8 = tpu.memref_slice %x[%n8, %n0] : " + kHbm + " -> " +
         kHalf + "\n    %o0 = tpu.memref_slice %o[%n0, %n0] : " + kHbm + " -> " + kHalf +
         "\n    %o8 = tpu.memref_slice %o[%n8, %n0] : " + kHbm + " -> " + kHalf + "\n" + body +
         "    return\n  }\n}\n";
}
std::string start(const std::string& from, const std::string& from_type, const std::string& to,
                  const std::string& to_type) {
  return "    tpu.enqueue_dma source(" + from + " : " + from_type + ") target(" + to + " : " +
         to_type + ") target_semaphore(%s : " + kDma + ")\n";
}
std::string wait(const std::string& to, const std::string& type) {
  return "    tpu.wait_dma2 semaphore(%s : " + kDma + ") src(" + to + " : " + type + ") dst(" + to +
         " : " + type + ")\n";
}
const std::string kIn = start("%x0", kHalf, "%b", kBlock), kOut = start("%b", kBlock, "%o0", kHalf);
const std::string kWaitIn = wait("%b", kBlock), kWaitOut = wait("%o0", kHalf);
const std::string kUse = "    %v = vector.load %b[%c0, %c0] : " + kBlock + ", vector<8x128xf32>\n";

/// What a run of the kernel says, "" if it is fine.
std::string outcome(const std::string& body, bool values = true) {
  MosaicKernel k(read_kernel_text(plain(body)));
  k.operand(DType::kF32, {16, 128}, arange());
  k.operand(DType::kF32, {16, 128}, unwritten());
  k.run(values);
  return k.problems;
}

TEST(MosaicDma, DoesAWaitMakeTheDataReadable) {
  EXPECT_EQ(outcome(kIn + kWaitIn + kUse + kOut + kWaitOut), "");
}

TEST(MosaicDma, IsAReadBeforeTheWaitARace) {
  for (const bool values : {true, false}) {
    const std::string said = outcome(kIn + kUse + kWaitIn, values);
    EXPECT_THAT(said, HasSubstr("race: vector.load reads memory that the asynchronous copy"));
    EXPECT_THAT(said, HasSubstr("test.mlir:12:"));
  }
}

TEST(MosaicDma, IsAWriteToWhatACopyReadsARace) {
  const std::string store =
      "    tpu.vector_store %b[%c0, %c0], %v {strides = array<i32>} : " + kBlock +
      ", vector<8x128xf32>, \n";
  EXPECT_THAT(outcome(kIn + kWaitIn + kUse + kOut + store + kWaitOut),
              HasSubstr("race: tpu.vector_store writes memory that the asynchronous copy"));
  EXPECT_EQ(outcome(kIn + kWaitIn + kOut + kUse + kWaitOut), "") << "reading it is fine";
}

TEST(MosaicDma, DoCopiesOfOtherPartsGoOnTogether) {
  const std::string first = start("%x0", kHalf, "%o0", kHalf),
                    second = start("%x8", kHalf, "%o8", kHalf);
  EXPECT_EQ(outcome(first + second + wait("%o0", kHalf) + wait("%o8", kHalf)), "");
  EXPECT_THAT(outcome(first + first + wait("%o0", kHalf) + wait("%o0", kHalf)), HasSubstr("race"));
}

TEST(MosaicDma, DoesOneWaitTakeTheBytesOfTwoCopies) {
  const std::string first = start("%x0", kHalf, "%o0", kHalf),
                    second = start("%x8", kHalf, "%o8", kHalf);
  EXPECT_EQ(outcome(first + second + wait("%o", kHbm)), "");
  EXPECT_EQ(outcome(start("%x", kHbm, "%o", kHbm) + wait("%o0", kHalf) + wait("%o8", kHalf)), "");
}

TEST(MosaicDma, IsAWaitForMoreThanWasStartedADeadlock) {
  EXPECT_THAT(outcome(kWaitIn),
              HasSubstr("deadlock: it waits for 4096 B on semaphore s, but copies "
                        "of only 0 B have been started on it"));
  EXPECT_THAT(outcome(kIn + wait("%o", kHbm)), HasSubstr("deadlock: it waits for 8192 B"));
}

TEST(MosaicDma, IsACopyThatNobodyWaitsForAnError) {
  const std::string said = outcome(kIn);
  EXPECT_THAT(said, HasSubstr("the kernel ends before it has waited for this copy"));
  EXPECT_THAT(said, HasSubstr("test.mlir:11:"));
}

TEST(MosaicDma, IsMemoryThatNobodyWroteNotToBeCopied) {
  EXPECT_THAT(outcome(start("%o0", kHalf, "%b", kBlock) + kWaitIn),
              HasSubstr("copies a part of tensor 'operand1' that nothing has written"));
}

TEST(MosaicDma, IsASliceOutsideItsMemrefAnError) {
  const std::string body =
      "    %n9 = arith.constant 9 : i32\n    %y = tpu.memref_slice %x[%n9, %n0] : " + kHbm +
      " -> " + kHalf + "\n";
  EXPECT_THAT(outcome(body),
              HasSubstr("elements 9 to 16 of dimension 0 lie outside its 16 elements"));
}

TEST(MosaicDma, IsAVectorLoadFromHbmAnError) {
  EXPECT_THAT(outcome("    %v = vector.load %x[%c0, %c0] : " + kHbm + ", vector<8x128xf32>\n"),
              HasSubstr("a DMA has to bring it closer first"));
}

// --- semaphores --------------------------------------------------------------------------------

const std::string kSignal = "    tpu.sem_signal %f, %n1 : " + kFlag + "\n";
const std::string kWait = "    tpu.sem_wait %f, %n1 : " + kFlag + "\n";

TEST(MosaicSemaphores, DoesAWaitTakeWhatASignalGave) { EXPECT_EQ(outcome(kSignal + kWait), ""); }

TEST(MosaicSemaphores, IsAWaitThatNobodyCanEndADeadlock) {
  const std::string said = outcome(kSignal + kWait + kWait);
  EXPECT_THAT(said, HasSubstr("deadlock: it waits for 1 of semaphore f, which holds 0"));
  EXPECT_THAT(said, HasSubstr("test.mlir:13:"));
}

TEST(MosaicSemaphores, IsASignalToAnotherChipRefused) {
  EXPECT_THAT(outcome("    tpu.sem_signal %f, %n1 device_id %n1 : " + kFlag + "\n"),
              HasSubstr("a signal to another device or core"));
}

TEST(MosaicSemaphores, IsACopysSemaphoreNotToBeRead) {
  EXPECT_THAT(outcome("    %v = tpu.sem_read %s : " + kDma + " -> i32\n"),
              HasSubstr("what it holds depends on time"));
}

TEST(MosaicRandom, AreBitsBeforeASeedAnError) {
  EXPECT_THAT(outcome("    %v = \"tpu.prng_random_bits\"() : () -> vector<8x128xi32>\n"),
              HasSubstr("before the first seed"));
}

}  // namespace
}  // namespace xpusim::exec
