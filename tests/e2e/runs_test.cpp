// Every launch file runs on the machines that it is for, with right values and balanced books.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using nlohmann::json;
using testing::HasSubstr;

struct Job {
  const char* workload;
  const char* machine;
};
void PrintTo(const Job& job, std::ostream* out) { *out << job.workload << " on " << job.machine; }
std::string test_name(const testing::TestParamInfo<Job>& info) {
  std::string name = std::string(info.param.workload) + "_on_" + info.param.machine;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

class Run : public testing::TestWithParam<Job> {};

TEST_P(Run, HasRightValuesAndBalancedBooks) {
  const std::string file = temporary("report.json", "");
  const auto r = xpusim("run workloads/" + std::string(GetParam().workload) + ".yaml --on " +
                        GetParam().machine + " --json '" + file + "'");
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr(": right"));
  const json report = json::parse(read_file(file));
  EXPECT_EQ(report["schema"], "xpusim.report/1");
  for (const auto& launch : report["launches"]) {
    EXPECT_GT(launch["cycles"].get<double>(), 0);
    EXPECT_GT(launch["energy_uj"].get<double>(), 0);
    for (const auto& [name, value] : launch["counters"].items()) {
      if (value.is_number()) {
        EXPECT_GE(value.get<double>(), 0) << name;
      }
    }
    // Each instance of a unit lives as long as the others: the unit's cycles are a multiple of a
    // life.
    for (const auto& [unit, reasons] : launch["ledger"].items()) {
      double sum = 0;
      for (const auto& [reason, cycles] : reasons.items()) {
        EXPECT_GE(cycles.get<double>(), 0) << unit << " " << reason;
        sum += cycles.get<double>();
      }
      EXPECT_GT(sum, 0) << unit;
    }
    // No launch beats its bound.
    for (const auto& [name, ns] : launch["bound"].items())
      EXPECT_GE(launch["duration_ns"].get<double>(), ns.get<double>()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gpu, Run,
    testing::Values(Job{"triton/vector_add", "h200"}, Job{"triton/vector_mul", "h200"},
                    Job{"triton/relu", "h200"}, Job{"triton/fused_mul_add_relu", "h200"},
                    Job{"triton/unfused_mul_add_relu", "h200"}, Job{"triton/softmax", "h200"},
                    Job{"triton/row_max", "h200"}, Job{"triton/exp_and_sum", "h200"},
                    Job{"triton/row_divide", "h200"}, Job{"triton/layer_norm", "h200"},
                    Job{"triton/chain_partial", "h200"}, Job{"triton/chain_apply", "h200"},
                    Job{"triton/reduce_sum", "h200"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Tpu, Run,
    testing::Values(Job{"pallas/add", "tpu_v5e"}, Job{"pallas/mul_add_relu", "tpu_v5e"},
                    Job{"pallas/softmax", "tpu_v5e"}, Job{"pallas/layer_norm", "tpu_v5e"},
                    Job{"pallas/hbm_copy", "tpu_v5e"}, Job{"pallas/add", "tpu_v6e"},
                    Job{"pallas/softmax", "tpu_v6e"}, Job{"pallas/layer_norm", "tpu_v6e"},
                    Job{"pallas/hbm_copy", "tpu_v6e"}, Job{"pallas/matmul", "tpu_v5e"},
                    Job{"pallas/matmul", "tpu_v6e"}, Job{"pallas/flash_attention", "tpu_v5e"},
                    Job{"pallas/int8_matmul", "tpu_v5e"}, Job{"pallas/transpose", "tpu_v6e"},
                    Job{"pallas/causal_mask_softmax", "tpu_v5e"},
                    Job{"triton/vector_add", "tpu_v5e"},
                    Job{"triton/fused_mul_add_relu", "tpu_v6e"}),
    test_name);

TEST(Report, IsTheSameBytesTwiceButForTheHost) {
  json reports[2];
  for (auto& j : reports) {
    const std::string file = temporary("same.json", "");
    ASSERT_EQ(
        xpusim("run workloads/triton/reduce_sum.yaml --on h200 --values off --json '" + file + "'")
            .exit_code,
        0);
    j = json::parse(read_file(file));
    for (auto& launch : j["launches"]) launch.erase("host");
    j["total"].erase("wall_s");
  }
  EXPECT_EQ(reports[0].dump(), reports[1].dump());
}

TEST(Report, ValuesDoNotChangeTime) {
  double cycles[2];
  for (int on = 0; on < 2; ++on) {
    const std::string file = temporary("values.json", "");
    const auto r = xpusim(std::string("run workloads/triton/softmax.yaml --on h200 --values ") +
                          (on ? "on" : "off") + " --json '" + file + "'");
    ASSERT_EQ(r.exit_code, 0) << r.err;
    cycles[on] = json::parse(read_file(file))["launches"][0]["cycles"];
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

TEST(Report, SaysWhyInTheKernelsOwnLines) {
  const auto r = xpusim("run workloads/triton/vector_add.yaml --on h200 --values off");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("kernels.py:1"));
  EXPECT_THAT(r.out, HasSubstr("bound"));
  EXPECT_THAT(r.out, HasSubstr("energy"));
}

TEST(Architecture, MoreBandwidthAndMoreSmsAreNotSlower) {
  const auto ns = [](const std::string& more) {
    const std::string file = temporary("arch.json", "");
    const auto r = xpusim("run workloads/triton/vector_add.yaml --on h200 --values off " + more +
                          " --json '" + file + "'");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return json::parse(read_file(file))["total"]["duration_ns"].get<double>();
  };
  const double all = ns(""), few = ns("--set gpu.sm.count=8");
  EXPECT_GT(few, 1.5 * all) << "8 SMs cannot keep the memory busy";
}

TEST(Correlate, WritesTheContractedJson) {
  const std::string file = temporary("correlation.json", "");
  const auto r = xpusim(
      "correlate traces/h200/cases.json --on h200 --only 'vector_add_n4096_b1024|relu$' --json '" +
      file + "'");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const json j = json::parse(read_file(file));
  ASSERT_EQ(j["cases"].size(), 2u);
  const auto& c = j["cases"][0];
  EXPECT_EQ(c["name"], "vector_add_n4096_b1024_w4");
  EXPECT_EQ(c["kind"], "element-wise");
  EXPECT_EQ(c["status"], "ok");
  EXPECT_EQ(c["measured_ns"], 2208);
  EXPECT_EQ(c["counters"]["warp_instructions"][0], 656);
  EXPECT_GT(c["ledger"]["gpu.sm.sub"]["issued"], 0);
  EXPECT_EQ(j["summary"]["counted"], 2);
  EXPECT_EQ(j["summary"]["by_kind"]["element-wise"]["cases"], 2);
}

TEST(Correlate, SkipsWhatTheMachineCannotRunAndSaysWhy) {
  const std::string file = temporary("skipped.json", "");
  const auto r = xpusim(
      "correlate traces/h200/ops_cases.json --on tpu_v5e --clock auto --only 'locked_sum_512$' "
      "--json '" +
      file + "'");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const json j = json::parse(read_file(file));
  ASSERT_EQ(j["cases"].size(), 1u);
  EXPECT_EQ(j["cases"][0]["status"], "skipped");
  EXPECT_THAT(j["cases"][0]["reason"].get<std::string>(), HasSubstr("not supported"));
  EXPECT_EQ(j["summary"]["counted"], 0);
}

TEST(Params, ListsUnitRangeDefaultAndMeaning) {
  const auto r = xpusim("params gpu");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, HasSubstr("gpu.sm.count"));
  EXPECT_EQ(xpusim("params gpo").exit_code, 2);
}

TEST(Trace, IsWrittenForPerfetto) {
  const std::string file = temporary("t.pftrace", "");
  const auto r = xpusim("run workloads/triton/reduce_sum.yaml --on h200 --trace '" + file + "'");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_GT(read_file(file).size(), 1000u);
}

}  // namespace
}  // namespace xpusim::e2e
