// Whole kernels: do they give the right values, in the right time?

#include <gmock/gmock.h>

#include <cmath>

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

}  // namespace
}  // namespace xpusim::tpu
