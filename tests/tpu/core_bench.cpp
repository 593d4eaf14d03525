// How many core cycles a second does a product take to simulate, bank-level HBM included?

#include <benchmark/benchmark.h>

#include "models/tpu/core/simulate.h"
#include "models/tpu/launch.h"
#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

void run_product(benchmark::State& state, const std::string& stem, std::int64_t n, bool leap,
                 const std::vector<std::string>& overrides) {
  const TpuParams params = test::params_of("tpu_v5e", overrides);
  double cycles = 0;
  for (auto _ : state) {
    test::LaunchFixture f("workloads/pallas/ir/" + stem + ".mlir",
                          {{"x", exec::DType::kBF16, {n, n}, test::zeros()},
                           {"y", exec::DType::kBF16, {n, n}, test::zeros()},
                           {"o", exec::DType::kBF16, {n, n}, test::zeros()}});
    exec::DeviceMemory* memory = &f.memory;
    auto ready = prepare_mosaic(f.launch, {&memory, 1}, params, false);
    if (!ready) return state.SkipWithError(ready.error().str().c_str());
    std::vector<CoreWork> work;
    for (const auto& core : ready->cores) work.push_back({core.windows.get(), core.body.get()});
    SimulationOptions options;
    options.leap = leap;
    auto result = simulate(params, ready->program, work, options);
    if (!result) return state.SkipWithError(result.error().str().c_str());
    cycles += static_cast<double>(result->cycles);
  }
  state.counters["core_cycles"] = benchmark::Counter(cycles, benchmark::Counter::kIsRate);
}

void EveryBundleOnOneArray(benchmark::State& state) {
  run_product(state, "matmul_4096_b512x1024x1024", 4096, false, {"tpu.core.mxu.count=1"});
}
BENCHMARK(EveryBundleOnOneArray)->Unit(benchmark::kSecond)->Iterations(1);

void SmallBlocksWithAlikeStepsAdded(benchmark::State& state) {
  run_product(state, "matmul_8192_b128x128x128", 8192, true, {});
}
BENCHMARK(SmallBlocksWithAlikeStepsAdded)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace xpusim::tpu
