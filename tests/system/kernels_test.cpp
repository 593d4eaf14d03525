// Kernels that run on several chips together, with values.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "models/system/machine.h"
#include "models/tpu/machine.h"
#include "sim/run/runner.h"

namespace xpusim::system {
namespace {

const std::string kHome = XPUSIM_SOURCE_DIR;

/// Runs a launch file on a system of configs/.
Expected<run::Report> run_on(const std::string& launch_file, const std::string& system,
                             bool values = true) {
  static const bool registered = [] {
    setenv("XPUSIM_HOME", XPUSIM_SOURCE_DIR, 1);
    run::register_family(tpu::family());
    run::register_family(family());
    return true;
  }();
  EXPECT_TRUE(registered);
  auto workload = run::load_workload(launch_file);
  if (!workload) return fail(workload.error());
  run::RunSettings settings;
  settings.machine = system;
  settings.values = values;
  return run::run_workload(*workload, settings);
}

struct Job {
  const char *launch, *system;
};

class KernelsThatTalk : public testing::TestWithParam<Job> {};

TEST_P(KernelsThatTalk, HaveRightValuesOnEveryChipAndLoseNoByte) {
  const auto report =
      run_on(kHome + "/workloads/pallas/" + GetParam().launch + ".yaml", GetParam().system);
  ASSERT_TRUE(report) << report.error().str();
  ASSERT_FALSE(report->failure.has_errors()) << report->failure.str();
  ASSERT_EQ(report->checks.size(), 1u);
  EXPECT_TRUE(report->checks[0].right) << "off by " << report->checks[0].worst_error;
  const run::LaunchReport& r = report->launches[0].machine;
  double sent = 0, received = 0, crossed = 0;
  for (const run::ChipEntry& chip : r.chips) {
    sent += chip.sent_bytes;
    received += chip.received_bytes;
    EXPECT_LE(chip.cycles, r.cycles);
  }
  for (const run::LinkUse& link : r.network->links) {
    crossed += link.bytes;
    EXPECT_LE(link.busy, 1);
  }
  std::uint64_t cycles = 0;
  for (const run::LedgerEntry& e : r.ledger) cycles += e.cycles;
  EXPECT_EQ(sent, received);
  EXPECT_NEAR(crossed, r.network->hops * sent, 1e-6 * crossed);
  EXPECT_EQ(cycles, r.cycles * r.chips.size()) << "every cycle of every chip has a reason";
  RecordProperty("cycles", static_cast<int>(r.cycles));
}

INSTANTIATE_TEST_SUITE_P(Rings, KernelsThatTalk,
                         testing::Values(Job{"ring_all_gather_4", "tpu_v5e_4"},
                                         Job{"ring_all_gather_8", "tpu_v5e_8"},
                                         Job{"ring_all_gather_8", "tpu_v5e_8_ring"},
                                         Job{"ring_all_reduce_4", "tpu_v5e_4"},
                                         Job{"ring_all_reduce_8", "tpu_v5e_8"},
                                         Job{"ring_all_reduce_8", "tpu_v5e_8_ring"}));

TEST(Systems, ARingOfNeighboursIsFasterThanTheGridsOrder) {
  const std::string launch = kHome + "/workloads/pallas/ring_all_gather_8.yaml";
  const auto ring = run_on(launch, "tpu_v5e_8_ring", false);
  const auto grid = run_on(launch, "tpu_v5e_8", false);
  ASSERT_TRUE(ring && grid);
  EXPECT_LT(ring->launches[0].machine.cycles, grid->launches[0].machine.cycles);
}

}  // namespace
}  // namespace xpusim::system
