// What a report claims of itself: how far it may be trusted, what it leaves out, what limits it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kRun = "run workloads/triton/reduce_sum.yaml --values off ";

/// A run and its JSON report.
std::pair<Result, json> report_of(const std::string& arguments) {
  const std::string file = temporary("claims.json", "");
  auto r = xpusim(arguments + " --json '" + file + "'");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  return {r, r.exit_code == 0 ? json::parse(read_file(file)) : json()};
}

TEST(Trust, AnUnmodifiedMachineHasTheErrorOfTheCorrelation) {
  const auto [r, j] = report_of(kRun + "--on h200");
  EXPECT_THAT(r.out, HasSubstr("% off on the mean"));
  EXPECT_THAT(r.out, Not(HasSubstr("never compared")));
  EXPECT_EQ(j["launches"][0]["expected_error"]["configuration_compared"], true);
}

TEST(Trust, AModifiedMachineWasNeverCompared) {
  for (const std::string& on :
       {std::string("--on h200 --set gpu.sm.count=1"),
        "--on '" + temporary("h200.yaml", "extends: h200\ngpu: {sm: {count: 2}}\n") + "'"}) {
    const auto [r, j] = report_of(kRun + on);
    EXPECT_THAT(r.out, HasSubstr("this configuration was never compared; the unmodified h200 was"))
        << on;
    EXPECT_THAT(r.out, HasSubstr("gpu.sm.count is "));
    EXPECT_EQ(j["launches"][0]["expected_error"]["configuration_compared"], false);
  }
  const auto same =
      report_of(kRun + "--on h200 --set gpu.sm.count=132 --set 'cost.per_hour=1 USD/h'");
  EXPECT_THAT(same.first.out, Not(HasSubstr("never compared")));
}

TEST(Trust, AMachineFileMayExtendAShippedOneByItsStem) {
  const auto chip = temporary("half.yaml", "extends: h200\nname: half\ngpu: {sm: {count: 66}}\n");
  const auto [r, j] = report_of(kRun + "--on '" + chip + "'");
  EXPECT_EQ(j["machine"], "half");
  EXPECT_EQ(j["config"]["gpu"]["sm"]["count"]["value"], "66");
  EXPECT_THAT(r.out, HasSubstr("this machine was never compared with a real one"));
}

TEST(Report, ListsDefaultsToo) {
  const auto j = report_of("run workloads/pallas/add.yaml --values off --on tpu_v5e").second;
  const auto& burst = j["config"]["tpu"]["hbm"]["timing"]["burst"];  // that its file leaves out
  EXPECT_EQ(burst["value"], "2");
  EXPECT_EQ(burst["origin"], "default");
  EXPECT_THAT(j["config"]["tpu"]["clock"]["origin"].get<std::string>(), HasSubstr("tpu_v5e.yaml:"));
}

TEST(Report, NamesWhatItLeavesOutAndHowBusyTheWayToMemoryWas) {
  const auto [r, j] = report_of(kRun + "--on h200");
  EXPECT_THAT(r.out, HasSubstr("not in it"));
  EXPECT_THAT(r.out, HasSubstr("TLB"));
  EXPECT_THAT(r.out, HasSubstr("bridge between the L2 halves"));
  const auto& use = j["launches"][0]["memory"]["HBM data bus"];
  EXPECT_GT(use["mean"].get<double>(), 0);
  EXPECT_LE(use["busiest"].get<double>(), 1);
}

TEST(Caches, LiveAcrossTheLaunchesOfAFile) {
  // Each consumer reads a tensor that the launch before has just written, and that fits the L2.
  std::string text = read_file(XPUSIM_SOURCE_DIR "/workloads/triton/unfused_mul_add_relu.yaml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("10000000", "1000000");
  replace("ir/", XPUSIM_SOURCE_DIR "/workloads/triton/ir/");
  const auto j =
      report_of("run '" + temporary("unfused.yaml", text) + "' --on h200 --values off").second;
  std::vector<double> read;
  for (const auto& l : j["launches"]) read.push_back(l["counters"]["dram_read_bytes"]);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_NEAR(read[0], 8e6, 1e4);  // both operands
  EXPECT_NEAR(read[1], 4e6, 1e4);  // the new one
  EXPECT_EQ(read[2], 0);
}

TEST(Caches, WarmBeginsWithWhatARoundLeaves) {
  const auto read = [](const std::string& more) {
    const auto j = report_of(kRun + "--on h200 " + more).second;
    return j["launches"].back()["counters"]["dram_read_bytes"].get<double>();
  };
  const double cold = read(""), warm = read("--caches warm"), second = read("--loop 2");
  EXPECT_LT(warm, cold);
  EXPECT_EQ(warm, second);
}

TEST(Loop, ValuesAreCheckedAfterTheFirstRound) {
  for (const char* more : {"--loop 3", "--caches warm"}) {
    const auto r = xpusim(std::string("run workloads/triton/reduce_sum.yaml --on h200 ") + more);
    EXPECT_EQ(r.exit_code, 0) << r.out;
    EXPECT_THAT(r.out, HasSubstr(": right"));
  }
}

TEST(Compare, GivesAnOverrideToTheMachinesThatHaveIt) {
  const std::string compare =
      "compare workloads/triton/vector_add.yaml --values off --on h200 --on roofline_h200 ";
  const auto plain = xpusim(compare), set = xpusim(compare + "--set gpu.sm.count=8");
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_NE(plain.out, set.out);
  EXPECT_THAT(set.out, HasSubstr("none")) << "a roofline loses no cycles";
  const auto r = xpusim(compare + "--set tpu.core.count=2");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("--set: error: 'tpu.core.count=2' is for none of these machines"));
  EXPECT_THAT(xpusim(compare + "--set gpo.sm.count=2").err, HasSubstr("did you mean 'gpu'?"));
}

double total_ns(const std::string& arguments) {
  const std::string file = temporary("total.json", "");
  const auto r = xpusim(arguments + " --json '" + file + "'");
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  const json report = json::parse(read_file(file));
  double sum = 0;
  for (const auto& launch : report["launches"]) sum += launch["duration_ns"].get<double>();
  return sum;
}

TEST(Fusion, HalvesTheTimeOfAChainOfOpsOnBothMachines) {
  for (const std::string machine : {"tpu_v5e", "h200"}) {
    const std::string rest = ".yaml --values off --on " + machine;
    const double op_by_op = total_ns("run workloads/lessons/chain_op_by_op" + rest);
    const double fused = total_ns("run workloads/lessons/chain_fused" + rest);
    EXPECT_GT(op_by_op, 2 * fused) << machine;
  }
}

TEST(Fusion, ProductsAndWhatFollowsThemAreRight) {
  for (const std::string machine : {"tpu_v5e", "tpu_v6e", "h200"}) {
    for (const std::string lesson : {"dense_layer", "batched_product"}) {
      const auto r = xpusim("run workloads/lessons/" + lesson + ".yaml --on " + machine);
      EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
      EXPECT_THAT(r.out, HasSubstr(": right"));
    }
  }
}

TEST(Trace, AMachineThatWritesNoneSaysSo) {
  const std::string file = temporary("none/x", "") + ".pftrace";
  const auto r = xpusim(kRun + "--on roofline_h200 --trace '" + file + "'");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("--trace: error: the roofline machines write no trace"));
  EXPECT_EQ(read_file(file), "");
}

TEST(Kernels, AnotherFormOfTheKernelIsNamed) {
  const auto r = xpusim("run workloads/pallas/add.yaml --on h200");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("the gpu machines take ttgir or ttir"));
  EXPECT_THAT(r.err, HasSubstr("ir/add.mlir"));
}

TEST(Params, ListsTheValuesOfAMachineAndTheirOrigins) {
  const auto r = xpusim("params --on tpu_v5e --set tpu.launch=1us");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, testing::ContainsRegex("tpu.clock +1.5 GHz +configs/tpu/tpu_v5e.yaml:"));
  EXPECT_THAT(r.out, testing::ContainsRegex("tpu.launch +1 us +--set"));
  EXPECT_THAT(r.out, testing::ContainsRegex(" default +"));
  EXPECT_EQ(xpusim("params gpu --on h200").exit_code, 2);
}

TEST(Results, SayThatRegistersSpill) {
  const auto [r, j] = report_of(
      "run workloads/triton/matmul.yaml --on h200 --from ttir --num-warps 2 --values off");
  EXPECT_EQ(j["launches"][0]["counters"]["registers_per_thread"], 255);
  EXPECT_THAT(r.out, HasSubstr("spill"));
  const auto [plain, k] = report_of("run workloads/triton/matmul.yaml --on h200 --values off");
  EXPECT_THAT(plain.out, Not(HasSubstr("spill")));
}

/// What a correlation wrote, but for what is of the host.
json correlation(const std::string& jobs, const std::string& name) {
  const std::string file = temporary(name, "");
  const auto r = xpusim(
      "correlate traces/h200/cases.json --on h200 --only "
      "'^(vector_add_n98432_b1024_w4|softmax_1823x781_w4|histogram_atomic_65536|matmul_bf16_"
      "512x512x"
      "512_64x256x32_w8_s4|transpose_4096x4096_32x32)$' --jobs " +
      jobs + " --json '" + file + "'");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  json j = json::parse(read_file(file));
  j.erase("host");
  for (json& c : j["cases"]) c.erase("wall_s");
  return j;
}

TEST(Results, AreTheSameBytesOnEveryRunAndForAnyNumberOfJobs) {
  const json first = correlation("1", "first.json");
  EXPECT_EQ(first["cases"].size(), 5u);
  EXPECT_EQ(first.dump(), correlation("1", "again.json").dump());
  EXPECT_EQ(first.dump(), correlation("2", "two.json").dump());
}

}  // namespace
}  // namespace xpusim::e2e
