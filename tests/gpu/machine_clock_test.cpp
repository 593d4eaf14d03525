// At which clock a launch is simulated, and what a second simulation leaves behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/gpu/machine.h"

namespace xpusim::gpu {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kElements = 1 << 16, kBlock = 4096;

/// Adds up ones with an atomic: what ran twice shows.
struct SumOfOnes {
  SumOfOnes() : memory(1 << 30) {
    auto read = kernel::read_module_file(XPUSIM_SOURCE_DIR
                                         "/workloads/triton/ir/reduce_sum_6a4b192bfc.ttgir");
    EXPECT_TRUE(read) << read.error().str();
    launch.name = "sum";
    launch.module = std::make_shared<kernel::Module>(std::move(*read));
    launch.function = launch.module->kernel();
    launch.grid = {kElements / kBlock, 1, 1};
    tensor("x", kElements, exec::Init::Kind::kOnes);
    tensor("out", 1, exec::Init::Kind::kZeros);
    exec::Argument n;
    n.bits = kElements;
    launch.args.push_back(n);
  }
  void tensor(const char* name, std::int64_t elements, exec::Init::Kind kind) {
    exec::Init init;
    init.kind = kind;
    exec::Argument a;
    a.kind = exec::Argument::Kind::kPointer;
    a.tensor = name;
    a.bits =
        static_cast<std::int64_t>(*memory.allocate(name, kernel::DType::kF32, {elements}, init));
    launch.args.push_back(a);
  }
  double sum() const { return memory.as_doubles(*memory.find("out"))[0]; }

  exec::DeviceMemory memory;
  exec::Launch launch;
};

GpuParams small() {
  GpuParams p;
  p.sm.count = 8;
  return p;
}

TEST(GpuClock, WithoutRulesIsTheMachinesOwn) {
  SumOfOnes sum;
  const auto report = Machine("test", small(), std::nullopt).launch(sum.launch, sum.memory, {});
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_EQ(report->clock_mhz, 1980);
  EXPECT_EQ(report->clock_reason, "the machine's own");
}

TEST(GpuClock, SagsUnderPowerAndTheLaunchTakesEffectOnce) {
  SumOfOnes sum;
  GpuParams params = small();
  params.energy.clock.sag_from_w = 60;  // less than what an idle chip draws
  params.energy.clock.sag_per_kw = 5;
  const auto report = Machine("test", params, std::nullopt).launch(sum.launch, sum.memory, {});
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_LT(report->clock_mhz, 1980 * 0.9);
  EXPECT_GT(report->clock_mhz, 1000);
  EXPECT_THAT(report->clock_reason, HasSubstr("less the sag"));
  EXPECT_EQ(sum.sum(), kElements);
}

TEST(GpuClock, ThatIsGivenStands) {
  SumOfOnes sum;
  GpuParams params = small();
  params.energy.clock.sag_from_w = 60;
  params.energy.clock.sag_per_kw = 5;
  run::LaunchOptions options;
  options.clock_hz = 1'700'000'000;
  const auto report = Machine("test", params, std::nullopt).launch(sum.launch, sum.memory, options);
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_EQ(report->clock_mhz, 1700);
  EXPECT_EQ(report->clock_reason, "as given");
}

TEST(GpuClock, TellsWhatTheBoardAllowsForLong) {
  SumOfOnes sum;
  GpuParams params = small();
  params.energy.clock.limit_w = 100;
  const auto report = Machine("test", params, std::nullopt).launch(sum.launch, sum.memory, {});
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_EQ(report->clock_mhz, 1980);
  EXPECT_THAT(report->clock_reason, HasSubstr("for long, 100 W allow about"));
}

}  // namespace
}  // namespace xpusim::gpu
