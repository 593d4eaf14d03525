// Whole kernels: do they give the right values, in the right time?

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "models/tpu/core/simulate.h"
#include "models/tpu/launch.h"
#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;
using test::LaunchFixture;

std::string pallas(const std::string& stem) { return "workloads/pallas/ir/" + stem + ".mlir"; }

/// Relative distance of the simulated from the measured time.
double error_of(double simulated, double measured) { return simulated / measured - 1; }

TEST(Kernels, HowLongDoesACopyOf32MiBTakeOnAV6e) {
  double best = 1e30;
  for (const char* kernel : {"hbm_copy_r256", "hbm_copy_r1024"}) {
    LaunchFixture f(pallas(kernel), {{"x", DType::kBF16, {16384, 1024}, test::randn(1)},
                                     {"o", DType::kBF16, {16384, 1024}, test::zeros()}});
    const auto report = test::run_on(test::params_of("tpu_v6e"), f, false);
    EXPECT_EQ(test::ledger_sum(report), report.cycles);
    EXPECT_EQ(test::counter(report, "dma_bytes"), 2.0 * 32 * 1024 * 1024);
    best = std::min(best, report.duration_ns);
  }
  EXPECT_NEAR(error_of(best, 49359), 0, 0.08);
}

/// Time of one repetition of a VMEM-resident chain: operands stay, so 16 more repetitions cost 16
/// times one.
double repetition_ns(const std::string& op, std::int64_t rows) {
  double ns[2];
  const std::int64_t n = rows * 1024;
  for (int k = 0; k < 2; ++k) {
    LaunchFixture f(
        pallas("vmem_chain_" + op + "_" + std::to_string(n) + (k == 0 ? "_r4" : "_r20")),
        {{"x", DType::kBF16, {rows, 1024}, test::randn(1)},
         {"y", DType::kBF16, {rows, 1024}, test::randn(2)},
         {"o", DType::kBF16, {rows, 1024}, test::zeros()}});
    ns[k] = test::run_on(test::params_of("tpu_v6e"), f, false).duration_ns;
  }
  return (ns[1] - ns[0]) / 16;
}

TEST(Kernels, HowLongDoVmemResidentLoopsTakeOnAV6e) {
  EXPECT_NEAR(error_of(repetition_ns("add", 2048), 1405.85), 0, 0.1);
  EXPECT_NEAR(error_of(repetition_ns("add", 4096), 2682.06), 0, 0.1);
  EXPECT_NEAR(error_of(repetition_ns("exp", 2048), 1618.71), 0, 0.1);
  EXPECT_NEAR(error_of(repetition_ns("exp", 4096), 3186.48), 0, 0.1);
}

TEST(Kernels, DoesAnAddGiveTheSums) {
  LaunchFixture f(pallas("add"), {{"x", DType::kF32, {8192, 1024}, test::randn(1)},
                                  {"y", DType::kF32, {8192, 1024}, test::randn(2)},
                                  {"o", DType::kF32, {8192, 1024}, test::zeros()}});
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto x = f.values("x"), y = f.values("y"), o = f.values("o");
  for (std::size_t i = 0; i < o.size(); i += 997) {
    ASSERT_EQ(o[i], static_cast<double>(static_cast<float>(x[i]) + static_cast<float>(y[i]))) << i;
  }
  EXPECT_EQ(report.flops, 8192.0 * 1024);
  EXPECT_EQ(test::counter(report, "vector_loads"), 2.0 * 8192);
  EXPECT_EQ(test::counter(report, "vector_stores"), 8192);
  EXPECT_EQ(test::counter(report, "window_fetches"), 32);
  EXPECT_EQ(test::counter(report, "window_write_backs"), 16);
  EXPECT_EQ(test::ledger_sum(report), report.cycles);
}

TEST(Kernels, DoesMulAddReluGiveTheRightValues) {
  std::vector<test::TensorSpec> tensors;
  for (const char* name : {"x", "w", "b", "o"}) {
    tensors.push_back({name, DType::kF32, {8192, 1024}, test::randn(tensors.size())});
  }
  LaunchFixture f(pallas("mul_add_relu"), tensors);
  test::run_on(test::params_of("tpu_v6e"), f);
  const auto x = f.values("x"), w = f.values("w"), b = f.values("b"), o = f.values("o");
  for (std::size_t i = 0; i < o.size(); i += 991) {
    ASSERT_NEAR(o[i], std::max(0.0, x[i] * w[i] + b[i]), 1e-5) << i;
  }
}

TEST(Kernels, DoesSoftmaxGiveProbabilities) {
  LaunchFixture f(pallas("softmax"), {{"x", DType::kF32, {8192, 4096}, test::randn(1)},
                                      {"o", DType::kF32, {8192, 4096}, test::zeros()}});
  const auto report = test::run_on(test::params_of("tpu_v6e"), f);
  const auto x = f.values("x"), o = f.values("o");
  for (std::size_t row : {0u, 63u, 64u, 5000u, 8191u}) {
    const double* in = x.data() + row * 4096;
    double sum = 0;
    for (int c = 0; c < 4096; ++c) sum += std::exp(in[c]);
    for (int c = 0; c < 4096; c += 37) {
      ASSERT_NEAR(o[row * 4096 + c], std::exp(in[c]) / sum, 1e-8);
    }
  }
  EXPECT_GE(test::counter(report, "eup_ops"), 8192.0 * 4);  // an exp a register
  EXPECT_EQ(test::counter(report, "xlu_ops"), 2.0 * 8192 / 8);
}

TEST(Kernels, DoesLayerNormGiveTheRightValuesAndFetchItsWeightsOnce) {
  LaunchFixture f(pallas("layer_norm"), {{"x", DType::kF32, {8192, 4096}, test::randn(1)},
                                         {"w", DType::kF32, {1, 4096}, test::randn(2)},
                                         {"b", DType::kF32, {1, 4096}, test::randn(3)},
                                         {"o", DType::kF32, {8192, 4096}, test::zeros()}});
  const auto report = test::run_on(test::params_of("tpu_v6e"), f);
  const auto x = f.values("x"), w = f.values("w"), b = f.values("b"), o = f.values("o");
  for (std::size_t row : {0u, 127u, 128u, 8191u}) {
    const double* in = x.data() + row * 4096;
    double mean = 0, square = 0;
    for (int c = 0; c < 4096; ++c) mean += in[c] / 4096;
    for (int c = 0; c < 4096; ++c) square += (in[c] - mean) * (in[c] - mean) / 4096;
    for (int c = 0; c < 4096; c += 41) {
      const double want = (in[c] - mean) / std::sqrt(square + 1e-5) * w[c] + b[c];
      ASSERT_NEAR(o[row * 4096 + c], want, 2e-5);
    }
  }
  EXPECT_EQ(test::counter(report, "window_fetches"), 64 + 2);
}

/// A product of n^3 in a kernel of three grid dimensions.
run::LaunchReport product_report(const std::string& stem, const TpuParams& params, std::int64_t n,
                                 bool relu) {
  LaunchFixture f(pallas(stem), {{"x", DType::kBF16, {n, n}, test::randn(1)},
                                 {"y", DType::kBF16, {n, n}, test::randn(2)},
                                 {"o", DType::kBF16, {n, n}, test::zeros()}});
  const auto report = test::run_on(params, f);
  const auto x = f.values("x"), y = f.values("y"), o = f.values("o");
  const auto size = static_cast<std::size_t>(n);
  for (std::size_t i = 0; i < o.size(); i += 100'003) {
    double want = 0;
    for (std::size_t k = 0; k < size; ++k) want += x[i / size * size + k] * y[k * size + i % size];
    if (relu) want = std::max(want, 0.0);
    EXPECT_NEAR(o[i], want, 1e-2 * std::abs(want) + 2e-2) << stem << i;
  }
  EXPECT_EQ(test::ledger_sum(report), report.cycles);
  return report;
}

TEST(Kernels, DoProductsGiveTheRightValuesAndKeepTheArraysBusyAsLongAsTheyMust) {
  for (bool relu : {false, true}) {
    const std::string stem = relu ? "matmul_relu_1024" : "matmul_1024";
    const auto large =
        product_report(stem + "_b512x1024x1024", test::params_of("tpu_v5e"), 1024, relu);
    const auto small =
        product_report(stem + "_b128x128x128", test::params_of("tpu_v5e"), 1024, relu);
    // Every 128 x 128 tile of y meets 1024 rows, one a cycle.
    EXPECT_EQ(test::counter(large, "mxu_busy_cycles"), 8.0 * 8 * 1024);
    EXPECT_EQ(test::counter(small, "mxu_busy_cycles"), 8.0 * 8 * 1024);
  }
  const auto v6e =
      product_report("matmul_1024_b512x1024x1024", test::params_of("tpu_v6e"), 1024, false);
  EXPECT_EQ(test::counter(v6e, "mxu_busy_cycles"), 4.0 * 4 * 512);  // 256 x 256, two rows a cycle
}

// Steps that decide the same from the same state are added, not stepped: with the same outcome.
TEST(Kernels, DoAddedStepsTakeAsLongAsSteppedOnes) {
  const TpuParams params = test::params_of("tpu_v5e");
  std::optional<SimulationResult> results[2];
  for (bool leap : {false, true}) {
    LaunchFixture f(pallas("matmul_1024_b128x128x128"),
                    {{"x", DType::kBF16, {1024, 1024}, test::zeros()},
                     {"y", DType::kBF16, {1024, 1024}, test::zeros()},
                     {"o", DType::kBF16, {1024, 1024}, test::zeros()}});
    exec::DeviceMemory* memory = &f.memory;
    auto ready = prepare_mosaic(f.launch, {&memory, 1}, params, false);
    ASSERT_TRUE(ready) << ready.error().str();
    std::vector<CoreWork> work;
    for (const auto& core : ready->cores) work.push_back({core.windows.get(), core.body.get()});
    SimulationOptions options;
    options.leap = leap;
    auto result = simulate(params, ready->program, work, options);
    ASSERT_TRUE(result) << result.error().str();
    results[leap] = std::move(*result);
  }
  EXPECT_EQ(results[0]->cycles, results[1]->cycles);
  EXPECT_EQ(results[0]->activity, results[1]->activity);
  EXPECT_LT(results[1]->stepped_bundles * 2, results[0]->stepped_bundles);
}

TEST(Kernels, DoesAnInt8ProductGiveTheRightValues) {
  const auto integers = [](std::uint64_t seed) {
    exec::Init init;
    init.kind = exec::Init::Kind::kRandint;
    init.value = 100;
    init.seed = seed;
    return init;
  };
  LaunchFixture f(pallas("int8_matmul_2048"), {{"x", DType::kI8, {2048, 2048}, integers(1)},
                                               {"y", DType::kI8, {2048, 2048}, integers(2)},
                                               {"o", DType::kI32, {2048, 2048}, test::zeros()}});
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto x = f.values("x"), y = f.values("y"), o = f.values("o");
  for (std::size_t i = 0; i < o.size(); i += 100'003) {
    double want = 0;
    for (std::size_t k = 0; k < 2048; ++k) want += x[i / 2048 * 2048 + k] * y[k * 2048 + i % 2048];
    ASSERT_EQ(o[i], want) << i;
  }
  EXPECT_EQ(test::counter(report, "mxu_busy_cycles"), 16.0 * 16 * 2048 / 2);
}

TEST(Kernels, DoesATransposeGiveTheRightValues) {
  LaunchFixture f(pallas("transpose"), {{"x", DType::kF32, {4096, 4096}, test::randn(1)},
                                        {"o", DType::kF32, {4096, 4096}, test::zeros()}});
  const auto report = test::run_on(test::params_of("tpu_v6e"), f);
  const auto x = f.values("x"), o = f.values("o");
  for (std::size_t r = 0; r < 4096; r += 331) {
    for (std::size_t c = 0; c < 4096; c += 97) ASSERT_EQ(o[r * 4096 + c], x[c * 4096 + r]);
  }
  EXPECT_EQ(test::counter(report, "xlu_ops"), 512.0 * 32);  // every register once
}

TEST(Kernels, DoesFlashAttentionGiveTheRightValues) {
  constexpr std::size_t kHeads = 32, kRows = 512, kDim = 128;
  std::vector<test::TensorSpec> tensors;
  for (const char* name : {"q", "k", "v", "o"}) {
    tensors.push_back({name, DType::kBF16, {kHeads, kRows, kDim}, test::randn(tensors.size())});
  }
  LaunchFixture f(pallas("flash_h32_s512"), tensors);
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto q = f.values("q"), k = f.values("k"), v = f.values("v"), o = f.values("o");
  for (std::size_t row = 0; row < kHeads * kRows; row += 1999) {
    const std::size_t head = row / kRows * kRows * kDim;
    std::vector<double> p(kRows);
    double sum = 0;
    for (std::size_t j = 0; j < kRows; ++j) {
      double s = 0;
      for (std::size_t d = 0; d < kDim; ++d) s += q[row * kDim + d] * k[head + j * kDim + d];
      sum += p[j] = std::exp(s / std::sqrt(double{kDim}));
    }
    for (std::size_t d = 0; d < kDim; d += 17) {
      double want = 0;
      for (std::size_t j = 0; j < kRows; ++j) want += p[j] / sum * v[head + j * kDim + d];
      EXPECT_NEAR(o[row * kDim + d], want, 0.02 * std::abs(want) + 2e-3) << row << " " << d;
    }
  }
  // Both products: 4 tiles of 128 x 128 and 512 rows a head.
  EXPECT_EQ(test::counter(report, "mxu_busy_cycles"), 32.0 * 2 * 4 * 512);
}

TEST(Kernels, DoCopiesThatAKernelStartsItselfGiveTheRightValues) {
  for (const char* kernel : {"manual_dma", "double_buffer"}) {
    LaunchFixture f(pallas(kernel), {{"x", DType::kF32, {4096, 1024}, test::randn(1)},
                                     {"o", DType::kF32, {4096, 1024}, test::zeros()}});
    const auto report = test::run_on(test::params_of("tpu_v6e"), f);
    const auto x = f.values("x"), o = f.values("o");
    const bool twice = std::string(kernel) == "manual_dma";
    for (std::size_t i = 0; i < o.size(); i += 1009) {
      const double want = twice ? 2 * x[i] : std::tanh(x[i]);
      ASSERT_NEAR(o[i], want, 1e-5 * std::abs(want)) << kernel << i;
    }
    EXPECT_EQ(test::counter(report, "dma_bytes"), 2.0 * 4096 * 1024 * 4);
    EXPECT_EQ(test::ledger_sum(report), report.cycles);
  }
}

TEST(Kernels, DoPrefetchedIndicesPickTheBlocks) {
  LaunchFixture f(pallas("gather_blocks"), {{"index", DType::kI32, {256}, {}},
                                            {"x", DType::kF32, {8192, 1024}, test::randn(1)},
                                            {"o", DType::kF32, {2048, 1024}, test::zeros()}});
  std::vector<std::int32_t> index(256);
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::int32_t>(i * 7 % 1024);
  f.memory.write(f.memory.find("index")->address, std::as_bytes(std::span(index)));
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto x = f.values("x"), o = f.values("o");
  for (std::size_t row = 0; row < 2048; row += 5) {
    const std::size_t from = static_cast<std::size_t>(index[row / 8]) * 8 + row % 8;
    for (std::size_t c = 0; c < 1024; c += 100) ASSERT_EQ(o[row * 1024 + c], x[from * 1024 + c]);
  }
  EXPECT_EQ(test::counter(report, "window_fetches"), 256);
}

TEST(Kernels, DoesALoopWhoseTripsDependOnDataRunAsOftenAsItShould) {
  std::uint64_t cycles[2];
  for (std::int32_t length : {8, 512}) {
    LaunchFixture f(pallas("sum_rows_by_length"),
                    {{"length", DType::kI32, {64}, {}},
                     {"x", DType::kF32, {64, 512, 128}, test::randn(1)},
                     {"o", DType::kF32, {64, 8, 128}, test::zeros()}});
    const std::vector<std::int32_t> lengths(64, length);
    f.memory.write(f.memory.find("length")->address, std::as_bytes(std::span(lengths)));
    const auto report = test::run_on(test::params_of("tpu_v6e"), f);
    EXPECT_EQ(test::counter(report, "vector_alu_ops"), 64.0 * (1 + length / 8));  // 1: the zeros
    cycles[length == 512] = static_cast<std::uint64_t>(test::counter(report, "bundles"));
    const auto x = f.values("x"), o = f.values("o");
    double sum = 0;
    for (std::int32_t r = 0; r < length; r += 8) sum += x[static_cast<std::size_t>(r) * 128];
    EXPECT_NEAR(o[0], sum, 1e-4);
  }
  EXPECT_GT(cycles[1], cycles[0]);
}

/// Keeps what a trace is told.
class RecordingSink : public trace::Sink {
 public:
  trace::LaneId lane(std::string_view path) override {
    lanes.emplace_back(path);
    return static_cast<trace::LaneId>(lanes.size() - 1);
  }
  trace::NameId name(std::string_view text) override {
    names.emplace_back(text);
    return static_cast<trace::NameId>(names.size() - 1);
  }
  void slice(trace::LaneId lane, trace::NameId name, std::uint64_t begin,
             std::uint64_t end) override {
    EXPECT_LT(begin, end);
    EXPECT_GE(begin, last_end[lane]) << lanes[lane] << " " << names[name];
    last_end[lane] = end;
    ++slices[lanes[lane]];
  }
  void counter(trace::LaneId, std::uint64_t, double) override {}
  Expected<void> finish() override { return {}; }

  std::vector<std::string> lanes, names;
  std::map<trace::LaneId, std::uint64_t> last_end;
  std::map<std::string, int> slices;
};

TEST(Trace, ShowsBodiesWaitsTransfersAndWindowsInOrder) {
  LaunchFixture f(pallas("hbm_copy_r1024"), {{"x", DType::kBF16, {16384, 1024}, test::randn(1)},
                                             {"o", DType::kBF16, {16384, 1024}, test::zeros()}});
  Machine machine("v6e", test::params_of("tpu_v6e"), std::nullopt);
  RecordingSink sink;
  run::LaunchOptions options;
  options.values = false;
  options.trace = &sink;
  ASSERT_TRUE(machine.launch(f.launch, f.memory, options));
  EXPECT_GE(sink.slices["tpu.core.issue"], 16);
  EXPECT_EQ(sink.slices["tpu.core.window.x_ref[0]"], 8);
  EXPECT_EQ(sink.slices["tpu.core.window.o_ref[1]"], 8);
  EXPECT_EQ(sink.slices["tpu.dma[0]"], 16);  // one brings blocks,
  EXPECT_EQ(sink.slices["tpu.dma[1]"], 16);  // the other takes them away
}

}  // namespace
}  // namespace xpusim::tpu
