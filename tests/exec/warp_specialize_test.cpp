// ttg.warp_specialize: partitions that run at once over shared memory and mbarriers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

using testing::HasSubstr;

std::shared_ptr<const kernel::Module> gluon_kernel(const std::string& name) {
  const auto files = kernel_files("triton/gluon", name, ".ttgir");
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? nullptr : read_kernel(files[0]);
}

TEST(WarpSpecialize, DoALoaderAnAdderAndAStorerWorkTogether) {
  const auto module = gluon_kernel("ws_add_16x64_s2_w4");
  ASSERT_TRUE(module);
  KernelRun k(module);
  for (const char* name : {"a", "b", "c"}) {
    k.tensor(name, DType::kF32, {32, 320}, *name == 'c' ? zeros() : randn(*name));
    k.descriptor(std::string(name) + "_desc", name);
  }
  k.integer("N", 320);
  ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
  const auto a = k.values("a"), b = k.values("b"), c = k.values("c");
  for (std::size_t i = 0; i < c.size(); ++i) {
    EXPECT_EQ(c[i], static_cast<float>(a[i] + b[i])) << i;
  }
}

TEST(WarpSpecialize, DoesAProducerFeedAMatrixProduct) {
  const auto module = gluon_kernel("ws_matmul_64x128x64_s4_w4");
  ASSERT_TRUE(module);
  constexpr std::size_t kM = 64, kN = 128, kK = 448;  // seven steps through four buffers
  KernelRun k(module);
  k.tensor("a", DType::kBF16, {kM, kK}, randn(1));
  k.tensor("b", DType::kBF16, {kK, kN}, randn(2));
  k.tensor("c", DType::kBF16, {kM, kN}, zeros());
  for (const char* name : {"a", "b", "c"}) k.descriptor(std::string(name) + "_desc", name);
  k.integer("K", kK);
  ASSERT_TRUE(k.run({1, 1, 1})) << k.error.message;
  const auto a = k.values("a"), b = k.values("b"), c = k.values("c");
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (std::size_t n = 0; n < kK; ++n) sum += a[i * kK + n] * b[n * kN + j];
      ASSERT_NEAR(c[i * kN + j], sum, 0.25) << i << ", " << j;
    }
  }
}

/// A kernel of one warp and partitions of one; %b and %c are mbarriers of one arrival each.
constexpr const char* kHead = R"(
#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #one, #smem, mutable>
    %c = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #one, #smem, mutable>
    %v = ttg.local_alloc : () -> !ttg.memdesc<32xi32, #one, #smem, mutable>
    ttng.init_barrier %b, 1 : !ttg.memdesc<1xi64, #one, #smem, mutable>
    ttng.init_barrier %c, 1 : !ttg.memdesc<1xi64, #one, #smem, mutable>
)";

std::string wait(const std::string& barrier) {
  return "ttng.wait_barrier " + barrier + ", %c0 : !ttg.memdesc<1xi64, #one, #smem, mutable>\n";
}
std::string wait_inside(const std::string& barrier) {
  return "%zero = arith.constant 0 : i32\nttng.wait_barrier " + barrier +
         ", %zero : !ttg.memdesc<1xi64, #one, #smem, mutable>\n";
}
std::string arrive(const std::string& barrier) {
  return "ttng.arrive_barrier " + barrier + ", 1 : !ttg.memdesc<1xi64, #one, #smem, mutable>\n";
}

/// One partition that captures %x, %y, %b, %c and %v as %p, %q, %d, %e and %w.
std::string specialize(const std::string& own, const std::string& partition,
                       const std::string& number = "") {
  const std::string bar = "!ttg.memdesc<1xi64, #one, #smem, mutable>";
  const std::string types = "!tt.ptr<i32>, !tt.ptr<i32>, " + bar + ", " + bar +
                            ", !ttg.memdesc<32xi32, #one, #smem, mutable>" +
                            (number.empty() ? "" : ", i32");
  return "ttg.warp_specialize(%x, %y, %b, %c, %v" + number + ")\ndefault {\n" + own +
         "ttg.warp_yield\n}\npartition0(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %d: " + bar +
         ", %e: " + bar + ", %w: !ttg.memdesc<32xi32, #one, #smem, mutable>" +
         (number.empty() ? "" : ", %n: i32") + ") num_warps(1) {\n" + partition +
         "ttg.warp_return\n} : (" + types + ") -> ()\n";
}

struct Outcome {
  std::string error;
  std::vector<double> y;
};

Outcome run(const std::string& body) {
  const auto module = read_kernel_text(kHead + body + "tt.return\n}\n}\n");
  EXPECT_TRUE(module) << body;
  if (!module) return {};
  KernelRun k(module);
  k.tensor("x", DType::kI32, {32}, Init{.kind = Init::Kind::kArange});
  k.tensor("y", DType::kI32, {32}, zeros());
  k.run({1, 1, 1});
  return {k.error.message, k.values("y")};
}

const std::string kFill =
    "%r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #row>\n"
    "ttg.local_store %r, %w : tensor<32xi32, #row> -> !ttg.memdesc<32xi32, #one, #smem, mutable>\n";
const std::string kCopyOut =
    "%t = ttg.local_load %v : !ttg.memdesc<32xi32, #one, #smem, mutable> -> tensor<32xi32, #row>\n"
    "%l = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #row>\n"
    "%s = tt.splat %y : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>, #row>\n"
    "%a = tt.addptr %s, %l : tensor<32x!tt.ptr<i32>, #row>, tensor<32xi32, #row>\n"
    "tt.store %a, %t : tensor<32x!tt.ptr<i32>, #row>\n";

TEST(WarpSpecialize, SeesOnePartitionWhatAnotherWroteBeforeItArrived) {
  const Outcome o = run(specialize(wait("%b") + kCopyOut, kFill + arrive("%d")));
  EXPECT_EQ(o.error, "");
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(o.y[i], static_cast<double>(i));
}

TEST(WarpSpecialize, ComesWhatFollowsAfterAllPartitions) {
  EXPECT_EQ(run(specialize("", kFill) + kCopyOut).error, "");
}

TEST(WarpSpecialize, IsALoadedNumberCaptured) {
  const Outcome o =
      run("%one = tt.addptr %x, %c1 : !tt.ptr<i32>, i32\n"
          "%k = tt.load %one : !tt.ptr<i32>\n" +
          specialize("", "tt.store %q, %n : !tt.ptr<i32>\n", ", %k"));
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.y[0], 1);
}

TEST(WarpSpecialize, AreAllWhoWaitForOneAnotherNamed) {
  const std::string error =
      run(specialize(wait("%b") + arrive("%c"), wait_inside("%e") + arrive("%d"))).error;
  EXPECT_THAT(error, HasSubstr("deadlock: waits for a phase of the mbarrier that nothing "
                               "completes; so does line"));
}

TEST(WarpSpecialize, IsAReadBeforeTheWriterArrivesAnError) {
  EXPECT_THAT(run(specialize(kCopyOut, kFill)).error,
              HasSubstr("reads shared memory that nothing has written"));
}

}  // namespace
}  // namespace xpusim::exec
