#include "models/network/collectives/channel_run.h"

#include <gtest/gtest.h>

#include "models/network/collectives/plan.h"
#include "sim/engine/system.h"

namespace xpusim::network {
namespace {

using Kind = ChannelTiming::Kind;

NetworkParams pair_of(std::int64_t chips) {
  NetworkParams p;
  p.topology = "switched";
  p.chunk = 1 << 10;
  p.switched.chips = chips;
  p.switched.switches = 1;
  p.switched.link = {1e9, 1, 100, 1, 1 << 10, 0, 1 << 16, 1};
  p.endpoint.channels = 1;
  p.endpoint.step = 8 << 10;
  p.endpoint.ring_chunk = 2;
  p.endpoint.ring_slice = 1;
  p.endpoint.channel_bandwidth = 4e9;
  p.endpoint.slice_ns = 0;
  return p;
}

double seconds(const NetworkParams& p, Collective op, std::uint64_t bytes,
               const std::string& algorithm, ChannelTiming::Kind kind) {
  engine::fresh_simulation();
  engine::Scheduler scheduler{engine::Clock(1'000'000'000)};
  const auto topology = make_topology(p);
  CollectiveRequest r;
  r.op = op;
  r.bytes = bytes;
  r.algorithm = algorithm;
  r.channels = static_cast<std::uint32_t>(p.endpoint.channels);
  const auto plan = plan_collective(**topology, r);
  EXPECT_TRUE(plan) << plan.error().str();
  Fabric fabric("network", scheduler, **topology, p);
  ChannelRun run(fabric, scheduler, plan->schedule, ChannelTiming::from(p.endpoint, 0, kind, bytes),
                 kind == Kind::kExchange);
  run.start();
  scheduler.run_until(engine::Cycle{1} << 40);
  EXPECT_TRUE(run.done()) << name(op) << " by " << algorithm;
  return static_cast<double>(run.end()) * 1e-9;
}

TEST(ChannelProgram, fuses_what_is_received_and_sent_on) {
  const auto topology = make_topology(pair_of(4));
  CollectiveRequest r;
  r.bytes = 4096;
  r.algorithm = "ring";
  const auto plan = plan_collective(**topology, r);
  const auto programs = channel_programs(plan->schedule, false);
  ASSERT_EQ(programs.size(), 4u);
  ASSERT_EQ(programs[0].segments.size(), 1u);
  const auto& a = programs[0].segments[0];
  ASSERT_EQ(a.size(),
            7u);  // send; receive, reduce, send (2); ... copy too; receive, copy, send (2)
  EXPECT_EQ(a[0].in, kNoTransfer);
  EXPECT_EQ(a[1].reads, 2);
  EXPECT_EQ(a[1].writes, 0);
  EXPECT_EQ(a[3].reads, 2);
  EXPECT_EQ(a[3].writes, 1);
  EXPECT_EQ(a[4].reads, 1);
  EXPECT_EQ(a[6].out, kNoTransfer);
}

TEST(ChannelRun, sends_and_receives_one_after_another_in_one_core) {
  // All-gather of two: a core sends 64 KiB at 1 GB/s (its own copy is written meanwhile), then
  // copies as much out of its buffer (a read and a write at 4 GB/s).
  const double t = seconds(pair_of(2), Collective::kAllGather, 128 << 10, "ring", Kind::kRing);
  const double bytes = 64 << 10;
  const double want = bytes / 1e9 + 2 * bytes / 4e9;
  EXPECT_NEAR(t, want, 0.03 * want);
}

TEST(ChannelRun, exchanges_both_ways_at_once) {
  const double t = seconds(pair_of(2), Collective::kPermute, 64 << 10, "direct", Kind::kExchange);
  const double want = (64 << 10) / 1e9 + 2.0 * (8 << 10) / 4e9;  // and the last slice's copy
  EXPECT_NEAR(t, want, 0.03 * want);
}

TEST(ChannelRun, sends_flags_in_the_data_of_small_messages) {
  NetworkParams p = pair_of(2);
  p.endpoint.fine_below = 1 << 20;
  p.endpoint.fine_step = 4 << 10;
  p.endpoint.fine_bandwidth = 2e9;
  p.endpoint.fine_payload = 0.5;
  p.endpoint.slice_ns = 1e6;  // not paid
  const double t = seconds(p, Collective::kAllGather, 128 << 10, "ring", Kind::kRing);
  const double bytes = 64 << 10;
  const double want = 2 * bytes / 1e9 + 2 * bytes / 2e9;
  EXPECT_NEAR(t, want, 0.05 * want);
}

TEST(ChannelRun, ends_for_every_collective_and_algorithm) {
  for (const std::int64_t chips : {2, 3, 4, 8})
    for (const Collective op :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
          Collective::kAllToAll, Collective::kBroadcast, Collective::kPermute})
      for (const std::string& algorithm : algorithms(op)) {
        NetworkParams p = pair_of(chips);
        p.endpoint.channels = 2;
        const bool apart =
            op != Collective::kBroadcast && (algorithm == "direct" || algorithm == "torus");
        seconds(p, op, static_cast<std::uint64_t>(chips) * 96 << 10, algorithm,
                apart ? Kind::kExchange : Kind::kChain);
      }
}

}  // namespace
}  // namespace xpusim::network
