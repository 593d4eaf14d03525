#include <gtest/gtest.h>

#include "models/roofline/machine.h"

namespace xpusim::roofline {
namespace {

/// vector_add of n elements as blocks of 1024 on a chip of 1 GFLOP/s and 1 GB/s.
class VectorAdd : public testing::Test {
 protected:
  Expected<run::LaunchReport> run(std::int64_t n, const RooflineParams& params) {
    auto module = kernel::read_module_file(XPUSIM_SOURCE_DIR
                                           "/workloads/triton/ir/vector_add_9450e7f62b.ttir");
    EXPECT_TRUE(module) << module.error().str();
    exec::Launch launch;
    launch.module = std::make_shared<const kernel::Module>(std::move(*module));
    launch.function = launch.module->kernel();
    launch.grid = {(n + 1023) / 1024, 1, 1};
    for (const char* name : {"x", "y", "out"}) {
      auto address = memory_.allocate(name, kernel::DType::kF32, {n}, {exec::Init::Kind::kOnes});
      exec::Argument a;
      a.kind = exec::Argument::Kind::kPointer;
      a.bits = static_cast<std::int64_t>(*address);
      launch.args.push_back(a);
    }
    exec::Argument count;
    count.bits = elements_ ? *elements_ : n;
    launch.args.push_back(count);
    return Machine("chip", params, std::nullopt).launch(launch, memory_, {});
  }
  exec::DeviceMemory memory_{1 << 30};
  std::optional<std::int64_t> elements_;
  RooflineParams slow_memory_{.flops = 1e9, .tensor_flops = 1e9, .hbm_bandwidth = 1e9};
};

TEST_F(VectorAdd, TakesItsBytesOverTheBandwidth) {
  auto r = run(5000, slow_memory_);
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(r->compulsory_bytes, 3 * 4 * 5000);
  EXPECT_EQ(r->hbm_read_bytes, 2 * 4 * 5000);
  EXPECT_EQ(r->flops, 5000);
  EXPECT_DOUBLE_EQ(r->duration_ns, 60000)
      << "60,000 bytes at 1 byte a ns; 5,000 flops take 5,000 ns";
}

TEST_F(VectorAdd, TakesItsFlopsWhereThoseAreTheLimit) {
  RooflineParams slow_units = slow_memory_;
  slow_units.flops = 1e6;
  auto r = run(2048, slow_units);
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_DOUBLE_EQ(r->duration_ns, 2048e3);
}

TEST_F(VectorAdd, ComputesTheValues) {
  ASSERT_TRUE(run(3000, slow_memory_));
  for (double v : memory_.as_doubles(*memory_.find(std::string_view("out")))) ASSERT_EQ(v, 2);
}

TEST_F(VectorAdd, ReportsTheKernelsOwnError) {
  elements_ = 4096;  // more than the tensors hold
  auto r = run(3000, slow_memory_);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().list().front().where.line, 11);
}

TEST(Bound, MatrixFlopsGoToTheMatrixUnits) {
  run::LaunchReport report;
  report.flops = 300;
  report.tensor_flops = 200;
  report.compulsory_bytes = 50;
  const auto limits =
      bound(report, {.flops_per_s = 1e9, .tensor_flops_per_s = 4e9, .hbm_bytes_per_s = 2e9});
  EXPECT_DOUBLE_EQ(limits.at("vector flops"), 100);
  EXPECT_DOUBLE_EQ(limits.at("matrix flops"), 50);
  EXPECT_DOUBLE_EQ(limits.at("HBM bandwidth"), 25);
}

TEST(Config, BindsAndSaysWhatIsWrong) {
  const auto make = [](const std::string& text) {
    auto node = config::read_yaml(text, "m.yaml");
    EXPECT_TRUE(node);
    return family().create(*node, "m");
  };
  auto good = make("roofline: {flops: 2 TFLOP/s, hbm_bandwidth: 1 TB/s}\n");
  ASSERT_TRUE(good) << good.error().str();
  EXPECT_EQ((*good)->peaks().flops_per_s, 2e12);
  auto bad = make("roofline: {flops: 2 TB/s, bandwidth: 1 TB/s}\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().list().size(), 2u);
}

}  // namespace
}  // namespace xpusim::roofline
