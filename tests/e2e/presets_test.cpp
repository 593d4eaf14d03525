// Does every machine that is shipped load, say where its numbers come from, and run?

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> presets_of(const std::string& family) {
  std::vector<std::string> stems;
  const auto folder = std::filesystem::path(XPUSIM_SOURCE_DIR) / "configs" / family;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".yaml") stems.push_back(file.path().stem().string());
  std::sort(stems.begin(), stems.end());
  return stems;
}

class Preset : public testing::TestWithParam<std::string> {};

TEST_P(Preset, ListsItsParameters) {
  const auto r = xpusim("params --on " + GetParam());
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, HasSubstr(GetParam() + ".yaml"));
}

TEST_P(Preset, RunsAVectorAdditionWithRightValues) {
  const auto r = xpusim("run workloads/triton/vector_add.yaml --on " + GetParam());
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr(": right"));
}

INSTANTIATE_TEST_SUITE_P(Gpu, Preset, testing::ValuesIn(presets_of("gpu")),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Tpu, Preset, testing::ValuesIn(presets_of("tpu")),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Roofline, Preset, testing::ValuesIn(presets_of("roofline")),
                         [](const auto& info) { return info.param; });

class SystemPreset : public testing::TestWithParam<std::string> {};

TEST_P(SystemPreset, ListsItsParametersAndRunsAnAllReduce) {
  const auto p = xpusim("params --on " + GetParam());
  EXPECT_EQ(p.exit_code, 0) << p.err;
  EXPECT_THAT(p.out, HasSubstr(GetParam() + ".yaml"));
  const auto r =
      xpusim("run workloads/collectives/all_reduce.yaml --values off --on " + GetParam());
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
}

INSTANTIATE_TEST_SUITE_P(System, SystemPreset, testing::ValuesIn(presets_of("system")),
                         [](const auto& info) { return info.param; });

double nanoseconds(const std::string& machine) {
  const std::string file = temporary("preset_" + machine + ".json", "");
  const auto r = xpusim("run workloads/triton/vector_add.yaml --values off --on " + machine +
                        " --json '" + file + "'");
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  return json::parse(read_file(file))["launches"][0]["duration_ns"].get<double>();
}

TEST(Presets, OrderAStreamByTheBandwidthOfTheirHbm) {
  const double h200 = nanoseconds("h200"), h100 = nanoseconds("h100"), a100 = nanoseconds("a100");
  EXPECT_LT(h200, h100);
  EXPECT_LT(h100, a100);
}

}  // namespace
}  // namespace xpusim::e2e
