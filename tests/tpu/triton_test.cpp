// Triton kernels on the TPU: do programs become grid steps with the right values and transfers?

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "models/tpu/core/window_map.h"
#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;
using test::LaunchFixture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string triton(const std::string& stem) { return "workloads/triton/ir/" + stem + ".ttir"; }

TEST(Triton, FusedMulAddReluGivesTheRightValuesAlsoAtTheRaggedEnd) {
  const std::int64_t n = 100'000;  // 97.7 blocks of 1024
  std::vector<test::TensorSpec> tensors;
  for (const char* name : {"x", "w", "b", "out"}) {
    tensors.push_back({name, DType::kF32, {n}, test::randn(tensors.size() + 1)});
  }
  tensors.back().init = test::zeros();
  LaunchFixture f(triton("fused_mul_add_relu_db419bf1fe"), tensors, {n}, {98, 1, 1});
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto x = f.values("x"), w = f.values("w"), b = f.values("b"), out = f.values("out");
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_NEAR(out[i], std::max(0.0, x[i] * w[i] + b[i]), 1e-5) << i;
  }
  EXPECT_EQ(test::counter(report, "grid_steps"), 98);
  EXPECT_EQ(test::counter(report, "vector_loads"), 3 * 98);  // one (8,128) register a block
  EXPECT_EQ(test::counter(report, "dma_read_bytes"), 3.0 * 4 * n);
  EXPECT_EQ(test::counter(report, "dma_write_bytes"), 4.0 * n);
  EXPECT_EQ(report.compulsory_bytes, 4.0 * 4 * n);
  EXPECT_EQ(test::ledger_sum(report), report.cycles);
}

TEST(Triton, SoftmaxReducesARowInRegisters) {
  const std::int64_t rows = 16, cols = 500;
  LaunchFixture f(triton("softmax_0063708cb5"),
                  {{"out", DType::kF32, {rows, 512}, test::zeros()},
                   {"in", DType::kF32, {rows, 512}, test::randn(3)}},
                  {512, 512, cols}, {rows, 1, 1});
  const auto report = test::run_on(test::params_of("tpu_v6e"), f);
  const auto in = f.values("in"), out = f.values("out");
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < cols; ++c) sum += std::exp(in[r * 512 + c]);
    for (std::int64_t c = 0; c < cols; ++c) {
      ASSERT_NEAR(out[r * 512 + c], std::exp(in[r * 512 + c]) / sum, 1e-7);
    }
    ASSERT_EQ(out[r * 512 + cols], 0);
  }
  EXPECT_EQ(test::counter(report, "xlu_ops"), 2.0 * rows);  // a maximum and a sum
  EXPECT_EQ(test::counter(report, "dma_read_bytes"), 4.0 * rows * cols);
}

TEST(Triton, ARowMaximumIsASingleElementThatLeaves) {
  const std::int64_t rows = 8, cols = 700;
  LaunchFixture f(triton("row_max_eed86424db"),
                  {{"in", DType::kF32, {rows, 1024}, test::randn(4)},
                   {"out", DType::kF32, {rows}, test::zeros()}},
                  {1024, cols}, {rows, 1, 1});
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto in = f.values("in"), out = f.values("out");
  for (std::int64_t r = 0; r < rows; ++r) {
    ASSERT_EQ(out[r], *std::max_element(in.begin() + r * 1024, in.begin() + r * 1024 + cols));
  }
  EXPECT_EQ(test::counter(report, "dma_write_bytes"), 4.0 * rows);
}

std::unique_ptr<LaunchFixture> histogram(std::int64_t n, std::int64_t bins) {
  auto f = std::make_unique<LaunchFixture>(
      triton("histogram_atomic_91dabb063a"),
      std::vector<test::TensorSpec>{{"x", DType::kI32, {n}, {}},
                                    {"hist", DType::kI32, {bins}, test::zeros()}},
      std::vector<std::int64_t>{n}, std::array<std::int64_t, 3>{(n + 1023) / 1024, 1, 1});
  std::vector<std::int32_t> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * i % 97);
  f->memory.write(f->memory.find("x")->address, std::as_bytes(std::span(x)));
  return f;
}

// Atomics at many addresses: the scalar unit adds to a table in SMEM, which comes once and goes
// once.
TEST(Triton, AHistogramIsAddedUpElementByElement) {
  const auto f = histogram(3000, 16);
  const auto report = test::run_on(test::params_of("tpu_v4"), *f);
  std::vector<double> want(16, 0);
  for (double x : f->values("x")) ++want[static_cast<std::size_t>(x) % 16];
  EXPECT_EQ(f->values("hist"), want);
  EXPECT_EQ(test::counter(report, "dma_read_bytes"), 4.0 * (3000 + 16));
  EXPECT_EQ(test::counter(report, "dma_write_bytes"), 4.0 * 16);
  // An index, its remainder and address, the mask, the old count, the sum, the store: 8 each.
  EXPECT_GE(test::counter(report, "scalar_ops"), 8.0 * 3 * 1024);
  EXPECT_GT(report.cycles, 3 * 1024 * 10u);  // 4 to load, 2, 4 to load and 1 follow each other
}

TEST(Triton, ATableThatDoesNotFitIntoSmemIsNamed) {
  const auto f = histogram(1000, 1024);
  Machine machine("m", test::params_of("tpu_v5e", {"tpu.smem.bytes=1KiB"}), std::nullopt);
  const auto report = machine.launch(f->launch, f->memory, {});
  ASSERT_FALSE(report);
  EXPECT_THAT(
      report.error().str(),
      HasSubstr("kernels.py:221:39: error: what its atomics add to takes 4 KiB of SMEM, the "
                "core has 1 KiB"));
}

TEST(Triton, GatheredRowsAreFetchedWhenTheirIndexIsThere) {
  const std::int64_t rows = 64, cols = 200;
  LaunchFixture f(triton("gather_rows_41b07be231"),
                  {{"table", DType::kF32, {500, cols}, test::randn(1)},
                   {"index", DType::kI32, {rows}, {}},
                   {"out", DType::kF32, {rows, cols}, test::zeros()}},
                  {cols}, {rows, 1, 1});
  std::vector<std::int32_t> index(rows);
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::int32_t>(i * 37 % 500);
  f.memory.write(f.memory.find("index")->address, std::as_bytes(std::span(index)));
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto table = f.values("table"), out = f.values("out");
  for (std::size_t r = 0; r < index.size(); ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      ASSERT_EQ(out[r * cols + c], table[static_cast<std::size_t>(index[r]) * cols + c]);
    }
  }
  EXPECT_EQ(test::counter(report, "dma_read_bytes"), 4.0 * rows * cols + 4.0 * rows);
  EXPECT_GT(report.duration_ns, rows * 200);  // each row waits for its index, then for itself
}

TEST(Triton, LoadsOfALoopAreUnderWayWhileItMultiplies) {
  const std::int64_t m = 256, n = 128, k = 512;
  const auto nanoseconds = [&](std::int64_t stages) {
    LaunchFixture f(triton("matmul_01729cede5"),
                    {{"a", DType::kBF16, {m, k}, test::randn(1)},
                     {"b", DType::kBF16, {k, n}, test::randn(2)},
                     {"c", DType::kBF16, {m, n}, test::zeros()}},
                    {m, n, k, k, n, n}, {2, 1, 1}, stages);
    const auto report = test::run_on(test::params_of("tpu_v5e", {"tpu.dma.issue=500ns"}), f);
    const auto a = f.values("a"), b = f.values("b"), c = f.values("c");
    for (std::int64_t i = 0; i < m; i += 17) {
      for (std::int64_t j = 0; j < n; j += 13) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
        EXPECT_NEAR(c[i * n + j], sum, 0.01 * std::abs(sum) + 0.1);
      }
    }
    EXPECT_EQ(test::counter(report, "dma_read_bytes"), 2.0 * (m * k + 2 * k * n));
    EXPECT_EQ(test::ledger_sum(report), report.cycles);
    return report.duration_ns;
  };
  EXPECT_LT(nanoseconds(4), 0.8 * nanoseconds(2));
}

TEST(Triton, ATileThatIsStoredTheOtherWayGoesThroughTheXlu) {
  LaunchFixture f(triton("transpose_2a58854d66"),
                  {{"x", DType::kF32, {100, 70}, test::randn(1)},
                   {"out", DType::kF32, {70, 100}, test::zeros()}},
                  {100, 70}, {4, 3, 1});
  const auto report = test::run_on(test::params_of("tpu_v6e"), f);
  const auto x = f.values("x"), out = f.values("out");
  for (std::size_t r = 0; r < 100; ++r) {
    for (std::size_t c = 0; c < 70; ++c) ASSERT_EQ(out[c * 100 + r], x[r * 70 + c]);
  }
  EXPECT_GE(test::counter(report, "xlu_ops"), 12.0);
}

TEST(Triton, IntegersAreDividedByAReciprocal) {
  const std::int64_t n = 4096;
  LaunchFixture f(triton("integer_mix_39f81159ad"),
                  {{"x", DType::kI32, {n}, {}}, {"out", DType::kI32, {n}, test::zeros()}}, {n, 7},
                  {4, 1, 1});
  std::vector<std::int32_t> x(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * 7919 % 100003);
  f.memory.write(f.memory.find("x")->address, std::as_bytes(std::span(x)));
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  EXPECT_GT(test::counter(report, "vector_alu_ops"), 4 * 10.0);
  EXPECT_EQ(test::ledger_sum(report), report.cycles);
}

TEST(Triton, AStrideMakesARequestAnElement) {
  LaunchFixture f(
      triton("strided_copy_8007b5a788"),
      {{"x", DType::kF32, {4096}, test::randn(1)}, {"out", DType::kF32, {2048}, test::zeros()}},
      {2048}, {2, 1, 1});
  const auto report = test::run_on(test::params_of("tpu_v5e"), f);
  const auto x = f.values("x"), out = f.values("out");
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], x[2 * i]);
  EXPECT_EQ(test::counter(report, "dma_requests"), 2048 + 2048 * 4 / 512);
}

TEST(Triton, ASumOverProgramsStaysInVmemUntilTheEnd) {
  const std::int64_t n = 100'000;
  LaunchFixture f(
      triton("reduce_sum_6a4b192bfc"),
      {{"x", DType::kF32, {n}, test::randn(1)}, {"out", DType::kF32, {1}, test::zeros()}}, {n},
      {25, 1, 1});
  const auto report = test::run_on(test::params_of("tpu_v5p"), f);
  double sum = 0;
  for (const double x : f.values("x")) sum += x;
  EXPECT_NEAR(f.values("out")[0], sum, 1e-2);
  EXPECT_EQ(test::counter(report, "window_write_backs"), 1);
  EXPECT_EQ(test::ledger_sum(report), report.cycles);  // on one core of the two
}

TEST(TiledArray, ABlockTakesARunARowOfTiles) {
  // bf16 [4096, 4096] in tiles of (8,128), 2 KiB each, 32 across: a block of 128 x 128 at (128,
  // 256) is 16 rows of one tile.
  const TiledArray a(0, {4096, 4096}, 2);
  std::vector<tpu::Run> runs;
  const std::array<std::int64_t, 2> low{128, 256}, high{256, 384};
  a.runs(low, high, runs);
  ASSERT_EQ(runs.size(), 16u);
  EXPECT_EQ(runs[0].address, (16u * 32 + 2) * 2048);
  EXPECT_EQ(runs[0].bytes, 2048u);
  EXPECT_EQ(runs[1].address - runs[0].address, 32u * 2048);
}

TEST(TiledArray, RowsOfWholeTilesAreOneRun) {
  const TiledArray a(4096, {64, 256}, 4);
  std::vector<tpu::Run> runs;
  const std::array<std::int64_t, 2> low{8, 0}, high{24, 256};
  a.runs(low, high, runs);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].address, 4096u + 2 * 4096);
  EXPECT_EQ(runs[0].bytes, 4u * 4096);
}

TEST(TiledArray, ASingleRowIsLinear) {
  const TiledArray a(0, {1, 4096}, 4);
  std::vector<tpu::Run> runs;
  const std::array<std::int64_t, 2> low{0, 1024}, high{1, 2048};
  a.runs(low, high, runs);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].address, 4096u);
  EXPECT_EQ(runs[0].bytes, 4096u);
}

}  // namespace
}  // namespace xpusim::tpu
