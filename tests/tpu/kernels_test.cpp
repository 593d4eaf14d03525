// Whole kernels: do they give the right values, in the right time?

#include <gmock/gmock.h>

#include <cmath>

#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;
using test::LaunchFixture;

TEST(Kernels, HowLongDoesACopyOf32MiBTakeOnAV6e) {
  double best = 1e30;
  for (const char* kernel : {"hbm_copy_r256", "hbm_copy_r1024"}) {
    LaunchFixture f(std::string("workloads/pallas/ir/") + kernel + ".mlir",
                    {{"x", DType::kBF16, {16384, 1024}, test::randn(1)},
                     {"o", DType::kBF16, {16384, 1024}, test::zeros()}});
    const auto report = test::run_on(test::params_of("tpu_v6e"), f, false);
    EXPECT_EQ(test::ledger_sum(report), report.cycles);
    EXPECT_EQ(test::counter(report, "dma_bytes"), 2.0 * 32 * 1024 * 1024);
    std::printf("%s %.2f us\n", kernel, report.duration_ns / 1000);
    for (auto& e : report.ledger) std::printf("   %s %lu\n", e.reason.c_str(), e.cycles);
    best = std::min(best, report.duration_ns);
  }
  EXPECT_NEAR(best, 49359, 0.08 * 49359);
}

}  // namespace
}  // namespace xpusim::tpu
