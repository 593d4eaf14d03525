// What a block costs: the cheapest kernel without values, and rows of softmax with them.

#include <benchmark/benchmark.h>

#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

void run_blocks(benchmark::State& state, KernelRun& k, std::int64_t blocks, bool values) {
  const auto interpreter =
      Interpreter::make(k.prepared(), k.launch({blocks, 1, 1}), k.memory, {.values = values});
  std::int64_t block = 0;
  for (auto _ : state) {
    interpreter->start({block, 0, 0});
    if (interpreter->advance() != Interpreter::State::kDone)
      state.SkipWithError("the kernel failed");
    if (++block == blocks) block = 0;
  }
}

void vector_add(benchmark::State& state, bool values) {
  KernelRun k(read_kernel(kernel_files("triton/ir", "vector_add", ".ttgir").front()));
  const std::int64_t n = 1'000'000;
  for (const char* name : {"x_ptr", "y_ptr"}) k.tensor(name, DType::kF32, {n}, randn(1));
  k.tensor("out_ptr", DType::kF32, {n}, zeros());
  k.integer("n", n);
  const auto module = read_kernel(kernel_files("triton/ir", "vector_add", ".ttgir").front());
  run_blocks(state, k, n / block_size(*module), values);
  state.SetBytesProcessed(state.iterations() * block_size(*module) * 12);
}
void vector_add_off(benchmark::State& state) { vector_add(state, false); }
void vector_add_on(benchmark::State& state) { vector_add(state, true); }
BENCHMARK(vector_add_off);
BENCHMARK(vector_add_on);

void softmax(benchmark::State& state, bool values) {
  for (const auto& path : kernel_files("triton/ir", "softmax", ".ttgir")) {
    const auto module = read_kernel(path);
    if (block_size(*module) != 4096) continue;
    KernelRun k(module);
    k.tensor("in_ptr", DType::kF32, {512, 4096}, randn(1));
    k.tensor("out_ptr", DType::kF32, {512, 4096}, zeros());
    for (const char* name : {"in_row_stride", "out_row_stride", "n_cols"}) k.integer(name, 4096);
    run_blocks(state, k, 512, values);
    return;
  }
  state.SkipWithError("no softmax kernel of 4096 columns");
}
void softmax_off(benchmark::State& state) { softmax(state, false); }
void softmax_on(benchmark::State& state) { softmax(state, true); }
BENCHMARK(softmax_off);
BENCHMARK(softmax_on);

/// A block of a matmul over shared memory, without values: its pointer tiles, masks and copies.
void matmul_off(benchmark::State& state) {
  KernelRun k(read_kernel(kernel_files("triton/ir", "matmul", ".ttgir").front()));
  const std::int64_t n = 2048;
  for (const char* name : {"a_ptr", "b_ptr", "c_ptr"})
    k.tensor(name, DType::kBF16, {n, n}, randn(1));
  for (const char* name : {"M", "N", "K", "stride_am", "stride_bk", "stride_cm"})
    k.integer(name, n);
  run_blocks(state, k, 256, false);
}
BENCHMARK(matmul_off);

void generate_randn(benchmark::State& state) {
  DeviceMemory m(1 << 30);
  const auto a = *m.allocate("a", DType::kF32, {1 << 20}, randn(1));
  std::vector<std::byte> out(4 << 20);
  for (auto _ : state) m.read(a, out);
  state.SetItemsProcessed(state.iterations() << 20);
}
BENCHMARK(generate_randn);

}  // namespace
}  // namespace xpusim::exec
