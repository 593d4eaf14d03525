// Collectives on systems of several chips, from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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
  const auto clock = xpusim(on + "tpu_v5e_4x4 --clock 2GHz");
  EXPECT_EQ(clock.exit_code, 2);
  EXPECT_THAT(clock.err, HasSubstr("collectives go by the network's own"));
  const auto code = xpusim("explain '" + file + "' --on tpu_v5e_4x4");
  EXPECT_EQ(code.exit_code, 2);
  EXPECT_THAT(code.err, HasSubstr("launch.yaml:5:5: error: collectives have no code to list"));
  const auto size = xpusim(on + "tpu_v5e_pod --set system.network.torus.x=17");
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_THAT(size.err, HasSubstr("17 chips, but a pod has 16 along x"));
}

/// One message each, with its place, before anything runs.
TEST(Collectives, RefuseLaunchesThatCannotBeByNameAndPlace) {
  struct Wrong {
    const char *launch, *message;
  };
  for (const Wrong& w : {
           Wrong{"{collective: all_redoce, tensor: g}",
                 ":5:18: error: no collective 'all_redoce'; did you mean 'all_reduce'?"},
           Wrong{"{collective: all_reduce, tensor: q}", ":5:18: error: no tensor 'q'"},
           Wrong{"{collective: all_reduce, tensor: [g]}",
                 ":5:38: error: 'tensor' of a collective is a word"},
           Wrong{"{collective: all_reduce}", ":5:18: error: a collective needs a 'tensor'"},
           Wrong{"{collective: all_reduce, tensor: g, axs: x}",
                 ":5:41: error: unknown key 'axs' in a collective; did you mean 'axis'?"},
           Wrong{"{collective: all_reduce, tensor: g, axis: w}",
                 ":5:47: error: tpu_v5e_4x4 has no axis 'w'"},
           Wrong{"{collective: all_reduce, tensor: g, axis: [x, x]}", "error: axis 'x' twice"},
           Wrong{"{collective: all_reduce, tensor: g, algorithm: rong}",
                 ":5:52: error: no algorithm 'rong' for all_reduce: auto, torus, ring, "
                 "bidirectional_ring, tree, direct; did you mean 'ring'?"},
           Wrong{"{collective: all_gather, tensor: g}",
                 ":5:18: error: all_gather in groups of 16 chips: 'g' has 20160 bytes"},
           Wrong{"{collective: broadcast, tensor: g, root: 99}",
                 ":5:18: error: root 99 of a group of 16 chips"},
           Wrong{"{collective: broadcast, tensor: g, root: x1}",
                 ":5:46: error: 'root' of a collective is a whole number"},
       }) {
    const auto r = xpusim("run '" +
                          temporary("launch.yaml",
                                    "schema: xpusim.workload/1\n"
                                    "tensors:\n"
                                    "  g: {dtype: f32, shape: [5040]}\n"
                                    "launches:\n"
                                    "  - " +
                                        std::string(w.launch) + "\n") +
                          "' --on tpu_v5e_4x4");
    EXPECT_EQ(r.exit_code, 2) << w.launch;
    EXPECT_THAT(r.err, HasSubstr(w.message)) << w.launch;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << w.launch << r.err;
  }
}

TEST(Collectives, AreSweptOverSystems) {
  const std::string sweep = temporary("sizes.yaml",
                                      "schema: xpusim.sweep/1\n"
                                      "workload: " XPUSIM_SOURCE_DIR
                                      "/workloads/collectives/all_reduce.yaml\n"
                                      "machine: tpu_v5e_pod\n"
                                      "values: off\n"
                                      "grid:\n"
                                      "  system.network.torus.x: [4, 16]\n"
                                      "  tensors.g.shape: [[65536], [1048576]]\n");
  const std::string folder = sweep + ".results";
  const auto r = xpusim("sweep '" + sweep + "' --out '" + folder + "'");
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  const auto table = xpusim("collect '" + folder + "'");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("system.network.torus.x"));
}

/// What `correlate` says of measured collectives: the summary, and the cases' errors by name.
std::pair<json, std::map<std::string, double>> correlation(const std::string& cases) {
  const std::string file = temporary("correlation.json", "");
  const auto r = xpusim("correlate " + cases + " --json '" + file + "'");
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  const json j = json::parse(read_file(file));
  std::map<std::string, double> errors;
  for (const auto& c : j["cases"]) {
    EXPECT_EQ(c["status"], "ok") << c["name"] << c["reason"];
    errors[c["name"]] = c["error_pct"];
  }
  return {j["summary"], errors};
}

TEST(Collectives, ComeNearWhatNcclTakesOnH200s) {
  const auto [summary, errors] = correlation("traces/h200/collective_cases.json");
  EXPECT_LE(summary["mean_abs_error_pct"].get<double>(), 10);
  EXPECT_LE(summary["worst_abs_error_pct"].get<double>(), 20) << summary["worst_case"];
  EXPECT_GE(errors.size(), 40u);
}

TEST(Collectives, ComeNearWhatWasPublishedOfIci) {
  const auto [summary, errors] = correlation("traces/tpu/collective_cases.json");
  EXPECT_LE(summary["mean_abs_error_pct"].get<double>(), 15);
  EXPECT_GE(errors.size(), 18u);
}

}  // namespace
}  // namespace xpusim::e2e
