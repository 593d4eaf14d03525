// Small kernels over Mosaic's language on the TPU: do copies, semaphores, operands in SMEM, inner
// pipelines and open grids give what JAX's interpreter computed?

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;

/// The elements of a .npy file of format 1.0.
exec::Init elements(const std::string& kernel, const std::string& what) {
  std::ifstream in(
      test::source_path("workloads/pallas/language/data/" + kernel + "." + what + ".npy"),
      std::ios::binary);
  EXPECT_TRUE(in) << kernel << what;
  std::string all((std::istreambuf_iterator<char>(in)), {});
  const std::size_t header =
      10 + static_cast<unsigned char>(all[8]) + 256 * static_cast<unsigned char>(all[9]);
  const auto bytes = std::as_bytes(std::span(all)).subspan(header);
  exec::Init init;
  init.kind = exec::Init::Kind::kData;
  init.data = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return init;
}

struct Kernel {
  std::string name;
  std::vector<test::TensorSpec> inputs;
  std::vector<std::int64_t> output;
  std::int64_t steps = 1;
};

class Language : public testing::TestWithParam<Kernel> {};

TEST_P(Language, GivesWhatJaxComputed) {
  const Kernel& k = GetParam();
  std::vector<test::TensorSpec> tensors = k.inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].name += std::to_string(i);
    tensors[i].init = elements(k.name, "IN" + std::to_string(i));
  }
  tensors.push_back({"out", DType::kF32, k.output, test::zeros()});
  tensors.push_back({"want", DType::kF32, k.output, elements(k.name, "OUT0")});
  for (const char* machine : {"tpu_v5e", "tpu_v6e"}) {
    test::LaunchFixture f("workloads/pallas/language/ir/" + k.name + ".mlir", tensors, {},
                          {k.steps, 1, 1});
    f.launch.args.pop_back();  // what it wants is no operand
    const auto report = test::run_on(test::params_of(machine), f);
    const auto out = f.values("out"), want = f.values("want");
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], want[i], 1e-5) << i;
    EXPECT_EQ(test::ledger_sum(report), report.cycles);
  }
}

const test::TensorSpec kWide{"x", DType::kF32, {64, 128}, {}};

INSTANTIATE_TEST_SUITE_P(
    Tpu, Language,
    testing::Values(Kernel{"semaphores", {{"x", DType::kF32, {8, 128}, {}}}, {8, 128}},
                    Kernel{"masked_store",
                           {{"n", DType::kI32, {1}, {}}, {"x", DType::kF32, {8, 128}, {}}},
                           {8, 128}},
                    Kernel{"branches", {{"w", DType::kI32, {4}, {}}, kWide}, {64, 128}},
                    Kernel{"in_place_update", {kWide, kWide}, {64, 128}},
                    Kernel{"ragged_blocks", {{"x", DType::kF32, {40, 128}, {}}}, {40, 128}},
                    Kernel{"dynamic_grid",
                           {{"n", DType::kI32, {1}, {}}, {"x", DType::kF32, {24, 128}, {}}},
                           {24, 128},
                           3},
                    Kernel{"own_buffers", {{"x", DType::kF32, {96, 128}, {}}}, {96, 128}}),
    [](const auto& info) { return info.param.name; });

TEST(Language, AnInnerPipelineOfCopiesMultiplies) {
  test::LaunchFixture f("workloads/pallas/language/ir/inner_pipeline.mlir",
                        {{"x", DType::kF32, {64, 128}, test::randn(1)},
                         {"y", DType::kF32, {64, 128}, test::randn(2)},
                         {"o", DType::kF32, {64, 128}, test::zeros()}});
  const auto report = test::run_on(test::params_of("tpu_v6e"), f);
  const auto x = f.values("x"), y = f.values("y"), o = f.values("o");
  for (std::size_t i = 0; i < o.size(); ++i) {
    ASSERT_EQ(o[i], static_cast<double>(static_cast<float>(x[i]) * static_cast<float>(y[i])));
  }
  EXPECT_EQ(test::counter(report, "dma_bytes"), 3.0 * 64 * 128 * 4);
}

// A product for each of 4 slabs, whose second factor lies as [N, K].
TEST(Language, ProductsInBatchesAreThoseOfTheirSlabs) {
  constexpr std::size_t kBatches = 4, kRows = 64, kDepth = 256, kCols = 384;
  test::LaunchFixture f("workloads/pallas/language/ir/batched_matmul.mlir",
                        {{"x", DType::kBF16, {kBatches, kRows, kDepth}, test::randn(1)},
                         {"y", DType::kBF16, {kBatches, kCols, kDepth}, test::randn(2)},
                         {"o", DType::kF32, {kBatches, kRows, kCols}, test::zeros()}});
  for (const char* machine : {"tpu_v5e", "tpu_v6e", "tpu_v7x"}) {
    const TpuParams params = test::params_of(machine);
    const auto report = test::run_on(params, f);
    const auto x = f.values("x"), y = f.values("y"), o = f.values("o");
    for (std::size_t i = 0; i < o.size(); i += 97) {
      const std::size_t row = i / kCols, batch = row / kRows, col = i % kCols;
      double want = 0;
      for (std::size_t k = 0; k < kDepth; ++k) {
        want += x[row * kDepth + k] * y[(batch * kCols + col) * kDepth + k];
      }
      ASSERT_NEAR(o[i], want, 1e-4 * std::abs(want) + 1e-3) << machine << i;
    }
    // Each slab's tiles of the arrays' size meet its rows.
    const std::int64_t size = params.core.mxu.size;
    const double tiles = std::ceil(double{kDepth} / size) * std::ceil(double{kCols} / size);
    EXPECT_EQ(test::counter(report, "mxu_busy_cycles"),
              kBatches * tiles * kRows / params.core.mxu.rows_per_cycle);
  }
}

}  // namespace
}  // namespace xpusim::tpu
