// Errors of the kernel, visible effects, and the records that a block leaves for the timing model.

#include "sim/exec/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sim/exec/affine.h"
#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

std::shared_ptr<const kernel::Module> triton(const std::string& kernel,
                                             const char* form = ".ttir") {
  return read_kernel(kernel_files("triton/ir", kernel, form).front());
}

Init of_kind(Init::Kind kind, double value = 0) {
  Init i;
  i.kind = kind;
  i.value = value;
  return i;
}

/// vector_add whose x is shorter than n says.
TEST(Interpreter, IsAReadPastTheEndNamedWithItsLineAndElement) {
  const auto module = triton("vector_add");
  const std::int64_t block = block_size(*module);
  KernelRun k(module);
  k.tensor("x_ptr", DType::kF32, {block - 8}, randn(1));
  k.tensor("y_ptr", DType::kF32, {block}, randn(2));
  k.tensor("out_ptr", DType::kF32, {block}, zeros());
  k.integer("n", block - 5);
  ASSERT_FALSE(k.run({1, 1, 1}));
  EXPECT_THAT(k.error.message,
              AllOf(HasSubstr("load of x_ptr reads 4 B at 0 B past the end of tensor 'x_ptr'"),
                    HasSubstr("element [" + std::to_string(block - 8) + "]")));
  EXPECT_EQ(k.error.line.file, "kernels.py");
  EXPECT_EQ(k.error.line.line, 11);
}

TEST(Interpreter, IsAWriteBeforeTheStartNamed) {
  const auto module = triton("vector_add");
  const std::int64_t block = block_size(*module);
  KernelRun k(module);
  for (const char* t : {"x_ptr", "y_ptr"}) k.tensor(t, DType::kF32, {2 * block}, randn(1));
  k.tensor("out_ptr", DType::kF32, {2 * block}, zeros());
  k.integer("n", 2 * block);
  Launch l = k.launch({2, 1, 1});
  l.args[2].bits -= 16;
  const auto interpreter = Interpreter::make(k.prepared(), l, k.memory, {});
  interpreter->start({0, 0, 0});
  ASSERT_EQ(interpreter->advance(), Interpreter::State::kFailed);
  EXPECT_THAT(
      interpreter->error().message,
      HasSubstr("store of out_ptr writes 4 B at 16 B before the start of tensor 'out_ptr'"));
  EXPECT_EQ(interpreter->error().line.line, 13);
  EXPECT_EQ(interpreter->advance(), Interpreter::State::kFailed);  // and stays so
  interpreter->start({1, 0, 0});
  EXPECT_EQ(interpreter->advance(), Interpreter::State::kDone);  // until the next block
}

TEST(Interpreter, IsAReadOfWhatNobodyWroteAnError) {
  const auto module = triton("relu");
  const std::int64_t block = block_size(*module);
  KernelRun k(module);
  k.tensor("x_ptr", DType::kF32, {block}, of_kind(Init::Kind::kUnwritten));
  k.tensor("out_ptr", DType::kF32, {block}, of_kind(Init::Kind::kUnwritten));  // writing is fine
  k.integer("n", block);
  const float one = 1;
  k.memory.write(k.memory.find("x_ptr")->address, std::as_bytes(std::span(&one, 1)));
  ASSERT_FALSE(k.run({1, 1, 1}));
  EXPECT_THAT(k.error.message,
              AllOf(HasSubstr("'x_ptr' that nothing has written"), HasSubstr("element [1]")));
}

TEST(Interpreter, AreGatheredAddressesCheckedElementByElement) {
  const auto module = triton("histogram_atomic");
  const std::int64_t block = block_size(*module);
  KernelRun k(module);
  k.tensor("x_ptr", DType::kI32, {block}, of_kind(Init::Kind::kFull, -3));  // -3 % BINS is negative
  k.tensor("hist_ptr", DType::kI32, {256}, zeros());
  k.integer("n", block);
  ASSERT_FALSE(k.run({1, 1, 1}));
  EXPECT_THAT(
      k.error.message,
      HasSubstr("atomic of hist_ptr updates 4 B at 12 B before the start of tensor 'hist_ptr'"));
}

TEST(Interpreter, WhatRecordsDoesARaggedVectorAddLeave) {
  for (const bool values : {true, false}) {
    const auto module = triton("vector_add", ".ttgir");
    const std::int64_t block = block_size(*module), n = 2 * block + 100;
    KernelRun k(module);
    for (const char* t : {"x_ptr", "y_ptr"}) k.tensor(t, DType::kF32, {n}, randn(1));
    k.tensor("out_ptr", DType::kF32, {n}, zeros());
    k.integer("n", n);
    const auto interpreter =
        Interpreter::make(k.prepared(), k.launch({3, 1, 1}), k.memory, {.values = values});
    interpreter->start({2, 0, 0});
    ASSERT_EQ(interpreter->advance(), Interpreter::State::kDone);
    int loads = 0;
    for (const auto& op : module->kernel()->entry().ops) {
      const std::uint32_t site = k.prepared()->site(*op);
      EXPECT_EQ(site != Prepared::kNoSite, op->name() == "tt.load" || op->name() == "tt.store");
      if (op->name() != "tt.load") continue;
      ++loads;
      const BlockTrace& trace = interpreter->trace();
      ASSERT_EQ(trace.access_count(site), 1u);
      const Access& a = trace.access(site, 0);
      EXPECT_EQ(a.op, op.get());
      EXPECT_EQ(a.element_bytes, 4u);
      ASSERT_EQ(a.pointers.form, TileForm::kAffine);
      ASSERT_EQ(a.pointers.affine.digits.size(), 1u);
      EXPECT_EQ(a.pointers.affine.digits[0].stride, 4);
      const char* tensor = loads == 1 ? "x_ptr" : "y_ptr";
      EXPECT_EQ(a.pointers.affine.base,
                static_cast<std::int64_t>(k.memory.find(tensor)->address) + 2 * block * 4);
      ASSERT_TRUE(a.masked);
      ASSERT_EQ(a.mask.form, TileForm::kBox);
      EXPECT_EQ(count(a.mask.box), 100);
    }
    EXPECT_EQ(loads, 2);
  }
}

/// Two blocks that take the same lock: the second spins until the first has let go.
TEST(Interpreter, DoesALockedBlockWaitForTheOther) {
  for (const char* form : {".ttir", ".ttgir"}) {
    KernelRun k(triton("locked_sum", form));
    k.tensor("x_ptr", DType::kF32, {8, 256}, of_kind(Init::Kind::kOnes));
    k.tensor("lock_ptr", DType::kI32, {4}, zeros());
    k.tensor("out_ptr", DType::kF32, {4, 256}, zeros());
    k.integer("n_rows", 8);
    std::unique_ptr<Interpreter> first =
        Interpreter::make(k.prepared(), k.launch({8, 1, 1}), k.memory, {});
    std::unique_ptr<Interpreter> second =
        Interpreter::make(k.prepared(), k.launch({8, 1, 1}), k.memory, {});
    first->start({0, 0, 0});
    second->start({4, 0, 0});  // row 4 takes slot 0 too
    ASSERT_EQ(first->advance(), Interpreter::State::kAtEffect);
    EXPECT_EQ(first->effect()->name(), "tt.atomic_cas");
    ASSERT_EQ(first->trace().access_count(k.prepared()->site(*first->effect())), 1u);
    first->perform();  // takes the lock
    for (int spin = 0; spin < 3; ++spin) {
      ASSERT_EQ(second->advance(), Interpreter::State::kAtEffect);
      EXPECT_EQ(second->effect()->name(), "tt.atomic_cas");
      second->perform();
    }
    while (first->advance() == Interpreter::State::kAtEffect) {
      EXPECT_THAT(std::string(first->effect()->name()),
                  testing::AnyOf("gpu.barrier", "tt.atomic_rmw", "ttg.barrier"));
      first->perform();
    }
    int left = 0;
    while (second->advance() == Interpreter::State::kAtEffect) second->perform(), ++left;
    EXPECT_GE(left, 2);  // its cas that succeeds, and the exchange that lets go
    const auto out = k.values("out_ptr");
    EXPECT_THAT(std::vector<double>(out.begin(), out.begin() + 256), Each(2.0));
    EXPECT_THAT(k.values("lock_ptr"), Each(0.0));
  }
}

/// A spin on a flag: each turn reads it anew, when its time has come.
TEST(Interpreter, DoesAVolatileLoadSeeWhatOthersWroteMeanwhile) {
  const auto module = read_kernel_text(R"(
module {
  tt.func public @f(%flag: !tt.ptr<i32>) {
    %c0 = arith.constant 0 : i32
    scf.while : () -> () {
      %v = tt.load %flag {isVolatile = true} : !tt.ptr<i32>
      %go = arith.cmpi eq, %v, %c0 : i32
      scf.condition(%go)
    } do {
      scf.yield
    }
    tt.return
  }
})");
  ASSERT_TRUE(module);
  KernelRun k(module);
  k.tensor("flag", DType::kI32, {1}, zeros());
  const auto interpreter = Interpreter::make(k.prepared(), k.launch({1, 1, 1}), k.memory, {});
  interpreter->start({0, 0, 0});
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_EQ(interpreter->advance(), Interpreter::State::kAtEffect);
    if (turn == 2) {
      const std::int32_t one = 1;
      k.memory.write(k.memory.find("flag")->address, std::as_bytes(std::span(&one, 1)));
    }
    interpreter->perform();
  }
  EXPECT_EQ(interpreter->advance(), Interpreter::State::kDone);
}

TEST(Interpreter, AreDecisionsTheSameWithAndWithoutValues) {
  std::vector<std::vector<std::int64_t>> trips;
  for (const bool values : {true, false}) {
    KernelRun k(triton("halve_until_small"));
    k.tensor("x_ptr", DType::kF32, {4, 512}, randn(1));
    k.tensor("steps_ptr", DType::kI32, {4}, zeros());
    k.real("limit", 0.01);
    const auto interpreter =
        Interpreter::make(k.prepared(), k.launch({4, 1, 1}), k.memory, {.values = values});
    interpreter->start({3, 0, 0});
    ASSERT_EQ(interpreter->advance(), Interpreter::State::kDone) << interpreter->error().message;
    std::vector<std::int64_t> d;
    for (std::uint32_t s = 0; s < k.prepared()->site_count(); ++s) {
      for (std::uint32_t i = 0; i < interpreter->trace().decision_count(s); ++i) {
        d.push_back(interpreter->trace().decision(s, i));
      }
    }
    trips.push_back(d);
    // The loop is left once, after as many turns as the kernel counted.
    EXPECT_EQ(d.size(), static_cast<std::size_t>(k.values("steps_ptr")[3]) + 1);
    EXPECT_GT(d.size(), 5u);
  }
  EXPECT_EQ(trips[0], trips[1]);
}

TEST(Interpreter, DoesABranchLeaveItsDecision) {
  const auto module = triton("branch_by_parity");
  KernelRun k(module);
  for (const char* t : {"x_ptr", "y_ptr"}) k.tensor(t, DType::kF32, {3000}, randn(1));
  k.tensor("out_ptr", DType::kF32, {3000}, zeros());
  k.integer("n", 3000);
  const auto interpreter = Interpreter::make(k.prepared(), k.launch({3, 1, 1}), k.memory, {});
  std::vector<std::int64_t> taken;
  for (std::int64_t b = 0; b < 3; ++b) {
    interpreter->start({b, 0, 0});
    ASSERT_EQ(interpreter->advance(), Interpreter::State::kDone);
    for (std::uint32_t s = 0; s < k.prepared()->site_count(); ++s) {
      if (interpreter->trace().decision_count(s) == 1)
        taken.push_back(interpreter->trace().decision(s, 0));
    }
  }
  EXPECT_EQ(taken, (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(Interpreter, AreAllOpsWithoutAHandlerNamedWithTheirLines) {
  const auto module = read_kernel_text(R"(
module {
  tt.func public @f(%p: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %1 = arith.constant dense<0.0> : tensor<8xf32>
    %2 = ttg.warp_id
    %3 = tt.elementwise_inline_asm "{ bar.sync 0; }" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %0 : tensor<8xi32> -> tensor<8xi32>
    tt.return
  }
})");
  ASSERT_TRUE(module);
  const auto prepared = Prepared::make(module, *module->kernel());
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().str(),
              HasSubstr("test.mlir:6:5: error: no functional model of ttg.warp_id"));
  EXPECT_THAT(
      prepared.error().str(),
      HasSubstr(
          "test.mlir:7:5: error: tt.elementwise_inline_asm: inline assembly is not executed"));
}

}  // namespace
}  // namespace xpusim::exec
