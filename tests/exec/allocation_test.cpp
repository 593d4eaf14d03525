// Blocks in steady state take no memory: this file counts every allocation of the test program.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/exec/kernel_harness.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace xpusim::exec {
namespace {

std::uint64_t allocations_of_warm_blocks(const char* form, bool values) {
  const auto module = read_kernel(kernel_files("triton/ir", "vector_add", form).front());
  const std::int64_t n = 40 * block_size(*module) - 3;
  KernelRun k(module);
  for (const char* t : {"x_ptr", "y_ptr"}) k.tensor(t, DType::kF32, {n}, randn(1));
  k.tensor("out_ptr", DType::kF32, {n}, zeros());
  k.integer("n", n);
  for (int i = 0; i < 3; ++i) {  // then all pages exist that are written or read often
    if (!k.run({40, 1, 1})) return ~0ull;
  }
  const auto interpreter =
      Interpreter::make(k.prepared(), k.launch({40, 1, 1}), k.memory, {.values = values});
  std::uint64_t before = 0;
  for (std::int64_t b = 0; b < 40; ++b) {
    if (b == 2) before = allocations;
    interpreter->start({b, 0, 0});
    if (interpreter->advance() != Interpreter::State::kDone) return ~0ull;
  }
  return allocations - before;
}

TEST(Allocation, DoWarmBlocksAllocateNothing) {
  for (const char* form : {".ttir", ".ttgir"}) {
    EXPECT_EQ(allocations_of_warm_blocks(form, false), 0u);
    EXPECT_EQ(allocations_of_warm_blocks(form, true), 0u);
  }
}

}  // namespace
}  // namespace xpusim::exec
