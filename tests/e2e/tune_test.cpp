// Tuning runs what it does not know yet, and says what is fastest; a correlation makes a page.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using testing::HasSubstr;
using testing::Not;

const std::string kIr = XPUSIM_SOURCE_DIR "/workloads/triton/ir/";

/// A launch file with two schedules beside copies of their kernels.
std::string launch_file() {
  for (const char* stem : {"vector_add_c76ab505ec", "vector_add_9450e7f62b"})
    temporary("tune/" + std::string(stem) + ".ttgir", read_file(kIr + stem + ".ttgir"));
  return temporary("tune/add.yaml", R"y(schema: xpusim.workload/1
name: add
tensors:
  x: {dtype: f32, shape: [65536], init: randn}
  y: {dtype: f32, shape: [65536], init: randn}
  out: {dtype: f32, shape: [65536], init: zeros}
launches:
  - kernel: vector_add_9450e7f62b
    grid: ["cdiv(n, BLOCK)"]
    constexprs: {BLOCK: 1024}
    args: {x_ptr: x, y_ptr: y, out_ptr: out, n: 65536}
variants:
  - {kernel: vector_add_c76ab505ec, BLOCK: 256, num_warps: 4}
  - {kernel: vector_add_9450e7f62b, BLOCK: 1024, num_warps: 4}
sizes: [{n: 4096}, {n: 65536}]
)y");
}

std::string fresh_folder(const std::string& name) {
  const auto path = std::filesystem::path(temporary("tune/mark", "")).parent_path() / name;
  std::filesystem::remove_all(path);
  return path.string();
}

Result tune(const std::string& folder, const std::string& more = "--on h200") {
  return xpusim("tune '" + launch_file() + "' --out '" + folder + "' " + more);
}

/// Without the line that says how many of the runs were there.
std::string tables(const std::string& out) { return out.substr(0, out.rfind(" runs, ")); }

TEST(Tune, ASecondCallRunsNothingAndSaysTheSame) {
  const auto folder = fresh_folder("second");
  const auto first = tune(folder), second = tune(folder);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("add on h200, n=4096\n"));
  EXPECT_THAT(first.out, HasSubstr("add on h200, n=65536\n"));
  EXPECT_THAT(first.out, HasSubstr("BLOCK=256 num_warps=4 "));
  EXPECT_THAT(first.out, HasSubstr("one schedule for all sizes on h200: BLOCK="));
  EXPECT_THAT(first.out, HasSubstr("% off on the mean"));
  EXPECT_THAT(first.out, HasSubstr("4 runs, 0 of them from "));
  EXPECT_THAT(second.out, HasSubstr("4 runs, 4 of them from "));
  EXPECT_EQ(tables(first.out), tables(second.out));
}

TEST(Tune, WhatAResultStandsOnIsItsKey) {
  const auto folder = fresh_folder("key");
  ASSERT_EQ(tune(folder).exit_code, 0);
  EXPECT_THAT(tune(folder, "--on h200 --size n=4096").out, HasSubstr("2 runs, 2 of"))
      << "a size by another name";
  EXPECT_THAT(tune(folder, "--on h200 --size n=8192,65536").out, HasSubstr("4 runs, 2 of"));
  EXPECT_THAT(tune(folder, "--on h200 --set gpu.sm.count=16").out, HasSubstr("4 runs, 0 of"));
  EXPECT_THAT(tune(folder, "--on h200 --clock 1.5GHz").out, HasSubstr("4 runs, 0 of"));
  EXPECT_THAT(tune(folder, "--on h200 --caches warm").out, HasSubstr("4 runs, 0 of"));
  EXPECT_THAT(tune(folder).out, HasSubstr("4 runs, 4 of")) << "and the first are still there";
  // Another text of one kernel.
  const std::string stem = "vector_add_c76ab505ec.ttgir";
  const auto file = launch_file();
  temporary("tune/" + stem, read_file(kIr + stem) + "// another\n");
  const auto r = xpusim("tune '" + file + "' --on h200 --out '" + folder + "'");
  EXPECT_THAT(r.out, HasSubstr("4 runs, 2 of"));
}

TEST(Tune, ResultsDoNotDependOnTheNumberOfJobs) {
  const auto one = tune(fresh_folder("one"), "--on h200 --jobs 1");
  const auto two = tune(fresh_folder("two"), "--on h200 --jobs 2");
  EXPECT_EQ(tables(one.out), tables(two.out));
}

TEST(Tune, TimesAreThoseOfRun) {
  const auto json = temporary("tune/tuned.json", ""), report = temporary("tune/report.json", "");
  ASSERT_EQ(tune(fresh_folder("times"), "--on h200 --clock 1.5GHz --json '" + json + "'").exit_code,
            0);
  ASSERT_EQ(xpusim("run '" + launch_file() + "' --on h200 --values off --clock 1.5GHz --json '" +
                   report + "'")
                .exit_code,
            0);
  const auto j = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(j["schema"], "xpusim.tuning/1");
  double ns = 0;
  for (const auto& s : j["tables"][1]["schedules"])
    if (s["schedule"] == "BLOCK=1024 num_warps=4") ns = s["time_ns"];
  EXPECT_EQ(ns, nlohmann::json::parse(read_file(report))["launches"][0]["duration_ns"]);
}

TEST(Tune, AScheduleThatFailsStaysOutAndNoScheduleIsAFailure) {
  const auto folder = fresh_folder("fails");
  const auto r = tune(folder, "--on h200 --size n=65536,131072");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.out, HasSubstr("past the end of tensor"));
  EXPECT_THAT(r.out, HasSubstr("add on h200, n=65536\n"));
}

TEST(Tune, WrongInputIsSaidBeforeAnythingRuns) {
  const auto folder = fresh_folder("wrong");
  const auto problem = [&](const std::string& more) {
    const auto r = tune(folder, more);
    EXPECT_EQ(r.exit_code, 2) << r.out;
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  EXPECT_THAT(problem("--on h2000"), HasSubstr("did you mean 'h200'?"));
  EXPECT_EQ(problem("--on h200 --size m=4"), "--size: error: no launch has 'm' in its args\n");
  EXPECT_EQ(problem("--on h200 --size n"), "--size: error: 'n' is not of the form n=1024,4096\n");
  EXPECT_THAT(problem("--on h200 --size arg.n=4"), HasSubstr("did you mean 'args'?"));
  EXPECT_THAT(problem("--on h200 --set gpu.sm.cuont=3"), HasSubstr("did you mean 'count'?"));
  EXPECT_THAT(problem("--on h200 --clock 3GB"), HasSubstr("--clock: error: "));
  EXPECT_THAT(problem("--on h200 --json /no/such/folder/x.json"), HasSubstr("cannot write"));
  EXPECT_THAT(problem("--on h200 --from ttirr"), HasSubstr("do not take ttirr"));
  EXPECT_THAT(problem(""), HasSubstr("--on is required"));
  const auto r = xpusim("tune workloads/triton/relu.yaml --on h200");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("relu.yaml:"));
  EXPECT_THAT(r.err, HasSubstr("no 'variants', so there is nothing to choose from"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Tune, TheVariantsOfTheProjectAreThere) {
  for (const char* name : {"vector_add", "softmax", "fused_mul_add_relu"}) {
    // A folder that cannot be made: everything is checked before it would be.
    const auto r =
        xpusim("tune workloads/triton/" + std::string(name) + ".yaml --on h200 --out /dev/null/x");
    EXPECT_EQ(r.err, "/dev/null/x: error: cannot make this folder\n");
  }
}

TEST(CorrelationPage, NeedsNothingElseAndHasEveryCase) {
  const auto html = temporary("page.html", "");
  const auto r = xpusim(
      "correlate traces/h200/cases.json --on h200 --only 'vector_add_n(4096|98432)' "
      "--jobs 2 --html '" +
      html + "'");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const auto page = read_file(html);
  EXPECT_THAT(page, HasSubstr("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("<title>vector_add_n98432_b4096_w4\nmeasured 3.42 us, simulated "));
  EXPECT_THAT(page, HasSubstr("stall_long_scoreboard"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf<")));
  EXPECT_EQ(xpusim("correlate traces/h200/cases.json --on h200 --html /no/x.html").exit_code, 2);
}

TEST(Trust, TheErrorIsThatOfTheKindOfKernel) {
  const std::string file = temporary("kind.json", "");
  const auto expected = [&](const std::string& workload) {
    const auto r =
        xpusim("run workloads/" + workload + ".yaml --on h200 --values off --json '" + file + "'");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return nlohmann::json::parse(read_file(file))["launches"][0]["expected_error"];
  };
  const auto softmax = expected("triton/softmax"), relu = expected("triton/relu");
  EXPECT_EQ(softmax["kind"], "reductions");
  EXPECT_EQ(relu["kind"], "element-wise");
  EXPECT_NE(softmax["cases"], relu["cases"]);
  for (const auto& e : {softmax, relu}) {
    EXPECT_EQ(e["kind_compared"], true);
    EXPECT_EQ(e["time_compared"], true);
  }
}

}  // namespace
}  // namespace xpusim::e2e
