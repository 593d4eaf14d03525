#include "models/network/collectives/schedule_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "models/network/collectives/plan.h"
#include "sim/engine/system.h"

namespace xpusim::network {
namespace {

using engine::Cycle;

constexpr double kHz = 1e9;

/// A torus of links of 45 GB/s without headers, and engines that cost nothing.
NetworkParams torus(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t wrap) {
  NetworkParams p;
  p.torus = {x, y, z, 64, 64, 64, wrap, {45e9, 1, 500, 128, 4096, 0, 1 << 20, 5}};
  p.endpoint.issue_ns = p.endpoint.completion_ns = 0;
  return p;
}

struct Outcome {
  double seconds = 0;
  CollectivePlan plan;
  std::uint64_t crossed = 0;      ///< bytes over all wires
  std::uint64_t out = 0, in = 0;  ///< bytes that leave and reach chips that send or receive them
  bool conserved = true;
};

Outcome run(const NetworkParams& params, const CollectiveRequest& request, double memory = 0) {
  engine::fresh_simulation();
  engine::Scheduler scheduler{engine::Clock(1'000'000'000)};
  auto topology = make_topology(params);
  EXPECT_TRUE(topology) << topology.error().str();
  auto plan = plan_collective(**topology, request);
  EXPECT_TRUE(plan) << plan.error().str();
  Fabric fabric("network", scheduler, **topology, params);
  ScheduleRun schedule(fabric, scheduler, plan->schedule, DmaTiming::from(params.endpoint, memory),
                       nullptr);
  schedule.start();
  scheduler.run_until(engine::Cycle{1} << 40);
  EXPECT_TRUE(schedule.done());
  Outcome o;
  o.seconds = static_cast<double>(schedule.end()) / kHz;
  // What enters a chip over links and from its own memory leaves it over links and to its memory.
  std::vector<std::int64_t> balance((*topology)->nodes());
  for (const Transfer& t : plan->schedule.transfers) {
    if (t.src == t.dst) continue;
    balance[t.src] += static_cast<std::int64_t>(t.bytes);
    balance[t.dst] -= static_cast<std::int64_t>(t.bytes);
  }
  for (std::uint32_t w = 0; w < (*topology)->wires().size(); ++w) {
    const auto bytes = static_cast<std::int64_t>(fabric.counters(w).bytes);
    balance[(*topology)->wires()[w].from] -= bytes;
    balance[(*topology)->wires()[w].to] += bytes;
    o.crossed += fabric.counters(w).bytes;
  }
  for (const std::int64_t b : balance) o.conserved &= b == 0;
  o.plan = std::move(*plan);
  return o;
}

CollectiveRequest request(Collective op, std::uint64_t bytes, const std::string& algorithm) {
  CollectiveRequest r;
  r.op = op;
  r.bytes = bytes;
  r.algorithm = algorithm;
  return r;
}

TEST(ScheduleRun, takes_a_hop_and_the_bytes_for_one_small_transfer) {
  const auto o = run(torus(2, 1, 1, 16), request(Collective::kPermute, 45056, "direct"));
  // 45056 bytes at 45 GB/s are 1001.2 ns, the hop 500 ns, and what is done is seen a cycle later.
  EXPECT_NEAR(o.seconds, (1001.24 + 500) * 1e-9, 3e-9);
}

TEST(ScheduleRun, does_ring_steps_one_after_another) {
  // Reduce-scatter of 4 shards of 11264 B (250.3 ns at 45 GB/s) round a ring of 4: three steps.
  const auto o = run(torus(4, 1, 1, 4), request(Collective::kReduceScatter, 45056, "ring"));
  EXPECT_NEAR(o.seconds, 3 * (250.3 + 500) * 1e-9, 10e-9);
}

TEST(ScheduleRun, pays_for_issue_and_completion_in_each_step) {
  NetworkParams p = torus(4, 1, 1, 4);
  p.endpoint.issue_ns = 100;
  p.endpoint.completion_ns = 50;
  const auto o = run(p, request(Collective::kReduceScatter, 45056, "ring"));
  EXPECT_NEAR(o.seconds, 3 * (250.3 + 500 + 150) * 1e-9, 10e-9);
}

TEST(ScheduleRun, is_limited_by_the_memory_where_that_is_slower) {
  // A permute reads and writes each byte: 2 bytes of memory for one of the link.
  const auto o = run(torus(2, 1, 1, 16), request(Collective::kPermute, 1 << 26, "direct"), 30e9);
  EXPECT_NEAR(o.seconds, 2.0 * (1 << 26) / 30e9, 0.02 * o.seconds);
}

TEST(ScheduleRun, reads_the_addend_and_writes_the_sum) {
  // A reduce-scatter of two: half is read and sent; the other half comes, is added: read and
  // written.
  const auto o =
      run(torus(2, 1, 1, 16), request(Collective::kReduceScatter, 1 << 26, "ring"), 30e9);
  EXPECT_NEAR(o.seconds, 3.0 * (1 << 25) / 30e9, 0.02 * o.seconds);
}

TEST(ScheduleRun, all_reduces_a_gibibyte_over_a_pod_as_the_closed_form_says) {
  NetworkParams p = torus(16, 16, 1, 16);
  p.chunk = 256 << 10;
  const auto o = run(p, request(Collective::kAllReduce, 1 << 30, "torus"));
  // Four parts, each a reduce-scatter and an all-gather over 16 and then 16 chips, on a link of its
  // own: 2 (15/16 + 1/16 * 15/16) of a quarter of the bytes.
  const double closed = 2 * (15.0 / 16 + 15.0 / 256) * (1 << 28) / 45e9;
  EXPECT_NEAR(o.seconds, closed, 0.05 * closed);
  EXPECT_TRUE(o.conserved);
}

TEST(ScheduleRun, is_near_the_bandwidth_bound_with_much_data_on_an_idle_torus) {
  NetworkParams p = torus(4, 4, 1, 4);
  p.chunk = 256 << 10;
  for (const Collective op :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
        Collective::kAllToAll, Collective::kBroadcast}) {
    const auto o = run(p, request(op, 1 << 30, "torus"));
    EXPECT_LT(o.plan.bound_seconds, o.seconds) << name(op);
    EXPECT_GT(o.plan.bound_seconds, 0.9 * o.seconds) << name(op);
  }
}

TEST(ScheduleRun, is_near_the_bound_of_a_rings_middle_with_much_to_exchange) {
  // On 16 chips in a ring a byte crosses 4.27 links on the mean: most of what a link carries only
  // passes through, and must not be held up by what the chips on its way have to send.
  NetworkParams p = torus(16, 1, 1, 16);
  p.chunk = 256 << 10;
  const auto o = run(p, request(Collective::kAllToAll, 1 << 30, "torus"));
  EXPECT_EQ(o.plan.bound, "links across the middle of axis x");
  EXPECT_LT(o.plan.bound_seconds, o.seconds);
  EXPECT_GT(o.plan.bound_seconds, 0.9 * o.seconds);
}

TEST(ScheduleRun, permutes_at_the_rate_of_the_one_way_to_a_neighbour) {
  // The bound counts all four links of a chip, but a torus sends a message one way only: to the
  // next chip over one link, so a permute takes four times the bound.
  NetworkParams p = torus(4, 4, 1, 4);
  p.chunk = 256 << 10;
  const auto o = run(p, request(Collective::kPermute, 1 << 30, "direct"));
  const double one_link = (1 << 30) / 45e9;
  EXPECT_NEAR(o.plan.bound_seconds, one_link / 4, 1e-9);
  EXPECT_GT(o.seconds, one_link);
  EXPECT_LT(0.9 * o.seconds, one_link);
}

TEST(ScheduleRun, never_beats_the_bandwidth_bound) {
  NetworkParams switched;
  switched.topology = "switched";
  switched.switched.link = {25e9, 18, 250, 16, 4096, 0, 1 << 20, 1};
  switched.endpoint.issue_ns = switched.endpoint.completion_ns = 0;
  for (const NetworkParams& p :
       {torus(4, 4, 1, 4), torus(5, 1, 1, 16), torus(4, 2, 2, 4), torus(16, 1, 1, 16), switched})
    for (const Collective op :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
          Collective::kAllToAll, Collective::kBroadcast, Collective::kPermute})
      for (const std::string& algorithm : algorithms(op)) {
        const auto o = run(p, request(op, 16 * 5 * 3 * 4 * 4096, algorithm));
        EXPECT_GE(o.seconds, o.plan.bound_seconds) << name(op) << " by " << algorithm;
        EXPECT_TRUE(o.conserved) << name(op) << " by " << algorithm;
      }
}

TEST(ScheduleRun, goes_on_round_a_link_that_is_down) {
  NetworkParams p = torus(4, 4, 1, 4);
  const auto whole = run(p, request(Collective::kAllReduce, 1 << 24, "torus"));
  p.down = {"1-2"};
  const auto broken = run(p, request(Collective::kAllReduce, 1 << 24, "torus"));
  EXPECT_TRUE(broken.conserved);
  EXPECT_GT(broken.seconds, whole.seconds);
  EXPECT_GT(broken.crossed, whole.crossed);
}

}  // namespace
}  // namespace xpusim::network
