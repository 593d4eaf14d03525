// Kernels that run on several chips together, with values.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "models/gpu/machine.h"
#include "models/system/machine.h"
#include "models/tpu/machine.h"
#include "sim/run/runner.h"

namespace xpusim::system {
namespace {

const std::string kHome = XPUSIM_SOURCE_DIR;

/// Runs a launch file on a system of configs/.
Expected<run::Report> run_on(const std::string& launch_file, const std::string& system,
                             bool values = true, bool every_chip = false, int loop = 1) {
  static const bool registered = [] {
    setenv("XPUSIM_HOME", XPUSIM_SOURCE_DIR, 1);
    run::register_family(tpu::family());
    run::register_family(gpu::family());
    run::register_family(family());
    return true;
  }();
  EXPECT_TRUE(registered);
  auto workload = run::load_workload(launch_file);
  if (!workload) return fail(workload.error());
  run::RunSettings settings;
  settings.machine = system;
  settings.values = values;
  settings.every_chip = every_chip;
  settings.loop = loop;
  return run::run_workload(*workload, settings);
}

struct Job {
  const char *launch, *system;
};

class KernelsThatTalk : public testing::TestWithParam<Job> {};
class AloneOnEveryChip : public testing::TestWithParam<Job> {};

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

/// What has to be the same whether all chips are simulated or one of them.
void expect_same(const run::LaunchReport& all, const run::LaunchReport& one) {
  EXPECT_EQ(all.cycles, one.cycles);
  EXPECT_EQ(all.duration_ns, one.duration_ns);
  EXPECT_EQ(all.flops, one.flops);
  EXPECT_EQ(all.hbm_read_bytes, one.hbm_read_bytes);
  EXPECT_EQ(all.hbm_write_bytes, one.hbm_write_bytes);
  EXPECT_EQ(all.counters, one.counters);
  ASSERT_EQ(all.ledger.size(), one.ledger.size());
  for (std::size_t i = 0; i < all.ledger.size(); ++i) {
    EXPECT_EQ(all.ledger[i].reason, one.ledger[i].reason);
    EXPECT_EQ(all.ledger[i].cycles, one.ledger[i].cycles) << all.ledger[i].reason;
  }
  ASSERT_EQ(all.energy.size(), one.energy.size());
  for (std::size_t i = 0; i < all.energy.size(); ++i)
    EXPECT_NEAR(all.energy[i].microjoules, one.energy[i].microjoules,
                1e-9 * one.energy[i].microjoules);
}

TEST_P(AloneOnEveryChip, IsTheSameWhetherAllChipsAreSimulatedOrOne) {
  const std::string launch = kHome + "/workloads/" + GetParam().launch + ".yaml";
  const auto all = run_on(launch, GetParam().system, false, true, 2);  // and what caches keep
  const auto one = run_on(launch, GetParam().system, false, false, 2);
  ASSERT_TRUE(all) << all.error().str();
  ASSERT_TRUE(one) << one.error().str();
  ASSERT_EQ(all->launches.size(), one->launches.size());
  for (std::size_t i = 0; i < all->launches.size(); ++i) {
    const run::LaunchReport &a = all->launches[i].machine, &b = one->launches[i].machine;
    EXPECT_EQ(a.simulated_chips, 8u);
    EXPECT_EQ(b.simulated_chips, 1u);
    EXPECT_EQ(a.chips.size(), 8u);
    EXPECT_EQ(b.chips.size(), 8u);
    expect_same(a, b);
  }
}

INSTANTIATE_TEST_SUITE_P(Eight, AloneOnEveryChip,
                         testing::Values(Job{"pallas/softmax", "tpu_v5e_8"},
                                         Job{"triton/softmax", "dgx_h200"}));

TEST(Systems, ChipsThatFollowTheirDataAreAllSimulated) {
  // Bins of a histogram that atomics count: how they collide is in the data.
  const auto report = run_on(kHome + "/workloads/compare/histogram.yaml", "h200_x2", false);
  ASSERT_TRUE(report) << report.error().str();
  const run::LaunchReport& r = report->launches[0].machine;
  EXPECT_EQ(r.simulated_chips, 2u);
  std::uint64_t cycles = 0;
  for (const run::LedgerEntry& e : r.ledger) cycles += e.cycles;
  EXPECT_EQ(r.chips.size(), 2u);
  EXPECT_EQ(r.cycles, std::max(r.chips[0].cycles, r.chips[1].cycles));
  EXPECT_GT(cycles, 0u);
}

TEST(Systems, KernelsOnSeveralGpusHaveRightValues) {
  const auto report = run_on(kHome + "/workloads/triton/softmax.yaml", "h200_x4");
  ASSERT_TRUE(report) << report.error().str();
  ASSERT_FALSE(report->checks.empty());
  for (const auto& check : report->checks) EXPECT_TRUE(check.right) << check.tensor;
  EXPECT_EQ(report->launches[0].machine.simulated_chips, 4u);
}

}  // namespace
}  // namespace xpusim::system
