#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run/report.h"

namespace xpusim::run {
namespace {

TEST(ReportText, AMachineWithoutEnergyInItsEventsHasSharesOfNought) {
  Report report;
  LaunchResult launch;
  launch.machine.name = "k";
  launch.machine.duration_ns = 100;
  launch.machine.energy = {{"sm", 0}, {"hbm", 0}};
  report.launches.push_back(launch);
  EXPECT_THAT(to_text(report), testing::HasSubstr("sm 0 %"));
  EXPECT_THAT(to_text(report), testing::Not(testing::HasSubstr("nan")));
}

}  // namespace
}  // namespace xpusim::run
