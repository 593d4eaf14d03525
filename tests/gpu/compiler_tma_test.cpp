// Lowering of mbarriers, copies by TMA and tensor maps: instructions worked out by hand from what
// each op asks of the hardware.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/gpu/core/kernel_image.h"
#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

/// A kernel of four warps over two descriptors of 32x32 f32 (rows of 128 bytes: one box each) and
/// a pointer. %v is a buffer, %b an mbarrier, %i the block's first row.
std::string kernel_text(const std::string& body) {
  return R"(#row = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#s16 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%x: !tt.tensordesc<tensor<32x32xf32, #s>>, %y: !tt.tensordesc<tensor<32x32xf32, #s>>, %wide: !tt.tensordesc<tensor<32x64xf32, #s>>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %pid = tt.get_program_id x : i32
    %i = arith.muli %pid, %c32 : i32
    %v = ttg.local_alloc : () -> !ttg.memdesc<32x32xf32, #s, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #one, #smem, mutable>
)" + body +
         R"(    tt.return
  }
}
)";
}

constexpr const char* kInit =
    "    ttng.init_barrier %b, 1 : !ttg.memdesc<1xi64, #one, #smem, mutable>\n";
constexpr const char* kExpect =
    "    ttng.barrier_expect %b, 4096, %true : !ttg.memdesc<1xi64, #one, #smem, mutable>\n";
constexpr const char* kLoad =
    "    ttng.async_tma_copy_global_to_local %x[%i, %c0] %v, %b, %true : "
    "!tt.tensordesc<tensor<32x32xf32, #s>>, !ttg.memdesc<1xi64, #one, #smem, mutable> -> "
    "!ttg.memdesc<32x32xf32, #s, #smem, mutable>\n";
constexpr const char* kWait =
    "    ttng.wait_barrier %b, %c0 : !ttg.memdesc<1xi64, #one, #smem, mutable>\n";
constexpr const char* kInval =
    "    ttng.inval_barrier %b : !ttg.memdesc<1xi64, #one, #smem, mutable>\n";
constexpr const char* kRead =
    "    %t = ttg.local_load %v : !ttg.memdesc<32x32xf32, #s, #smem, mutable> -> "
    "tensor<32x32xf32, #row>\n";
constexpr const char* kWrite =
    "    %o = ttg.local_alloc %t : (tensor<32x32xf32, #row>) -> !ttg.memdesc<32x32xf32, #s, "
    "#smem>\n    ttng.fence_async_shared {bCluster = false}\n";
constexpr const char* kStore =
    "    ttng.async_tma_copy_local_to_global %y[%i, %c0] %o : !tt.tensordesc<tensor<32x32xf32, "
    "#s>>, !ttg.memdesc<32x32xf32, #s, #smem>\n";
constexpr const char* kStored = "    ttng.async_tma_store_wait {pendings = 0 : i32}\n";

std::string copy_through() {
  return std::string(kInit) + kExpect + kLoad + kWait + kInval + kRead + kWrite + kStore + kStored;
}

Program compiled(const std::string& body) {
  auto program = test::compile_text(kernel_text(body));
  EXPECT_TRUE(program) << program.error().str();
  if (!program) return {};
  const auto image = decode(*program);
  EXPECT_TRUE(image) << image.error().str();
  return std::move(*program);
}

std::map<std::string, int> counts(const std::string& body) {
  std::map<std::string, int> n;
  for (const auto& i : compiled(body).code) ++n[i.mnemonic];
  return n;
}

std::vector<const Instruction*> all(const Program& program, Opcode op) {
  std::vector<const Instruction*> found;
  for (const auto& i : program.code) {
    if (i.op == op) found.push_back(&i);
  }
  return found;
}

/// The ops that the warps meet for, or that the engine sees, in the order of the code.
std::vector<std::string> order(const Program& program) {
  std::vector<std::string> names;
  for (const auto& i : program.code) {
    const bool seen = i.op == Opcode::kBar || i.op == Opcode::kSyncs || i.op == Opcode::kUtma ||
                      i.op == Opcode::kSyncsWait || i.op == Opcode::kFence ||
                      i.op == Opcode::kUtmaWait;
    if (seen) names.push_back(i.mnemonic.substr(0, i.mnemonic.find('.')));
  }
  return names;
}

TEST(LowerTma, ACopyInWaitsAndGoesOutInTheOrderOfTheText) {
  // Every op on an mbarrier writes it, so that the warps meet between two of them.
  EXPECT_THAT(order(compiled(copy_through())),
              testing::ElementsAre("SYNCS", "BAR", "SYNCS", "BAR", "UTMALDG", "BAR", "SYNCS", "BAR",
                                   "SYNCS", "BAR", "FENCE", "BAR", "UTMASTG", "DEPBAR", "BAR"));
}

TEST(LowerTma, OneWarpGivesTheEngineABoxAndAllWait) {
  const Program program = compiled(copy_through());
  for (const auto* i : all(program, Opcode::kUtma)) {
    EXPECT_EQ(i->active_warps, 1);
    EXPECT_LT(i->site, program.sites.size());
  }
  const auto syncs = all(program, Opcode::kSyncs);
  ASSERT_EQ(syncs.size(), 3u);
  EXPECT_EQ(syncs[0]->site, kNoSite);  // initialises
  EXPECT_LT(syncs[1]->site, program.sites.size());
  EXPECT_EQ(syncs[2]->site, kNoSite);  // invalidates
  const auto waits = all(program, Opcode::kSyncsWait);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0]->active_warps, 0);
  EXPECT_LT(waits[0]->site, program.sites.size());
}

TEST(LowerTma, ADescriptorsAddressGoesToTheUniformDatapathTwice) {
  auto n = counts(copy_through());  // one copy in, one out
  EXPECT_EQ(n["ELECT"], 2);
  EXPECT_EQ(n["ISETP.LT.U32"], 2);
  EXPECT_EQ(n["R2UR"], 2 * 4);
  EXPECT_EQ(n["VOTEU.ANY"], 2 + 1);
  EXPECT_EQ(n["VOTEU.ALL"], 2);
  EXPECT_EQ(n["UTMACMDFLUSH"], 1);
}

TEST(LowerTma, ARowWiderThanTheSwizzleGivesTwoWarpsAPart) {
  const std::string wide =
      "    %w = ttg.local_alloc : () -> !ttg.memdesc<32x64xf32, #s, #smem, mutable>\n" +
      std::string(kInit) +
      "    ttng.async_tma_copy_global_to_local %wide[%i, %c0] %w, %b, %true : "
      "!tt.tensordesc<tensor<32x64xf32, #s>>, !ttg.memdesc<1xi64, #one, #smem, mutable> -> "
      "!ttg.memdesc<32x64xf32, #s, #smem, mutable>\n";
  auto n = counts(wide);
  EXPECT_EQ(n["R2UR"], 4 + 1);  // and the warp's number
  EXPECT_EQ(n["SHF.R.U32.HI"], 1);
  EXPECT_EQ(n["ULOP3"], 1);
}

TEST(LowerTma, AConditionIsJoinedToEachPredicate) {
  const std::string condition = "    %more = arith.cmpi sgt, %n, %c0 : i32\n";
  auto always = counts(std::string(kInit) + kExpect + kLoad);
  std::string expect = kExpect, load = kLoad;
  expect.replace(expect.find("%true"), 5, "%more");
  load.replace(load.find("%true"), 5, "%more");
  auto maybe = counts(kInit + condition + expect + load);
  EXPECT_EQ(maybe["ISETP"], always["ISETP"] + 2);
}

TEST(LowerTma, AReductionIsACopyOfItsOwnKind) {
  auto n = counts(std::string(kInit) + kInval + kRead + kWrite +
                  "    ttng.async_tma_reduce add, %y[%i, %c0] %o : "
                  "!tt.tensordesc<tensor<32x32xf32, #s>>, !ttg.memdesc<32x32xf32, #s, #smem>\n" +
                  kStored);
  EXPECT_EQ(n["UTMAREDG.2D"], 1);
  EXPECT_EQ(n["UTMACMDFLUSH"], 1);
}

TEST(LowerTma, ABufferThatIsReadNoMoreLendsItsBytes) {
  EXPECT_EQ(compiled(copy_through()).shared_bytes, 32 * 32 * 4 + 8);
}

TEST(LowerTma, AnArrivalAtABarrierHasASite) {
  const Program program = compiled(
      std::string(kInit) +
      "    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #one, #smem, mutable>\n" + kWait);
  const auto syncs = all(program, Opcode::kSyncs);
  ASSERT_EQ(syncs.size(), 2u);
  EXPECT_LT(syncs[1]->site, program.sites.size());
}

TEST(LowerTma, AMatrixUnitsResultIsStoredByMatrices) {
  // 64x64 elements of 16 bits: 32 a thread, 8 an instruction.
  auto n = counts(
      R"(    %z = arith.constant dense<0.000000e+00> : tensor<64x64xbf16, #mma>
    %m = ttg.local_alloc %z : (tensor<64x64xbf16, #mma>) -> !ttg.memdesc<64x64xbf16, #s16, #smem>
)");
  EXPECT_EQ(n["STSM.16.M88.4"], 4);
}

TEST(LowerTma, ATensorMapIsWrittenFieldByField) {
  const std::string create =
      R"(    %c1_i64 = arith.constant 128 : i64
    %d = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
    ttng.tensormap_create %d, %p, [%c32, %c32], [%n, %c32], [%c1_i64], [%c1, %c1] {elem_type = 7 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<f32>, i32, i32, i32, i32, i64, i32, i32) -> ()
    ttng.tensormap_fenceproxy_acquire %d : !tt.ptr<i8>
    %r = ttng.reinterpret_tensor_descriptor %d : !tt.ptr<i8> to !tt.tensordesc<tensor<32x32xf32, #s>>
)";
  std::string load = kLoad;
  load.replace(load.find("%x"), 2, "%r");
  auto n = counts(create + kInit + kExpect + load + kWait);
  EXPECT_EQ(n["STS"], 1 + 1 + 7 + 5);  // zeros, the address, sizes and strides, constant fields
  EXPECT_EQ(n["UTMACCTL.IV"], 1);
  EXPECT_EQ(n["UTMALDG.2D"], 1);
}

}  // namespace
}  // namespace xpusim::gpu
