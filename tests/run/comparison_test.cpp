// A comparison with figures that a reader can check by hand: what is chosen, why, and how it reads.

#include "sim/run/comparison/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace xpusim::run {
namespace {
using testing::HasSubstr;
using testing::Not;

ComparedMachine machine(const std::string& name, double flops, double bytes,
                        std::optional<double> price) {
  Peaks p;
  p.tensor_flops_per_s = flops;
  p.flops_per_s = flops / 10;
  p.hbm_bytes_per_s = bytes;
  p.dollars_per_hour = price;
  return {name, "gpu", p};
}

/// A run that takes `ns`, of which the bound is `share`, at `watts`, on a machine of `price` USD/h.
ComparedRun ran(double ns, double share, double watts, std::optional<double> price) {
  ComparedRun r;
  r.time_ns = ns;
  r.bound_ns = share * ns;
  r.bound_by = "HBM bandwidth";
  r.energy_uj = watts * ns * 1e-3;
  r.energy_shares = {{"hbm", 0.4}, {"idle", 0.3}};
  if (price) r.cost_usd = *price / 3600 * ns * 1e-9;
  r.stall = {Limit::Kind::kStall, "waits for global memory", 0.3};
  r.limit = share >= 0.75 ? Limit{Limit::Kind::kBound, r.bound_by, share} : r.stall;
  r.trust = Trust{4, 12, 20, "element-wise", true, true};
  r.check = "right";
  return r;
}

ComparedRun refused() {
  ComparedRun r;
  r.status = ComparedRun::Status::kRefused;
  r.reason = "k.ttir: no atomics here";
  return r;
}

/// A big, dear machine and a small, cheap one with a quarter of its bandwidth.
Comparison two_machines() {
  Comparison c;
  c.name = "two";
  c.machines = {machine("big", 800e12, 4e12, 9.0), machine("small", 200e12, 1e12, 1.5)};
  c.kinds = {{"streams",
              {{"add", {ran(10e3, 0.9, 500, 9.0), ran(40e3, 0.9, 100, 1.5)}},
               {"mul", {ran(20e3, 0.45, 500, 9.0), ran(40e3, 0.9, 100, 1.5)}}}},
             {"irregular", {{"histogram", {ran(80e3, 0.05, 300, 9.0), refused()}}}}};
  return c;
}

TEST(Comparison, ChoosesByTheGeometricMean) {
  const Comparison c = two_machines();
  const Choice time = choose(c, c.kinds[0], Aim::kTime);
  ASSERT_TRUE(time.machine && time.next);
  EXPECT_EQ(*time.machine, 0u);
  EXPECT_NEAR(time.ratio, std::sqrt(4.0 * 2.0), 1e-9);
  EXPECT_EQ(time.margin, Margin::kApart);
  const Choice energy = choose(c, c.kinds[0], Aim::kEnergy);
  EXPECT_EQ(*energy.machine, 1u);
  EXPECT_EQ(energy.margin, Margin::kUnknown) << "nobody measured energies";
  EXPECT_NEAR(energy.ratio, 5 / std::sqrt(8.0), 1e-9);
  const Choice cost = choose(c, c.kinds[0], Aim::kCost);
  EXPECT_EQ(*cost.machine, 1u);
  EXPECT_NEAR(cost.ratio, 6 / std::sqrt(8.0), 1e-9);
  EXPECT_EQ(cost.margin, Margin::kApart);
}

TEST(Comparison, SaysWhyOfBoundsAndLedgersPowersAndPrices) {
  const Comparison c = two_machines();
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kTime).why,
            "its bound is 4 times lower (HBM bandwidth: 4.00 TB/s against 1.00 TB/s), although it "
            "comes to 64 % of it, small to 90 % of its own; big loses 30 % of its cycles on the "
            "mean: waits "
            "for global memory");
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kEnergy).why,
            "it draws 100 W against 500 W, for 2.83 times as long; 40 % of the energy of big is "
            "hbm");
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kCost).why,
            "it costs 1.50 USD an hour against 9.00, for 2.83 times as long");
}

TEST(Comparison, WithinTheErrorsOfTheModelsItIsTooCloseToCall) {
  Comparison c = two_machines();
  c.kinds[0].rows = {{"add", {ran(10e3, 0.9, 500, 9.0), ran(10.4e3, 0.9, 500, 9.0)}}};
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kTime).margin, Margin::kClose)
      << "4 %, and both are 4 % off";
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kEnergy).margin, Margin::kUnknown);
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kTime).why,
            "the bounds are alike (HBM bandwidth: 4.00 TB/s against 1.00 TB/s) and it comes to 90 "
            "%, small to 90 %");
  c.kinds[0].rows[0].runs[1] = ran(10.6e3, 0.9, 500, 9.0);
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kTime).margin, Margin::kApart)
      << "6 % is more than 4 % and 4 %";
  c.kinds[0].rows[0].runs[1] = ran(10.1e3, 0.9, 500, 9.0);
  c.kinds[0].rows[0].runs[1].trust.reset();
  const Choice unknown = choose(c, c.kinds[0], Aim::kTime);
  EXPECT_EQ(unknown.margin, Margin::kUnknown) << "nobody knows its error";
  EXPECT_THAT(to_text(c), HasSubstr("? big (1.01)"));
  EXPECT_TRUE(to_json(c)["kinds"][0]["choices"]["time"]["within_errors"].is_null());
}

TEST(Comparison, WrongValuesAreNoFigures) {
  Comparison c = two_machines();
  ComparedRun& wrong = c.kinds[0].rows[0].runs[0];
  wrong.check = kWrong;
  for (const Aim aim : kAims) EXPECT_FALSE(figure(wrong, aim));
  const Choice choice = choose(c, c.kinds[0], Aim::kTime);
  EXPECT_EQ(*choice.machine, 1u) << "big is faster, but only one of its two is right";
  EXPECT_EQ(choice.why, "the only one that runs all 2");
  EXPECT_NEAR(*advantage(c.kinds[0], Aim::kTime, 0, 1), 2, 1e-9) << "over 'mul' alone";
}

TEST(Comparison, ARefusalLeavesTheOthersToChooseFrom) {
  const Comparison c = two_machines();
  const Choice only = choose(c, c.kinds[1], Aim::kTime);
  EXPECT_EQ(*only.machine, 0u);
  EXPECT_FALSE(only.next);
  EXPECT_EQ(only.why, "the only one that runs it");
  EXPECT_FALSE(c.any_failed());
}

TEST(Comparison, WhoRunsMoreIsChosenBeforeWhoIsFaster) {
  Comparison c = two_machines();
  c.kinds[0].rows.push_back({"histogram", {refused(), ran(5e3, 0.1, 50, 1.5)}});
  const Choice choice = choose(c, c.kinds[0], Aim::kTime);
  EXPECT_EQ(*choice.machine, 1u);
  EXPECT_EQ(choice.why, "the only one that runs all 3");
}

TEST(Comparison, WithoutAPriceThereIsNoCost) {
  Comparison c = two_machines();
  c.machines[1].peaks.dollars_per_hour.reset();
  for (auto& row : c.kinds[0].rows) row.runs[1].cost_usd.reset();
  EXPECT_EQ(choose(c, c.kinds[0], Aim::kCost).why, "the only one with a known cost");
  for (auto& row : c.kinds[0].rows) row.runs[0].cost_usd.reset();
  const Choice none = choose(c, c.kinds[0], Aim::kCost);
  EXPECT_FALSE(none.machine);
  EXPECT_EQ(none.why, "no price is known");
  EXPECT_THAT(to_text(c), Not(HasSubstr("nan")));
}

TEST(Comparison, AdvantageIsOverTheRowsThatBothRan) {
  Comparison c = two_machines();
  c.kinds[0].rows.push_back({"histogram", {ran(1e3, 0.1, 50, 9.0), refused()}});
  EXPECT_NEAR(*advantage(c.kinds[0], Aim::kTime, 1, 0), 1 / std::sqrt(8.0), 1e-9);
  EXPECT_FALSE(advantage(c.kinds[1], Aim::kTime, 1, 0));
}

TEST(Comparison, FailuresAndWrongValuesAreFailures) {
  Comparison c = two_machines();
  c.kinds[0].rows[0].runs[0].check = kWrong;
  EXPECT_TRUE(c.any_failed());
  c = two_machines();
  c.kinds[0].rows[0].runs[0].status = ComparedRun::Status::kFailed;
  EXPECT_TRUE(c.any_failed());
}

TEST(Comparison, ReadsLikeThis) {
  EXPECT_EQ(to_text(two_machines()), R"(two
  machine  matrix peak   vector peak        HBM  USD/h
  big      800 TFLOP/s  80.0 TFLOP/s  4.00 TB/s   9.00
  small    200 TFLOP/s  20.0 TFLOP/s  1.00 TB/s   1.50
One device each, and they differ in size: 'per watt' and 'per dollar' are what can be compared across sizes.

streams
  workload  machine  values     time  error  of bound   energy    W  USD/1e6  limited by
  add       big       right  10.0 us    4 %      90 %  5.00 mJ  500    0.025  HBM bandwidth: 90 % of its bound
            small     right  40.0 us    4 %      90 %  4.00 mJ  100   0.0167  HBM bandwidth: 90 % of its bound
  mul       big       right  20.0 us    4 %      45 %  10.0 mJ  500     0.05  30 % of cycles: waits for global memory
            small     right  40.0 us    4 %      90 %  4.00 mJ  100   0.0167  HBM bandwidth: 90 % of its bound

  big = 1  speed  per watt  per dollar
  small    0.354      1.77        2.12
  fastest       big, 2.83 times as fast as small
                its bound is 4 times lower (HBM bandwidth: 4.00 TB/s against 1.00 TB/s), although it comes to 64 % of it, small to 90 % of its own; big loses 30 % of its cycles on the mean: waits for global memory
  least energy  small, 1.77 times less than big, by figures whose errors are not known
                it draws 100 W against 500 W, for 2.83 times as long; 40 % of the energy of big is hbm
  cheapest      small, 2.12 times cheaper than big
                it costs 1.50 USD an hour against 9.00, for 2.83 times as long

irregular
  workload   machine  values     time  error  of bound   energy    W  USD/1e6  limited by
  histogram  big       right  80.0 us    4 %       5 %  24.0 mJ  300      0.2  30 % of cycles: waits for global memory
             small    refused: k.ttir: no atomics here

  big = 1  speed  per watt  per dollar
  small        -         -           -
  fastest       big, the only one that runs it
  least energy  big, the only one that runs it
  cheapest      big, the only one that runs it

error: of simulated times when the machine was last compared with a real one
  big: element-wise: 4.0 % on the mean, 12 % at worst, over 20 measured launches
  small: element-wise: 4.0 % on the mean, 12 % at worst, over 20 measured launches
  in brackets where none of the kind was compared, or the run lies far from those that were
  energies have no measured error here; configs/README.md says what each is fitted on

which to choose for  time        energy          cost
streams              big (2.83)  ? small (1.77)  small (2.12)
irregular            only big    only big        only big
(how many times better than the next; ~: within the models' errors; ?: their errors are not known, as of all energies)
)");
}

TEST(Comparison, ThePageHasEveryRunAndEscapesNames) {
  Comparison c = two_machines();
  c.kinds[0].name = "a<b";
  const std::string html = to_html(c);
  for (const char* text : {"a&lt;b", "histogram", "refused: k.ttir: no atomics here", "big (2.83)"})
    EXPECT_THAT(html, HasSubstr(text));
  EXPECT_THAT(html, Not(HasSubstr("http")));
}

TEST(Comparison, ItsJsonIsOfThisSchema) {
  const auto j = to_json(two_machines());
  EXPECT_EQ(j["schema"], "xpusim.comparison_set_results/1");
  const auto keys = [](const nlohmann::ordered_json& map) {
    std::string out;
    for (const auto& [key, value] : map.items()) out += (out.empty() ? "" : " ") + key;
    return out;
  };
  EXPECT_EQ(keys(j), "schema tool name values caches machines kinds host");
  EXPECT_EQ(keys(j["machines"][0]),
            "name family tensor_flops_per_s flops_per_s hbm_bytes_per_s usd_per_hour");
  EXPECT_EQ(keys(j["kinds"][0]), "name workloads relative choices");
  const auto& runs = j["kinds"][0]["workloads"][0]["runs"];
  EXPECT_EQ(keys(runs[0]),
            "machine status reason check time_ns flops hbm_bytes bound_ns bound_by energy_uj "
            "power_w cost_usd runs_per_joule runs_per_usd limit stall issued_share expected_error");
  EXPECT_EQ(j["kinds"][1]["workloads"][0]["runs"][1].dump(),
            R"({"machine":"small","status":"refused","reason":"k.ttir: no atomics here"})");
  EXPECT_EQ(
      j["kinds"][1]["choices"]["time"].dump(),
      R"({"machine":"big","next":null,"ratio":null,"within_errors":null,"why":"the only one that runs it"})");
  EXPECT_EQ(runs[0]["limit"].dump(), R"({"kind":"bound","what":"HBM bandwidth","share":0.9})");
  EXPECT_EQ(
      runs[0]["expected_error"].dump(),
      R"({"mean_abs_pct":4.0,"worst_abs_pct":12.0,"cases":20,"kind":"element-wise","kind_compared":true,"applies":true})");
}

/// A report of two launches, of 3 and 1 us.
nlohmann::ordered_json report() {
  return nlohmann::ordered_json::parse(R"({
    "launches": [
      {"cycles": 3000, "duration_ns": 3000, "hbm_gbs": 100, "energy": {"hbm": 6, "idle": 2},
       "bound": {"HBM bandwidth": 600, "vector flops": 100},
       "ledger": {"u": {"issued": 30, "r": 50, "s": 20}, "v": {"busy": 9}},
       "memory": {"L2 slices": {"mean": 0.8, "busiest": 0.96}},
       "bottlenecks": [{"unit": "u", "reason": "r", "meaning": "waits for r", "share": 0.5},
                       {"unit": "u", "reason": "s", "meaning": "", "share": 0.2}],
       "check": {"o": {"right": true}},
       "expected_error": {"mean_abs_pct": 5, "worst_abs_pct": 9, "cases": 3, "kind": "reductions",
         "kind_compared": true, "time_compared": true, "configuration_compared": true,
         "ops_never_compared": []}},
      {"cycles": 1000, "duration_ns": 1000, "hbm_gbs": null, "energy": {"idle": 2}, "bound": {},
       "ledger": {"u": {"issued": 10, "s": 90}},
       "memory": {"L2 slices": {"mean": 0.1, "busiest": 0.7}},
       "bottlenecks": [{"unit": "u", "reason": "s", "meaning": "", "share": 0.9}],
       "check": {"o": {"right": true}}, "expected_error": null}],
    "total": {"duration_ns": 4000, "flops": 8, "energy_uj": 10, "cost_usd": null, "wall_s": 1}})");
}

TEST(ComparedRun, SumsTheLaunches) {
  const ComparedRun r = compared_run(report());
  EXPECT_EQ(r.time_ns, 4000);
  EXPECT_EQ(r.hbm_bytes, 300e3);
  EXPECT_EQ(r.bound_ns, 600);
  EXPECT_EQ(r.bound_by, "HBM bandwidth");
  EXPECT_EQ(r.check, "right");
  EXPECT_DOUBLE_EQ(r.energy_shares.at("hbm"), 0.6);
  EXPECT_DOUBLE_EQ(r.power_w(), 2.5);
  EXPECT_DOUBLE_EQ(r.issued_share, 0.25);  // (0.3 * 3000 + 0.1 * 1000) / 4000
  EXPECT_FALSE(r.cost_usd);
  EXPECT_EQ(r.stall.what, "waits for r");  // 1500 of 4000 cycles, and s the same: the first by name
  EXPECT_DOUBLE_EQ(r.stall.share, 0.375);
  ASSERT_TRUE(r.trust);
  EXPECT_EQ(r.trust->kind, "reductions");
  EXPECT_TRUE(r.trust->applies);
}

TEST(ComparedRun, TheBoundLimitsWhoComesNearItThenTheBusyPartThenTheInstructionsThenTheStall) {
  auto j = report();
  EXPECT_EQ(to_text(compared_run(j).limit), "L2 slices: 90 % busy");  // (0.96 * 3 + 0.7) / 4
  j["launches"][0]["memory"]["L2 slices"]["busiest"] = 0.5;
  EXPECT_EQ(to_text(compared_run(j).limit), "38 % of cycles: waits for r");
  j["launches"][0]["ledger"]["u"]["issued"] = 1000;
  EXPECT_EQ(to_text(compared_run(j).limit), "instructions: 73 % of cycles issue");
  j["launches"][0]["bound"]["HBM bandwidth"] = 3600;
  EXPECT_EQ(to_text(compared_run(j).limit), "HBM bandwidth: 90 % of its bound");
}

TEST(ComparedRun, AnErrorAppliesOnlyToWhatWasCompared) {
  auto j = report();
  j["launches"][0]["expected_error"]["ops_never_compared"] = {"math.exp"};
  EXPECT_EQ(error_cell(compared_run(j)), "(5 %)");
  j["launches"][0]["expected_error"] = nullptr;
  EXPECT_EQ(error_cell(compared_run(j)), "-");
}

}  // namespace
}  // namespace xpusim::run
