// Copies by TMA and mbarriers: what may be read when, what counts as an error, and what padding
// reads as.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sim/exec/intervals.h"
#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

using testing::HasSubstr;

constexpr const char* kHead = R"(
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 32}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%x: !tt.tensordesc<tensor<8x8xf32, #shared>>, %y: !tt.tensordesc<tensor<8x8xf32, #shared>>, %at: i32) {
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    %tile = ttg.local_alloc : () -> !ttg.memdesc<8x8xf32, #shared, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
)";
const std::string kInit = "ttng.init_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>\n";
const std::string kExpect =
    "ttng.barrier_expect %b, 256, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>\n";
const std::string kCopy =
    "ttng.async_tma_copy_global_to_local %x[%at, %c0] %tile, %b, %true : "
    "!tt.tensordesc<tensor<8x8xf32, #shared>>, "
    "!ttg.memdesc<1xi64, #bar, #smem, mutable> -> !ttg.memdesc<8x8xf32, #shared, #smem, mutable>\n";
const std::string kWait = "ttng.wait_barrier %b, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>\n";
const std::string kLoad =
    "%v = ttg.local_load %tile : !ttg.memdesc<8x8xf32, #shared, #smem, mutable> -> tensor<8x8xf32, "
    "#blocked>\n";
const std::string kStore =
    "ttng.async_tma_copy_local_to_global %y[%at, %c0] %tile : !tt.tensordesc<tensor<8x8xf32, "
    "#shared>>, "
    "!ttg.memdesc<8x8xf32, #shared, #smem, mutable>\n";
const std::string kStored = "ttng.async_tma_store_wait {pendings = 0 : i32}\n";
const std::string kOverwrite =
    "%z = arith.constant dense<0.0> : tensor<8x8xf32, #blocked>\n"
    "ttg.local_store %z, %tile : tensor<8x8xf32, #blocked> -> !ttg.memdesc<8x8xf32, #shared, "
    "#smem, mutable>\n";

/// Runs a body over two matrices of 12 x 8; "" or what went wrong.
struct Outcome {
  std::string error;
  int line = 0;
  std::vector<double> x, y;
};

Outcome run(const std::string& body, bool values = true, std::int64_t at = 0, bool nan = false) {
  const auto module = read_kernel_text(kHead + body + "tt.return\n}\n}\n");
  EXPECT_TRUE(module);
  if (!module) return {};
  KernelRun k(module);
  k.tensor("x_ptr", DType::kF32, {12, 8}, randn(1));
  k.tensor("y_ptr", DType::kF32, {12, 8}, zeros());
  k.descriptor("x", "x_ptr", nan);
  k.descriptor("y", "y_ptr");
  k.integer("at", at);
  k.run({1, 1, 1}, values);
  return {k.error.message, k.error.line.line, k.values("x_ptr"), k.values("y_ptr")};
}

TEST(Tma, DoesACopiedBlockArriveAndLeave) {
  const Outcome o = run(kInit + kExpect + kCopy + kWait + kLoad + kStore + kStored, true, 4);
  EXPECT_EQ(o.error, "");
  for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(o.y[i], i < 32 ? 0 : o.x[i]) << i;
}

TEST(Tma, IsWhatLiesOutsideTheTensorPaddingAndNotWritten) {
  // Rows 8 to 15 of 12: the copy out leaves rows past the end alone, and so it does before the
  // start.
  for (const bool nan : {false, true}) {
    const Outcome o = run(kInit + kExpect + kCopy + kWait + kLoad + kStore + kStored, true, 8, nan);
    EXPECT_EQ(o.error, "");
    for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(o.y[i], i < 64 ? 0 : o.x[i]) << i;
  }
  const std::string shifted = "%one = arith.constant 5 : i32\n" + kInit + kExpect + kCopy + kWait +
                              "ttng.async_tma_copy_local_to_global %y[%one, %c0] %tile : "
                              "!tt.tensordesc<tensor<8x8xf32, #shared>>, "
                              "!ttg.memdesc<8x8xf32, #shared, #smem, mutable>\n";
  const Outcome zero = run(shifted, true, -4, false), nan = run(shifted, true, -4, true);
  for (std::size_t i = 40; i < 72; ++i) {  // the four rows before the start
    EXPECT_EQ(zero.y[i], 0);
    EXPECT_TRUE(std::isnan(nan.y[i]));
  }
  for (std::size_t i = 72; i < 96; ++i) EXPECT_EQ(zero.y[i], zero.x[i - 72]);
}

TEST(Tma, WhatIsAnErrorAndWhere) {
  struct Case {
    std::string body, message;
    int line;
  };
  const Case cases[] = {
      {kInit + kExpect + kCopy + kLoad,
       "race: ttg.local_load reads memory that the asynchronous copy of line 14", 15},
      {kInit + kExpect + kCopy + kStore, "race: ttng.async_tma_copy_local_to_global reads", 15},
      {kInit + kExpect + kCopy + kOverwrite, "race: ttg.local_store writes", 16},
      {kInit + kExpect + kCopy + kWait + kStore + kOverwrite, "may still be reading", 18},
      {kInit + kLoad, "ttg.local_load reads shared memory that nothing has written", 13},
      {kInit + kWait, "deadlock: waits for a phase of the mbarrier that nothing completes", 13},
      {kInit + kExpect + kWait, "deadlock", 14},
      {kInit + kCopy + kWait, "deadlock", 14},
      {kInit + kExpect + kExpect, "more arrivals than this phase of the mbarrier counts", 14},
      {kExpect, "this mbarrier has not been initialised", 12},
      {kCopy, "the copy's mbarrier has not been initialised", 12}};
  for (const Case& c : cases) {
    for (const bool values : {true, false}) {
      const Outcome o = run(c.body, values);
      EXPECT_THAT(o.error, HasSubstr(c.message)) << c.body;
      EXPECT_EQ(o.line, c.line) << c.body;
    }
  }
}

TEST(Tma, AreReadAndWrittenTheSameWithoutValues) {
  const Outcome o = run(kInit + kExpect + kCopy + kWait + kLoad + kStore + kStored, false, 4);
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.y, std::vector<double>(96));
}

TEST(Tma, WhichPhaseDoArrivalsCopiesAndWaitsName) {
  const std::string off = "%false = arith.constant false\n%c1 = arith.constant 1 : i32\n";
  const std::string skipped =
      "ttng.barrier_expect %b, 256, %false : !ttg.memdesc<1xi64, #bar, #smem, mutable>\n"
      "ttng.async_tma_copy_global_to_local %x[%at, %c0] %tile, %b, %false : "
      "!tt.tensordesc<tensor<8x8xf32, #shared>>, "
      "!ttg.memdesc<1xi64, #bar, #smem, mutable> -> !ttg.memdesc<8x8xf32, #shared, #smem, "
      "mutable>\n";
  const std::string second =
      "ttng.wait_barrier %b, %c1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>\n";
  const auto module = read_kernel_text(kHead + off + kInit + second + kExpect + kCopy + kWait +
                                       skipped + kExpect + kCopy + second + "tt.return\n}\n}\n");
  ASSERT_TRUE(module);
  KernelRun k(module);
  k.tensor("x_ptr", DType::kF32, {12, 8}, randn(1));
  k.descriptor("x", "x_ptr");
  k.descriptor("y", "x_ptr");
  k.integer("at", 0);
  const auto prepared = k.prepared();
  const Launch launch = k.launch({1, 1, 1});
  const auto block = Interpreter::make(prepared, launch, k.memory, {true});
  block->start({0, 0, 0});
  ASSERT_EQ(block->advance(), Interpreter::State::kDone) << block->error().message;
  std::map<std::string, std::vector<std::int64_t>> phases;  // by op, in the order of the text
  for (const auto& op : launch.function->op->regions[0]->blocks[0]->ops) {
    const std::uint32_t site = prepared->site(*op);
    if (site == Prepared::kNoSite) continue;
    const BlockTrace& trace = block->trace();
    const bool copies = trace.access_count(site) == 1;
    phases[std::string(op->name())].push_back(copies ? trace.access(site, 0).phase
                                                     : trace.decision(site, 0));
  }
  const std::vector<std::int64_t> made{0, kNoPhase, 1}, waited{kNoPhase, 0, 1};
  EXPECT_EQ(phases["ttng.barrier_expect"], made);
  EXPECT_EQ(phases["ttng.async_tma_copy_global_to_local"], made);
  EXPECT_EQ(phases["ttng.wait_barrier"], waited);
  EXPECT_EQ(block->trace().phase_events(0), 2u);
  EXPECT_EQ(block->trace().phase_events(1), 2u);
}

TEST(Intervals, DoRangesThatTouchGrowTogether) {
  Intervals s;
  s.add(0, 10);
  s.add(20, 30);
  EXPECT_TRUE(s.contains(0, 10));
  EXPECT_FALSE(s.contains(5, 25));
  s.add(10, 20);
  EXPECT_TRUE(s.contains(5, 25));
  EXPECT_FALSE(s.contains(29, 31));
  EXPECT_TRUE(s.contains(31, 31));  // of nothing
  s.clear();
  EXPECT_FALSE(s.contains(0, 1));
}

}  // namespace
}  // namespace xpusim::exec
