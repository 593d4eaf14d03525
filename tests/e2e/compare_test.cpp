// Machines side by side: one workload, and kinds of work from a comparison file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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

/// A launch file like workloads/triton/reduce_sum.yaml, with `from` put in place of `to`.
std::string changed_launch(const std::string& from, const std::string& to) {
  std::string text = read_file(kWorkloads + "triton/reduce_sum.yaml");
  for (const auto& [a, b] :
       {std::pair{std::string(" ir/"), " " + kWorkloads + "triton/ir/"}, std::pair{from, to}}) {
    EXPECT_NE(text.find(a), std::string::npos) << a;
    text.replace(text.find(a), a.size(), b);
  }
  return temporary("changed.yaml", text);
}

TEST(Compare, WrongInputIsNoRefusal) {
  const auto problem = [](const std::string& file) {
    const auto r = xpusim("compare '" + comparison_file("kinds: {a: [" + file + "]}\n") +
                          "' --on h200 --on tpu_v5e --on h100");
    EXPECT_EQ(r.exit_code, 2) << r.out;
    EXPECT_EQ(r.out, "");
    std::istringstream text(r.err);
    std::set<std::string> lines;
    for (std::string line; std::getline(text, line);)
      EXPECT_TRUE(lines.insert(line).second) << "once, not by machine: " << line;
    return r.err;
  };
  EXPECT_THAT(problem(changed_launch("x_ptr: x", "x_prt: x")), HasSubstr("changed.yaml:"));
  EXPECT_THAT(problem(changed_launch("x_ptr: x", "x_ptr: xx")), HasSubstr("no tensor 'xx'"));
  EXPECT_THAT(problem(changed_launch("triton/ir/", "triton/no/")), HasSubstr("no kernel '"));
  const std::string kernel = temporary("broken.ttir", "module { tt.func @k( }\n");
  EXPECT_THAT(problem(temporary("broken.yaml",
                                "schema: xpusim.workload/1\nname: b\n"
                                "tensors: {x: {dtype: f32, shape: [4], init: ones}}\n"
                                "launches: [{kernel: " +
                                    kernel + ", grid: [1], args: {x: x}}]\n")),
              HasSubstr("broken.ttir:1:"));
}

TEST(Compare, AWorkloadThatAMachineHasNoRoomForIsARefusal) {
  // 65,536 counters of 4 bytes do not fit the 16 KiB of SMEM of a TPU v3.
  const std::string set =
      comparison_file("kinds: {a: [" + kWorkloads + "compare/histogram.yaml]}\n");
  const auto r = xpusim("compare '" + set + "' --values off --on tpu_v3");
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("refused: "));
  EXPECT_THAT(r.out, HasSubstr("of SMEM, the core has"));
}

TEST(Compare, OneWorkloadTellsEveryMachinesProblems) {
  const auto r = xpusim(
      "compare workloads/compare/locked_sum.yaml --values off --on tpu_v3 --on h200 --on tpu_v5e");
  EXPECT_EQ(r.exit_code, 2) << r.out;
  EXPECT_THAT(r.err, HasSubstr("tpu_v3 cannot run this kernel"));
  EXPECT_THAT(r.err, HasSubstr("tpu_v5e cannot run this kernel"));
}

TEST(Compare, AnOverrideMayBeForOneMachine) {
  const auto file = temporary("prices.json", "");
  const std::string compare =
      "compare '" + comparison_file("kinds: {a: [" + kWorkloads + "triton/reduce_sum.yaml]}\n") +
      "' --values off --on h200 --on roofline_h200 --json '" + file + "' ";
  const auto r = xpusim(compare + "--set 'h200:cost.per_hour=3.5 USD/h'");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json machines = json::parse(read_file(file))["machines"];
  EXPECT_EQ(machines[0]["usd_per_hour"], 3.5);
  EXPECT_NE(machines[1]["usd_per_hour"], 3.5);
  const auto wrong = xpusim(compare + "--set 'h20:cost.per_hour=3.5 USD/h'");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'h20:cost.per_hour=3.5 USD/h' is for none of these machines; "
                                   "did you mean 'h200'?"));
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
