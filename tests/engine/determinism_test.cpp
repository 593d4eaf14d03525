#include <gtest/gtest.h>

#include <numeric>

#include "tests/engine/network.h"

namespace xpusim::engine {
namespace test {

class Idle : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Idle);
  explicit Idle(const sc_core::sc_module_name& name) : sc_module(name) { SC_METHOD(nothing); }

 private:
  void nothing() {}
};

std::vector<std::size_t> shuffled(std::size_t count, std::uint32_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (seed != 0) std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

NetworkResult run_network(const NetworkPlan& plan) {
  fresh_simulation();
  std::vector<std::unique_ptr<ClockDomain>> domains;
  std::vector<ClockDomain*> list;
  for (std::size_t d = 0; d < plan.hz.size(); ++d) {
    const std::string name = "domain_" + std::to_string(d);
    domains.push_back(std::make_unique<ClockDomain>(name.c_str(), Clock(plan.hz[d]), plan.mode));
    list.push_back(domains.back().get());
  }
  const auto scheduler = [&](std::size_t cell) -> Scheduler& {
    return domains[cell % domains.size()]->scheduler();
  };

  std::mt19937 random(plan.seed);
  struct Wire {
    std::size_t from, to;
    Cycle latency;
  };
  std::vector<Wire> wires;
  std::vector<std::size_t> ports(plan.cells, 0), bound(plan.cells, 0);
  for (std::size_t i = 0; i < plan.links; ++i) {
    wires.push_back(
        {random() % plan.cells, random() % plan.cells, 1 + random() % plan.longest_latency});
    ++ports[wires.back().from];
  }

  std::vector<std::unique_ptr<Cell>> cells(plan.cells);
  for (const std::size_t i : shuffled(plan.cells, plan.construction_seed)) {
    cells[i] = std::make_unique<Cell>(("cell_" + std::to_string(i)).c_str(), ports[i]);
  }
  for (std::size_t i = 0; i < plan.cells; ++i) {
    cells[i]->join(scheduler(i), random(), 200);
    cells[i]->start(scheduler(i), random() % 50);
  }
  std::vector<std::unique_ptr<Link>> links(wires.size());
  for (const std::size_t i : shuffled(plan.links, plan.construction_seed)) {
    links[i] =
        std::make_unique<Link>(("link_" + std::to_string(i)).c_str(), scheduler(wires[i].from),
                               scheduler(wires[i].to), cells[wires[i].to]->id(), wires[i].latency);
  }
  for (std::size_t i = 0; i < wires.size(); ++i) {
    const std::size_t from = wires[i].from;
    (*cells[from]->outs[bound[from]++])(*links[i]);
  }

  std::unique_ptr<Idle> idle;
  if (plan.other_process) idle = std::make_unique<Idle>("idle");
  SystemRunner runner(list);
  const auto dry = [&] {
    return std::all_of(list.begin(), list.end(),
                       [](ClockDomain* d) { return d->scheduler().next() == kNever; });
  };
  NetworkResult result;
  if (const auto ran = runner.run(dry); !ran) result.error = ran.error().list().at(0).message;
  for (const auto& cell : cells) result.history = result.history * 31 + cell->history();
  for (const auto& domain : domains) {
    result.activations += domain->scheduler().activations();
    result.messages += domain->scheduler().messages();
  }
  return result;
}

}  // namespace test

namespace {

using test::NetworkPlan;
using test::NetworkResult;
using test::run_network;

void expect_same(const NetworkResult& a, const NetworkResult& b) {
  EXPECT_EQ(a.error, "");
  EXPECT_EQ(b.error, "");
  EXPECT_GT(a.messages, 1000u);
  EXPECT_EQ(a.messages, b.messages);
  EXPECT_EQ(a.history, b.history);
}

TEST(DeterminismTest, TheSameNetworkTwiceIsTheSame) {
  expect_same(run_network({.seed = 5}), run_network({.seed = 5}));
  EXPECT_NE(run_network({.seed = 5}).history, run_network({.seed = 6}).history);
}

TEST(DeterminismTest, SkippingIdleCyclesChangesNothing) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const NetworkResult skip = run_network({.seed = seed});
    const NetworkResult all = run_network({.seed = seed, .mode = Scheduler::Mode::kTickAll});
    expect_same(skip, all);
    EXPECT_LT(skip.activations, all.activations / 3);
  }
}

TEST(DeterminismTest, SkippingIdleCyclesChangesNothingOverClockDomains) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    NetworkPlan plan{.seed = seed, .hz = {1'755'000'000, 1'600'000'000, 940'000'000}};
    const NetworkResult skip = run_network(plan);
    plan.mode = Scheduler::Mode::kTickAll;
    expect_same(skip, run_network(plan));
  }
}

TEST(DeterminismTest, TheOrderOfConstructionChangesNothing) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    NetworkPlan plan{.seed = seed, .hz = {1'755'000'000, 1'600'000'000, 1'200'000'000}};
    const NetworkResult first = run_network(plan);
    plan.construction_seed = 99 + seed;
    expect_same(first, run_network(plan));
  }
}

// In step with another process nobody runs ahead; running ahead must give the same. A message into
// the past would be an error.
TEST(DeterminismTest, RunningAheadChangesNothingWhateverTheClocksAndLatencies) {
  std::mt19937 random(7);
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    NetworkPlan plan{.seed = seed};
    plan.hz.resize(2 + random() % 4);
    for (auto& hz : plan.hz) hz = 200'000'000 + random() % 3'000'000'000u;
    plan.cells = 6 + random() % 30;
    plan.links = plan.cells * (2 + random() % 3);
    plan.longest_latency = 1 + random() % (seed % 3 ? 8 : 300);
    const NetworkResult ahead = run_network(plan);
    plan.other_process = true;
    const NetworkResult in_step = run_network(plan);
    EXPECT_EQ(ahead.error, "") << seed;
    EXPECT_EQ(in_step.error, "") << seed;
    EXPECT_EQ(ahead.messages, in_step.messages) << seed;
    EXPECT_EQ(ahead.history, in_step.history) << seed;
  }
}

}  // namespace
}  // namespace xpusim::engine
