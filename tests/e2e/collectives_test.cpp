// Collectives on systems of several chips, from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using nlohmann::json;
using testing::HasSubstr;

const std::string kLaunch =
    "schema: xpusim.workload/1\n"
    "tensors:\n"
    "  g: {dtype: f32, shape: [5040], init: randn}\n"
    "launches:\n"
    "  - {collective: all_reduce, tensor: g, axis: x, algorithm: ring}\n"
    "expect:\n"
    "  g: {reference: all_reduce(g), rtol: 1.0e-5, atol: 1.0e-5}\n";

TEST(Collectives, HaveRightValuesAndConserveBytes) {
  for (const char* job : {"all_reduce.yaml --on tpu_v5e_4x4", "all_reduce.yaml --on dgx_h200",
                          "gather_and_scatter.yaml --on tpu_v5e_4x4",
                          "exchange.yaml --on tpu_v5e_4x4", "exchange.yaml --on dgx_h200"}) {
    const std::string file = temporary("report.json", "");
    const auto r =
        xpusim("run workloads/collectives/" + std::string(job) + " --json '" + file + "'");
    ASSERT_EQ(r.exit_code, 0) << job << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(": right")) << job;
    for (const auto& launch : json::parse(read_file(file))["launches"]) {
      const json& network = launch["network"];
      double crossed = 0;
      for (const auto& link : network["links"]) {
        crossed += link["bytes"].get<double>();
        EXPECT_LE(link["bytes"].get<double>(), link["wire_bytes"].get<double>());
        EXPECT_LE(link["busy"].get<double>(), 1.0);
      }
      const double hops = network["hops"];
      EXPECT_NEAR(crossed, hops * network["sent_bytes"].get<double>(), 1e-6 * crossed) << job;
      EXPECT_GE(launch["duration_ns"].get<double>(), network["bound_ns"].get<double>()) << job;
      EXPECT_GT(launch["energy_uj"].get<double>(), 0) << job;
    }
  }
}

TEST(Collectives, TellWhichAlgorithmAndWhy) {
  const auto r = xpusim("run workloads/collectives/all_reduce.yaml --on tpu_v5e_4x4 --values off");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("the least estimate"));
  EXPECT_THAT(r.out, HasSubstr("links"));
  EXPECT_THAT(r.out, HasSubstr("by link bandwidth"));
}

TEST(Collectives, RunOnSlicesAndRoundBrokenLinks) {
  const std::string file = temporary("launch.yaml", kLaunch);
  const auto whole = xpusim("run '" + file + "' --on tpu_v5e_4x4");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  const auto five = xpusim("run '" + file +
                           "' --on tpu_v5e_pod --set system.network.torus.x=5 "
                           "--set system.network.torus.y=2");
  EXPECT_EQ(five.exit_code, 0) << five.err;
  const auto broken =
      xpusim("run '" + file + "' --on tpu_v5e_4x4 --set 'system.network.down=[1-2]'");
  EXPECT_EQ(broken.exit_code, 0) << broken.err;
  EXPECT_THAT(broken.out, HasSubstr(": right"));
}

TEST(Collectives, RefuseWrongInputByName) {
  const std::string file = temporary("launch.yaml", kLaunch);
  const std::string on = "run '" + file + "' --on ";
  const auto chip = xpusim(on + "tpu_v5e");
  EXPECT_EQ(chip.exit_code, 2);
  EXPECT_THAT(chip.err, HasSubstr("tpu_v5e is one chip"));
  const auto apart = xpusim(on +
                            "tpu_v5e_pod --set system.network.torus.x=4 "
                            "--set system.network.torus.y=1 --set 'system.network.down=[1-2]'");
  EXPECT_EQ(apart.exit_code, 2);
  EXPECT_THAT(apart.err, HasSubstr("nothing goes from chip(0,0) to chip(2,0)"));
  const auto axis = xpusim(on + "dgx_h200");
  EXPECT_EQ(axis.exit_code, 2);
  EXPECT_THAT(axis.err, HasSubstr("dgx_h200 has no axis 'x'"));
  const auto size = xpusim(on + "tpu_v5e_pod --set system.network.torus.x=17");
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_THAT(size.err, HasSubstr("17 chips, but a pod has 16 along x"));
  const auto kernel = xpusim("run workloads/triton/vector_add.yaml --on tpu_v5e_4x4");
  EXPECT_EQ(kernel.exit_code, 2);
  EXPECT_THAT(kernel.err, HasSubstr("kernels do not run yet"));
}

}  // namespace
}  // namespace xpusim::e2e
