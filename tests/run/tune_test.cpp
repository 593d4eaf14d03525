#include "sim/run/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace xpusim::run {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

std::string write_launch_file(const std::string& more) {
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "_tune.yaml";
  std::ofstream(path)
      << "schema: xpusim.workload/1\n"
         "name: add\n"
         "tensors: {x: {dtype: f32, shape: [64]}}\n"
         "launches:\n"
         "  - {kernel: ir/a, grid: [1], constexprs: {B: 64}, args: {p: x, n: 64, m: "
         "1}}\n"
      << more;
  return path;
}

const char* kList =
    "variants:\n"
    "  - {kernel: ir/a, B: 64, num_warps: 4}\n"
    "  - {kernel: ir/b, B: 64, num_warps: 8, num_stages: 3}\n"
    "  - {name: huge, kernel: ir/c, B: 1024}\n";

Expected<Sweep> sweep_of(const std::string& more, std::vector<std::string> sizes = {}) {
  TuneSettings s;
  s.workload = write_launch_file(more);
  s.machines = {"h200"};
  s.sizes = std::move(sizes);
  return tuning_sweep(s);
}

/// "a=1 b=2; a=1 b=3": every point of the sweep.
std::string points(const Expected<Sweep>& sweep) {
  if (!sweep) return sweep.error().str();
  std::string text;
  for (std::size_t i = 0; i < sweep->size(); ++i) {
    text += i ? "; " : "";
    std::string point;
    for (const auto& [path, value] : sweep->point(i).settings)
      point += (point.empty() ? "" : ", ") + path + "=" + value.scalar;
    text += point;
  }
  return text;
}

TEST(TuneSweep, HasEachScheduleAtTheFilesOwnSizeIfNoneIsAskedFor) {
  EXPECT_EQ(points(sweep_of(kList)),
            "variants=B=64 num_warps=4; variants=B=64 num_warps=8 num_stages=3; variants=huge");
  EXPECT_EQ(points(sweep_of("variants: {B: {32: ir/b, 64: ir/a}}\n")),
            "variants.B=32; variants.B=64");
}

TEST(TuneSweep, HasTheSizesOfTheFileOrThoseOfTheCommandLine) {
  const std::string file = "variants: {B: {64: ir/a}}\nsizes: [{n: 16}, {name: two, n: 32}]\n";
  EXPECT_EQ(points(sweep_of(file)), "sizes=n=16, variants.B=64; sizes=two, variants.B=64");
  EXPECT_EQ(points(sweep_of(file, {"n=1,2"})), "args.n=1, variants.B=64; args.n=2, variants.B=64");
  EXPECT_EQ(points(sweep_of(file, {"n={from: 16, to: 64, factor: 2}"})),
            "args.n=16, variants.B=64; args.n=32, variants.B=64; args.n=64, variants.B=64");
}

TEST(TuneSweep, ParametersOfOneSizeOptionChangeTogetherAndSeveralOptionsMultiply) {
  const std::string file = "variants: {B: {64: ir/a}}\n";
  EXPECT_EQ(points(sweep_of(file, {"n=1,2 m=3,4"})),
            "args.n=1, args.m=3, variants.B=64; args.n=2, args.m=4, variants.B=64");
  EXPECT_EQ(points(sweep_of(file, {"n=1,2", "m=3"})),
            "args.n=1, args.m=3, variants.B=64; args.n=2, args.m=3, variants.B=64");
  EXPECT_EQ(
      sweep_of(file, {"tensors.x.shape=[8],[16]"})->point(1).settings[0].second.items[0].scalar,
      "16");
}

TEST(TuneSweep, EachMistakeOfASizeIsSaid) {
  const auto problem = [](const std::string& size) {
    auto sweep = sweep_of("variants: {B: {64: ir/a}}\n", {size});
    return sweep ? std::string() : sweep.error().str();
  };
  EXPECT_EQ(problem("n"), "--size: error: 'n' is not of the form n=1024,4096\n");
  EXPECT_EQ(problem(""), "--size: error: is empty\n");
  EXPECT_EQ(problem("n="), "--size: error: the grid is empty: 'args.n' has no values\n");
  EXPECT_EQ(problem("n=1,2 m=1"),
            "--size: error: 'args.m' has 1 values, but 'args.n' in this zip has 2\n");
  EXPECT_THAT(problem("n=[1"), HasSubstr("--size: error: 'n=[1': "));
  EXPECT_EQ(problem("variants.B=64"), "--size: error: 'variants.B' is no parameter of a size\n");
}

TEST(TuneSweep, AFileWithoutVariantsHasNothingToChooseFrom) {
  EXPECT_THAT(points(sweep_of("")), HasSubstr(":1:1: error: this launch file has no 'variants'"));
}

SweepRow row(const std::string& size, const std::string& schedule, double ns) {
  SweepRow r{size + schedule, "add", "h200", {size, schedule}, {}};
  r.outcome.status = ns > 0 ? PointStatus::kOk : PointStatus::kFailed;
  if (ns > 0)
    r.outcome.figures.time_ns = ns;
  else
    r.outcome.reason = "too much shared memory";
  r.outcome.stalls = {{"sub", "wait", 0.4, "waits for a fixed latency"}};
  return r;
}

SweepResults results() {
  SweepResults r{"add", "tool", {"args.n", "variants.B"}, {}};
  r.rows = {row("16", "32", 0),    row("16", "64", 200), row("16", "128", 100),
            row("32", "32", 1000), row("32", "64", 400), row("32", "128", 500)};
  return r;
}

std::vector<std::string> names(const TuneTable& table) {
  std::vector<std::string> out;
  for (const auto& s : table.schedules) out.push_back(s.name);
  return out;
}

TEST(Tuning, ATableASizeTheFastestFirstAndWhatDidNotRunLast) {
  const auto all = results();
  const auto t = tuning_of(all);
  ASSERT_EQ(t.tables.size(), 2u);
  EXPECT_EQ(t.tables[0].size, "n=16");
  EXPECT_THAT(names(t.tables[0]), ElementsAre("B=128", "B=64", "B=32"));
  EXPECT_EQ(t.tables[0].schedules[1].ratio, 2);
  EXPECT_EQ(t.tables[0].schedules[2].ratio, 0);
  EXPECT_EQ(t.tables[0].fastest()->name, "B=128");
  EXPECT_THAT(names(t.tables[1]), ElementsAre("B=64", "B=128", "B=32"));
  const auto text = to_text(t);
  EXPECT_THAT(text, HasSubstr("add on h200, n=16\n"));
  EXPECT_THAT(text, HasSubstr("40 % wait (waits for a fixed latency)"));
  EXPECT_THAT(text, HasSubstr("failed too much shared memory"));
}

TEST(Tuning, OneScheduleForAllSizesIsTheLeastSlowerOnTheGeometricMean) {
  const auto all = results();
  const auto list = over_sizes(tuning_of(all), "h200");
  ASSERT_EQ(list.size(), 2u) << "B=32 did not run at every size";
  EXPECT_EQ(list[0].name, "B=128");
  EXPECT_NEAR(list[0].mean_ratio, std::sqrt(1.25), 1e-12);
  EXPECT_NEAR(list[0].worst_ratio, 1.25, 1e-12);
  EXPECT_EQ(list[0].worst_size, "n=32");
  EXPECT_NEAR(list[1].mean_ratio, std::sqrt(2), 1e-12);
  EXPECT_THAT(to_text(tuning_of(all)),
              HasSubstr("one schedule for all sizes on h200: B=128, 11.8 % slower than each size's "
                        "fastest on the mean, 25.0 % at n=32\n"));
}

TEST(Tuning, JsonHasTheSameTables) {
  const auto all = results();
  const auto j = to_json(tuning_of(all));
  EXPECT_EQ(j["schema"], "xpusim.tuning/1");
  EXPECT_EQ(j["tables"][0]["fastest"], "B=128");
  EXPECT_EQ(j["tables"][0]["schedules"][1]["ratio"], 2.0);
  EXPECT_EQ(j["tables"][0]["schedules"][1]["lost"][0]["reason"], "wait");
  EXPECT_TRUE(j["tables"][0]["schedules"][2]["time_ns"].is_null());
  EXPECT_EQ(j["tables"][0]["schedules"][2]["reason"], "too much shared memory");
}

TEST(Tuning, ASizeAtWhichNothingRanHasNoFastest) {
  SweepResults r{"add", "tool", {"variants"}, {}};
  r.rows = {SweepRow{"a", "add", "h200", {"one"}, {}}};
  const auto t = tuning_of(r);
  ASSERT_EQ(t.tables.size(), 1u);
  EXPECT_EQ(t.tables[0].fastest(), nullptr);
  EXPECT_TRUE(to_json(t)["tables"][0]["fastest"].is_null());
}

}  // namespace
}  // namespace xpusim::run
