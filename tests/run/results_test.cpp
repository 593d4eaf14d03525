#include "sim/run/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/run/collect.h"
#include "sim/run/digest.h"

namespace xpusim::run {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

/// A folder of the test's own, removed at its end.
class Folder {
 public:
  Folder() {
    static int count = 0;
    path_ = testing::TempDir() + "xpusim_results_" + std::to_string(::getpid()) + "_" +
            std::to_string(count++);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Sweep sweep_of(const std::string& grid) {
  auto root = config::read_yaml(
      "schema: xpusim.sweep/1\nname: t\nworkload: w\nmachine: m\ngrid: " + grid + "\n", "s.yaml");
  return *parse_sweep(*root, "s.yaml");
}

PlannedPoint point(const std::string& id, const std::string& n) { return {id, "w", "m", {n}}; }

PointOutcome fine(double ns) {
  PointOutcome o;
  o.status = PointStatus::kOk;
  o.figures.time_ns = ns;
  o.figures.cycles = 2 * ns;
  o.stalls = {{"gpu.sm.sub", "long_scoreboard", 0.5}};
  o.check = "right";
  o.wall_s = 0.25;
  return o;
}

PointOutcome bad(const std::string& reason) {
  PointOutcome o;
  o.status = PointStatus::kFailed;
  o.reason = reason;
  return o;
}

__extension__ using Wide = unsigned __int128;

TEST(Digest, IsFnv1aIn128Bits) {
  // By hand: FNV-1a over the eight bytes of the length 0.
  Wide h = (static_cast<Wide>(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
  const Wide prime = (static_cast<Wide>(1) << 88) | 0x13b;
  for (int i = 0; i < 8; ++i) h *= prime;
  char want[33];
  std::snprintf(want, sizeof want, "%016llx%016llx", static_cast<unsigned long long>(h >> 64),
                static_cast<unsigned long long>(h));
  Digest d;
  d.add("");
  EXPECT_EQ(d.hex(), want);
}
TEST(Digest, PiecesDoNotRunIntoEachOther) {
  Digest a, b;
  a.add("ab");
  a.add("c");
  b.add("a");
  b.add("bc");
  EXPECT_NE(a.hex(), b.hex());
}

TEST(ResultStore, RowsComeBackAsTheyWerePut) {
  Folder folder;
  auto store = ResultStore::create(folder.path());
  ASSERT_TRUE(store) << store.error().str();
  const Sweep sweep = sweep_of("{args.n: [1, 2]}");
  ASSERT_TRUE(store->plan(sweep, {point("a", "1"), point("b", "2")}));
  EXPECT_THAT(store->statuses(),
              ElementsAre(Pair("a", PointStatus::kPending), Pair("b", PointStatus::kPending)));
  ASSERT_TRUE(store->put("b", fine(0.1)));
  ASSERT_TRUE(store->put("a", bad("why, \"so\"")));
  auto read = ResultStore::open(folder.path())->read();
  ASSERT_TRUE(read) << read.error().str();
  EXPECT_EQ(read->name, "t");
  EXPECT_THAT(read->parameters, ElementsAre("args.n"));
  ASSERT_EQ(read->rows.size(), 2u);
  EXPECT_EQ(read->rows[0].outcome.status, PointStatus::kFailed);
  EXPECT_EQ(read->rows[0].outcome.reason, "why, \"so\"");
  EXPECT_EQ(read->rows[0].outcome.figures.time_ns, std::nullopt);
  EXPECT_THAT(read->rows[1].values, ElementsAre("2"));
  EXPECT_EQ(read->rows[1].outcome.figures.time_ns, 0.1);
  EXPECT_EQ(read->rows[1].outcome.figures.energy_uj, std::nullopt);
  EXPECT_EQ(read->rows[1].outcome.stalls.at(0).reason, "long_scoreboard");
  EXPECT_EQ(read->rows[1].outcome.wall_s, 0.25);
}

TEST(ResultStore, APointThatComesBackToTheGridKeepsItsResult) {
  Folder folder;
  auto store = ResultStore::create(folder.path());
  ASSERT_TRUE(store->plan(sweep_of("{args.n: [1, 2]}"), {point("a", "1"), point("b", "2")}));
  ASSERT_TRUE(store->put("b", fine(7)));
  ASSERT_TRUE(store->plan(sweep_of("{args.n: [1]}"), {point("a", "1")}));
  EXPECT_EQ(store->read()->rows.size(), 1u);
  ASSERT_TRUE(store->plan(sweep_of("{args.n: [2, 1]}"), {point("b", "2"), point("a", "1")}));
  const auto rows = store->read()->rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, "b");
  EXPECT_EQ(rows[0].outcome.figures.time_ns, 7);
}

TEST(ResultStore, WhatIsNoResultsFileIsSaidSo) {
  Folder folder;
  EXPECT_THAT(ResultStore::open(folder.path()).error().str(),
              HasSubstr("holds no results of a sweep"));
  std::ofstream(folder.path() + "/results.sqlite") << "this is a text of some length, no database";
  EXPECT_THAT(ResultStore::open(folder.path()).error().str(), HasSubstr("not a database"));
  EXPECT_THAT(ResultStore::create("/no/such/folder").error().str(), HasSubstr("SQLite: "));
}

SweepResults small_results() {
  SweepResults r{"t", "tool", {"args.n", "tensors.x.shape"}, {}};
  r.rows.push_back({"a", "w", "m", {"1", "[1, 2]"}, fine(1500)});
  r.rows.push_back({"b", "w", "m", {"2", "[1, 2]"}, bad("x\ny")});
  r.rows.push_back({"c", "w", "m", {"4", "[1, 2]"}, fine(3000)});
  r.rows.push_back({"d", "v", "m", {"4", "[1, 2]"}, fine(5000)});
  return r;
}

TEST(Collect, CsvFollowsRfc4180) {
  const std::string csv = to_csv(small_results());
  EXPECT_EQ(csv.substr(0, csv.find("\r\n")),
            "workload,machine,args.n,tensors.x.shape,status,time_ns,cycles,clock_mhz,hbm_gbs,"
            "hbm_peak_gbs,tflops,energy_uj,power_w,bound_ns,bound_ratio,stall_1,stall_1_share,"
            "stall_2,stall_2_share,stall_3,stall_3_share,check,reason");
  EXPECT_THAT(csv, HasSubstr("\r\nw,m,1,\"[1, 2]\",ok,1500,3000,,,,,,,,,long_scoreboard,0.5,,,,,"
                             "right,\r\n"));
  EXPECT_THAT(csv, HasSubstr("\r\nw,m,2,\"[1, 2]\",failed,,,,,,,,,,,,,,,,,,\"x\ny\"\r\n"));
}

TEST(Collect, JsonKeepsTheHostApart) {
  const auto j = to_json(small_results());
  EXPECT_EQ(j["schema"], "xpusim.sweep_results/1");
  EXPECT_EQ(j["rows"][0]["parameters"]["args.n"], "1");
  EXPECT_EQ(j["rows"][0]["time_ns"], 1500);
  EXPECT_TRUE(j["rows"][0]["energy_uj"].is_null());
  EXPECT_EQ(j["rows"][1]["reason"], "x\ny");
  EXPECT_FALSE(j["rows"][0].contains("host"));
  EXPECT_EQ(j["host"]["a"]["wall_s"], 0.25);
}

TEST(Collect, FailedPointsStayOutOfAPlotsMeans) {
  const auto plot = make_plot(small_results(), {"args.n", "time_ns", {}, {}});
  ASSERT_TRUE(plot) << plot.error().str();
  EXPECT_EQ(plot->y_label, "time (µs)");
  ASSERT_EQ(plot->series.size(), 1u);
  EXPECT_THAT(plot->series[0].points, ElementsAre(Pair(1, 1.5), Pair(4, 4)));
  EXPECT_EQ(plot->note,
            "each point is the mean of up to 2 of the sweep's; left out, without a result: 1");
}

TEST(Collect, LinesAreToldApartByColumns) {
  const auto plot = make_plot(small_results(), {"args.n", "time_ns", {"workload"}, {}});
  ASSERT_EQ(plot->series.size(), 2u);
  EXPECT_EQ(plot->series[1].label, "v");
  EXPECT_EQ(make_plot(small_results(), {"args.n", "time_ns", {}, {"workload=v"}})->series.size(),
            1u);
  const auto names = make_plot(small_results(), {"workload", "time_ns", {}, {}});
  EXPECT_THAT(names->x_names, ElementsAre("w", "v"));
}

TEST(Collect, AWrongColumnIsSaidSo) {
  const auto said = [](const PlotChoice& c) { return make_plot(small_results(), c).error().str(); };
  EXPECT_THAT(said({"args.m", "time_ns", {}, {}}),
              HasSubstr("--x: error: no column 'args.m'; did you mean 'args.n'?"));
  EXPECT_THAT(said({"args.n", "args.n", {}, {}}), HasSubstr("--y: error: no column"));
  EXPECT_THAT(said({"args.n", "energy_uj", {}, {}}), HasSubstr("no finished point has both"));
  EXPECT_THAT(said({"args.n", "time_ns", {}, {"workload"}}), HasSubstr("column=value"));
  EXPECT_THAT(said({"args.n", "time_ns", {}, {"workload=z"}}), HasSubstr("there are w, v"));
}

TEST(Plot, IsAnSvgWithAxesAndLegend) {
  Plot plot;
  plot.title = "a < b & c";
  plot.x_label = "SMs";
  plot.y_label = "time (µs)";
  plot.legend = "clock";
  plot.series = {{"1 GHz", {{1, 4}, {2, 2}, {4, 1}, {8, 0.5}}}, {"2 GHz", {{1, 3}, {8, 0.4}}}};
  const std::string svg = to_svg(plot);
  EXPECT_THAT(svg, HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* text : {">a &lt; b &amp; c<", ">SMs, log scale<", ">time (µs)<", ">clock<",
                           ">1 GHz<", ">2 GHz<", ">8<", ">0<"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}
TEST(Plot, OnePointIsAPlotToo) {
  Plot plot;
  plot.series = {{"", {{5, 0}}}};
  EXPECT_THAT(to_svg(plot), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace xpusim::run
