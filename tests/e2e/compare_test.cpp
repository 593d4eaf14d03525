// Machines side by side: one workload, and kinds of work from a comparison file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kWorkloads = XPUSIM_SOURCE_DIR "/workloads/";

std::string comparison_file(const std::string& kinds) {
  return temporary("kinds.yaml", "schema: xpusim.comparison_set/1\n" + kinds);
}

/// Three kinds that run in a second: a product and a sum that both families run, and locks that
/// blocks spin on, which a TPU has no form for.
std::string small_set() {
  return comparison_file("kinds:\n  products:\n    - {gpu: " + kWorkloads +
                         "compare/gpu/matmul_1024.yaml, tpu: " + kWorkloads +
                         "compare/tpu/matmul_1024.yaml}\n  sums: [" + kWorkloads +
                         "triton/reduce_sum.yaml]\n  irregular: [" + kWorkloads +
                         "compare/locked_sum.yaml]\n");
}

json without_host(const std::string& file) {
  json j = json::parse(read_file(file));
  j.erase("host");
  return j;
}

TEST(Compare, OneWorkloadAnswersWhichToChooseAndWhy) {
  const auto r = xpusim("compare workloads/triton/reduce_sum.yaml --on h200 --on tpu_v5e --jobs 2");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  for (const char* text :
       {"its error", "of the bound", "price of an hour", "10.44 USD", "runs a joule", "right",
        "what limits h200: ", "fastest       h200, ", "its bound is ", "least energy  ",
        "cheapest      ", "USD an hour against "})
    EXPECT_THAT(r.out, HasSubstr(text));
}

TEST(Compare, RunsEveryKindOnEveryMachineAndGoesOnAfterARefusal) {
  const auto file = temporary("results.json", ""), page = temporary("results.html", "");
  const auto r = xpusim("compare '" + small_set() + "' --on h200 --on tpu_v5e --json '" + file +
                        "' --html '" + page + "'");
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("refused: "));
  EXPECT_THAT(r.out, HasSubstr("loops whose end depends on data are not modelled on the TPU"));
  EXPECT_THAT(r.out, HasSubstr("which to choose for"));
  EXPECT_THAT(r.out, HasSubstr("h200, the only one that runs it"));
  EXPECT_THAT(r.out, Not(HasSubstr("nan")));
  const json j = json::parse(read_file(file));
  EXPECT_EQ(j["schema"], "xpusim.comparison_set_results/1");
  ASSERT_EQ(j["kinds"].size(), 3u);
  for (const auto& run : j["kinds"][0]["workloads"][0]["runs"]) {
    EXPECT_EQ(run["status"], "ok");
    EXPECT_EQ(run["check"], "right");
    EXPECT_GT(run["runs_per_usd"], 0);
  }
  EXPECT_EQ(j["kinds"][2]["workloads"][0]["runs"][1]["status"], "refused");
  EXPECT_THAT(read_file(page), HasSubstr("<!doctype html>"));
}

TEST(Compare, AComparisonDoesNotDependOnTheNumberOfJobs) {
  const auto one = temporary("one.json", ""), two = temporary("two.json", "");
  const std::string compare = "compare '" + small_set() + "' --on h200 --on tpu_v6e ";
  const auto a = xpusim(compare + "--jobs 1 --json '" + one + "'");
  const auto b = xpusim(compare + "--jobs 2 --json '" + two + "'");
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(without_host(one), without_host(two));
}

TEST(Compare, SaysWhatIsWrongWithAComparisonFileBeforeAnythingRuns) {
  const auto problem = [](const std::string& kinds) {
    const auto r = xpusim("compare '" + comparison_file(kinds) + "' --on h200 --on tpu_v5e");
    EXPECT_EQ(r.exit_code, 2) << r.out;
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  EXPECT_THAT(problem("kinds: {a: [{gpo: b.yaml}]}\n"),
              HasSubstr("kinds.yaml:2:14: error: unknown key 'gpo' in a workload; did you mean "
                        "'gpu'?"));
  EXPECT_THAT(problem("kinds: {a: [none.yaml]}\n"),
              HasSubstr("kinds.yaml:2:13: error: cannot read the launch file '"));
  const std::string other = "{gpu: " + kWorkloads +
                            "compare/gpu/matmul_1024.yaml, tpu: " + kWorkloads +
                            "compare/tpu/matmul_4096.yaml}";
  EXPECT_THAT(problem("kinds:\n  a:\n    - " + other + "\n"),
              HasSubstr("kinds.yaml:4:7: error: 'matmul_1024' is not the same work in both forms: "
                        "only '"));
  EXPECT_THAT(problem("kinds: {a: [" + kWorkloads + "compare/kinds.yaml]}\n"),
              HasSubstr("expected 'schema: xpusim.workload/1'"));
}

TEST(Compare, TheKindsOfTheProjectAreThereAndTheSameWork) {
  for (const char* name : {"kinds", "small"}) {
    // No machine: everything of the file is read and checked before.
    const auto r = xpusim("compare workloads/compare/" + std::string(name) + ".yaml --on h2000");
    EXPECT_THAT(r.err, testing::StartsWith("--on: error: no machine 'h2000'")) << r.err;
  }
}

}  // namespace
}  // namespace xpusim::e2e
