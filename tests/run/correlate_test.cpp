#include "sim/run/correlate_page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace xpusim::run {
namespace {

CaseResult ran(std::string name, double measured, double simulated, std::string problem = "p",
               std::string group = "") {
  CaseResult r;
  r.name = std::move(name);
  r.kernel = "k";
  r.problem = std::move(problem);
  r.group = std::move(group);
  r.status = CaseStatus::kOk;
  r.measured_ns = measured;
  r.simulated_ns = simulated;
  return r;
}

TEST(Summary, MeanMedianAndWorstAreOfAbsoluteErrors) {
  const auto s = summarize({ran("a", 100, 110), ran("b", 100, 70), ran("c", 100, 100)});
  EXPECT_NEAR(*s.mean_abs_error_pct, 40.0 / 3, 1e-9);
  EXPECT_NEAR(*s.median_abs_error_pct, 10, 1e-9);
  EXPECT_NEAR(*s.worst_abs_error_pct, 30, 1e-9);
  EXPECT_EQ(s.worst_case, "b");
}

TEST(Summary, AGroupCountsOnceAndUngatedCasesNotAtAll) {
  auto shown = ran("x", 100, 500);
  shown.gate = false;
  const auto s = summarize(
      {ran("a", 100, 110, "p", "g"), ran("b", 100, 130, "p", "g"), ran("c", 100, 100), shown});
  EXPECT_EQ(s.counted, 2);
  EXPECT_NEAR(*s.mean_abs_error_pct, 10, 1e-9);
}

TEST(Summary, SkippedFailedAndUnmeasuredStayOutOfAverages) {
  CaseResult skipped, failed, unmeasured = ran("u", 0, 5);
  skipped.status = CaseStatus::kSkipped;
  unmeasured.measured_ns.reset();
  const auto s = summarize({ran("a", 100, 120), skipped, failed, unmeasured});
  EXPECT_EQ(s.ok, 2);
  EXPECT_EQ(s.skipped, 1);
  EXPECT_EQ(s.failed, 1);
  EXPECT_EQ(s.counted, 1);
  EXPECT_FALSE(unmeasured.error_pct());
}

TEST(Summary, TauAndRegretComeFromAlternativesOfOneProblem) {
  // Measured 100 < 200 < 300; simulated order 200 < 100 < 300: one of three pairs is wrong.
  const auto s = summarize(
      {ran("a", 100, 20), ran("b", 200, 10), ran("c", 300, 30), ran("d", 50, 50, "alone")});
  EXPECT_NEAR(*s.kendall_tau, 1.0 / 3, 1e-9);
  EXPECT_NEAR(*s.regret_pct, 100, 1e-9);
  EXPECT_FALSE(summarize({ran("a", 100, 20), ran("b", 102, 10)}).kendall_tau)
      << "within 3 %: no order";
}

TEST(Summary, ErrorsByKernelKindAndCounter) {
  auto a = ran("a", 100, 110), b = ran("b", 400, 520), c = ran("c", 200, 200);
  a.ops = c.ops = {"tt.load"};
  b.ops = {"tt.dot"};
  a.counters = {{"bytes", {100, 150}}, {"hits", {0, 7}}};
  b.counters = {{"bytes", {100, 90}}};
  const auto s = summarize({a, b, c});
  const auto& k = s.by_kernel.at("k");
  EXPECT_EQ(k.cases, 3);
  EXPECT_NEAR(k.mean, 40.0 / 3, 1e-9);
  EXPECT_NEAR(k.median, 10, 1e-9);
  EXPECT_NEAR(k.worst, 30, 1e-9);
  EXPECT_EQ(k.worst_case, "b");
  EXPECT_EQ(s.by_kind.at("matrix products").cases, 1);
  const auto& streams = s.by_kind.at("element-wise");
  EXPECT_NEAR(streams.mean, 5, 1e-9);
  EXPECT_EQ(streams.shortest_ns, 100);
  EXPECT_EQ(streams.longest_ns, 200);
  const auto& bytes = s.by_counter.at("bytes");
  EXPECT_NEAR(bytes.mean, 30, 1e-9);
  EXPECT_NEAR(bytes.worst, 50, 1e-9);
  EXPECT_EQ(bytes.worst_case, "a");
  EXPECT_EQ(s.by_counter.count("hits"), 0u) << "there is no error of nothing";
}

TEST(Summary, EachProblemHasItsTauAndItsRegret) {
  // a and b differ by 2 %: no pair. Simulated: c first, which really takes 50 % longer than a.
  const auto s = summarize({ran("a", 100, 30), ran("b", 102, 20), ran("c", 150, 10),
                            ran("d", 10, 10, "q"), ran("e", 20, 20, "q")});
  ASSERT_EQ(s.problems.size(), 2u);
  EXPECT_EQ(s.problems[0].pairs, 2);
  EXPECT_NEAR(*s.problems[0].tau, -1, 1e-9);
  EXPECT_NEAR(s.problems[0].regret_pct, 50, 1e-9);
  EXPECT_EQ(s.problems[0].picked, "c");
  EXPECT_EQ(s.problems[0].fastest, "a");
  EXPECT_NEAR(*s.problems[1].tau, 1, 1e-9);
  EXPECT_NEAR(*s.kendall_tau, 0, 1e-9);
  EXPECT_NEAR(*s.regret_pct, 25, 1e-9);
}

TEST(Cases, AlternativesOfAProblemDoTheSameWork) {
  const auto gpu = load_cases(XPUSIM_SOURCE_DIR "/traces/h200/cases.json");
  ASSERT_TRUE(gpu);
  const auto problem = [&](const std::string& name) {
    for (const auto& c : *gpu)
      if (c.name == name) return c.problem;
    return std::string();
  };
  const std::string flash = "flash_attention_h32_s4096_d64_128x64_w4_s3_";
  EXPECT_NE(problem(flash + "full"), problem(flash + "causal"));
  EXPECT_EQ(problem("softmax_4096x1024_w4"), problem("softmax_4096x1024_w8"));
}

TEST(Cases, TheReferencesInTheProjectAreRead) {
  auto gpu = load_cases(XPUSIM_SOURCE_DIR "/traces/h200/cases.json");
  ASSERT_TRUE(gpu) << gpu.error().str();
  EXPECT_EQ(gpu->size(), 143u);
  EXPECT_EQ((*gpu)[0].name, "vector_add_n4096_b256_w4");
  EXPECT_EQ(*(*gpu)[0].measured_ns, 2336);
  EXPECT_NEAR(*(*gpu)[0].clock_hz, 4540.0 / 2336 * 1e9, 1);
  EXPECT_EQ((*gpu)[0].counters.at("warp_instructions"), 1536);
  auto tpu = load_cases(XPUSIM_SOURCE_DIR "/traces/tpu/cases.json");
  ASSERT_TRUE(tpu) << tpu.error().str();
  const auto& copy = tpu->back();
  EXPECT_EQ(copy.measure, Measure::kBest);
  EXPECT_EQ(copy.workloads.size(), 2u);
  EXPECT_EQ(copy.machine, "tpu_v6e");
  EXPECT_EQ((*tpu)[0].measured_ns, (11772.0 - 75) * 1e3) << "host overhead is taken off";
}

TEST(Cases, MistakesNameTheCase) {
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "_cases.json";
  const auto problem = [&](const std::string& text) {
    std::ofstream(path) << text;
    auto c = load_cases(path);
    return c ? std::string() : c.error().str();
  };
  EXPECT_NE(problem("{").find("no JSON"), std::string::npos);
  EXPECT_NE(problem("3").find("expected a list of cases"), std::string::npos);
  EXPECT_NE(problem(R"([{}, {"name": "a", "ir": "x"}])").find("a case must be a map with a name"),
            std::string::npos);
  EXPECT_NE(problem(R"([{"name": "a"}, {"name": "b", "ir": "x"}])").find("case 'a': needs 'ir'"),
            std::string::npos);
  EXPECT_NE(problem(R"([{"name": "a", "ir": "x", "args": {"p": {"dtype": "f31", "shape": [1]}}}])")
                .find("argument 'p' needs a known dtype"),
            std::string::npos);
  EXPECT_NE(
      problem(R"([{"name": "a", "kernels": ["x"], "measure": "slope"}])").find("too few kernels"),
      std::string::npos);
  EXPECT_NE(problem(R"([{"name": "a", "ir": 3}])").find("case 'a': type must be string"),
            std::string::npos);
  EXPECT_NE(problem(R"([{"name": "a", "ir": "x", "counters": {"duration_ns": 0}}])")
                .find("duration_ns must be above 0"),
            std::string::npos);
  EXPECT_NE(problem(R"([{"name": "a", "kernels": ["x"], "measured": {"us": 1, "overhead_us": 2}}])")
                .find("must be above 0"),
            std::string::npos);
}

TEST(Cases, AnotherFileIsRefusedOnce) {
  const auto c = load_cases(XPUSIM_SOURCE_DIR "/traces/h200/collectives.json");
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().list().size(), 1u);
  EXPECT_NE(c.error().str().find("not a cases file"), std::string::npos);
}

TEST(Cases, EachWrongPartOfACaseHasAMessage) {
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "_parts.json";
  std::ofstream(path) << R"([{"name": "a", "ir": "x", "grid": 5, "counters": [1],
                              "constexprs": [1], "args": 3},
                             {"name": "b", "ir": "x", "grid": [{}]},
                             {"name": "c", "kernels": 1},
                             {"name": "d", "kernels": ["x"], "measured": []}])";
  const auto c = load_cases(path);
  ASSERT_FALSE(c);
  const std::string said = c.error().str();
  for (const char* what :
       {"case 'a': 'grid' must be a list", "case 'a': 'counters' must be a map",
        "case 'a': 'constexprs' must be a map", "case 'a': 'args' must be a map",
        "case 'b': a grid dimension is a number or an expression",
        "case 'c': 'kernels' must be a list", "case 'd': 'measured' must be a map"})
    EXPECT_NE(said.find(what), std::string::npos) << what << "\n" << said;
}

TEST(Correlation, NamesWhatWasCompared) {
  auto counted = ran("a", 100, 110), shown = ran("b", 100, 110);
  counted.machine = shown.machine = "h200";
  counted.parameters = shown.parameters = {{"gpu.x", "1"}};
  counted.ops = {"tt.load"};
  shown.ops = {"tt.dot"};
  shown.gate = false;
  const auto j = to_json({counted, shown}, summarize({counted, shown}));
  EXPECT_EQ(j["compared"].dump(), R"({"h200":{"parameters":{"gpu.x":"1"},"ops":["tt.load"]}})");
}

TEST(Correlation, HasNoHeadingWithoutCounters) {
  const std::vector<CaseResult> results = {ran("a", 100, 110)};
  EXPECT_EQ(to_text(results, summarize(results)).find("counters"), std::string::npos);
}

TEST(CorrelationPage, HasWhatTheCasesSayAndEscapesTheirNames) {
  auto a = ran("a<b>&", 1000, 1100), b = ran("b", 5000, 4000), c = ran("c", 1, 1),
       shown = ran("s", 9e3, 9e3);
  a.ops = {"tt.load"};
  a.machine = "h200";
  a.ledger = {{"sub", "issued", 30, ""}, {"sub", "wait", 10, "waits for a fixed latency"}};
  a.counters = {{"stall_wait", {2, 1}}, {"bytes", {100, 90}}};
  c.status = CaseStatus::kSkipped;
  c.reason = "not supported: \"x\"";
  shown.gate = false;
  const std::vector<CaseResult> all = {a, b, c, shown};
  const auto page = to_html("cases.json", all, summarize(all));
  EXPECT_NE(page.find("<title>a&lt;b&gt;&amp;\nmeasured 1.00 us, simulated 1.10 us (+10.0 %)"),
            std::string::npos);
  EXPECT_EQ(page.find("a<b>"), std::string::npos);
  for (const char* what : {"75.0 %", "waits for a fixed latency", "stall_wait",
                           "skipped: not supported: &quot;x&quot;", "not counted",
                           "Ranking of schedules", "prefers-color-scheme: dark", "2 of 4"})
    EXPECT_NE(page.find(what), std::string::npos) << what;
}

TEST(CorrelationPage, IsMadeOfNothingToo) {
  CaseResult failed;
  failed.name = "x";
  failed.reason = "no";
  EXPECT_NE(to_html("cases.json", {failed}, summarize({failed})).find("failed: no"),
            std::string::npos);
}

}  // namespace
}  // namespace xpusim::run
