// What a block costs: the cheapest kernel without values, and rows of softmax with them.

#include <benchmark/benchmark.h>
#include <Eigen/Core>

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

/// The compilations of matmul, and the tile that each of their products makes.
struct Matmul {
  std::shared_ptr<const kernel::Module> module;
  std::int64_t m = 0, n = 0, k = 0;  ///< of one product
};

bool find_product(const kernel::Region& region, Matmul& matmul) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      if (op->name() == "tt.dot" || op->name() == "ttng.warp_group_dot") {
        const auto& a = op->operands[0]->type->shape;
        matmul.m = a[0], matmul.k = a[1], matmul.n = op->operands[1]->type->shape[1];
        return true;
      }
      for (const auto& inner : op->regions) {
        if (find_product(*inner, matmul)) return true;
      }
    }
  }
  return false;
}

Matmul matmul_kernel() {
  Matmul best;
  for (const auto& path : kernel_files("triton/ir", "matmul", ".ttgir")) {
    Matmul m;
    m.module = read_kernel(path);
    if (find_product(*m.module->kernel()->op->regions[0], m) && m.m * m.n > best.m * best.n)
      best = m;
  }
  return best;
}

void bind_square(KernelRun& k, const kernel::Module& module, std::int64_t n) {
  const auto& args = module.kernel()->entry().args;
  for (std::size_t i = 0; i < 3; ++i) {
    k.tensor(args[i]->name, args[i]->type->pointee()->dtype, {n, n},
             i < 2 ? randn(i + 1) : zeros());
  }
  for (std::size_t i = 3; i < args.size(); ++i) k.integer(args[i]->name, n);
}

constexpr std::int64_t kSquare = 4096;

/// All addresses and masks of a product of two 4096 x 4096 matrices: under a second.
void matmul_4096_addresses(benchmark::State& state) {
  const Matmul m = matmul_kernel();
  KernelRun k(m.module, std::uint64_t{1} << 30);
  bind_square(k, *m.module, kSquare);
  for (auto _ : state) {
    if (!k.run({kSquare / m.m * (kSquare / m.n), 1, 1}, false)) {
      state.SkipWithError(k.error.message.c_str());
      return;
    }
  }
}
BENCHMARK(matmul_4096_addresses)->Unit(benchmark::kMillisecond);

constexpr std::int64_t kBlocks = 8;  // of the grid: enough to measure their rate

/// Some of its blocks with values, in floating-point operations a second.
void matmul_4096_values(benchmark::State& state) {
  const Matmul m = matmul_kernel();
  KernelRun k(m.module, std::uint64_t{1} << 30);
  bind_square(k, *m.module, kSquare);
  for (auto _ : state) {
    if (!k.run({kBlocks, 1, 1})) {
      state.SkipWithError(k.error.message.c_str());
      return;
    }
  }
  state.counters["flop/s"] =
      benchmark::Counter(static_cast<double>(kBlocks * 2 * m.m * m.n * kSquare),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(matmul_4096_values)->Unit(benchmark::kMillisecond);

/// The same products by Eigen alone, on matrices of f32 that lie ready.
void matmul_4096_eigen(benchmark::State& state) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matmul m = matmul_kernel();
  Matrix a = Matrix::Random(m.m, m.k), b = Matrix::Random(m.k, m.n), c = Matrix::Zero(m.m, m.n);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < kBlocks * (kSquare / m.k); ++i) c.noalias() += a * b;
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["flop/s"] =
      benchmark::Counter(static_cast<double>(kBlocks * 2 * m.m * m.n * kSquare),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(matmul_4096_eigen)->Unit(benchmark::kMillisecond);

/// 8192 rows of 4096, with values: under two seconds.
void softmax_8192x4096(benchmark::State& state) {
  for (const auto& path : kernel_files("triton/ir", "softmax", ".ttgir")) {
    const auto module = read_kernel(path);
    if (block_size(*module) != 4096) continue;
    for (auto _ : state) {
      KernelRun k(module, std::uint64_t{1} << 30);
      k.tensor("in_ptr", DType::kF32, {8192, 4096}, randn(1));
      k.tensor("out_ptr", DType::kF32, {8192, 4096}, zeros());
      for (const char* name : {"in_row_stride", "out_row_stride", "n_cols"}) k.integer(name, 4096);
      if (!k.run({8192, 1, 1})) state.SkipWithError(k.error.message.c_str());
    }
    return;
  }
  state.SkipWithError("no softmax kernel of 4096 columns");
}
BENCHMARK(softmax_8192x4096)->Unit(benchmark::kMillisecond);

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
