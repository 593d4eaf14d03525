#include "models/network/fabric.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "sim/engine/scheduler.h"
#include "sim/engine/system.h"

namespace xpusim::network {
namespace {

using engine::Cycle;

/// Remembers what a chip was told.
struct Chip : engine::Component {
  struct Event {
    std::uint16_t kind;
    std::uint64_t tag;
    Cycle at;
  };
  Cycle tick(Cycle) override { return engine::kNever; }
  Cycle receive(const engine::Message& m, Cycle now) override {
    events.push_back({m.kind, m.data, now});
    return engine::kNever;
  }
  Cycle when(std::uint16_t kind, std::uint64_t tag) const {
    for (const Event& e : events)
      if (e.kind == kind && e.tag == tag) return e.at;
    return engine::kNever;
  }
  std::vector<Event> events;
};

/// A line or ring of chips whose links carry a byte a cycle; packets of 64 bytes and a header of
/// 16, in flits of 16.
NetworkParams line(std::int64_t chips, std::int64_t buffer = 4096) {
  NetworkParams p;
  p.chunk = 640;
  p.torus.x = chips;
  p.torus.y = p.torus.z = 1;
  p.torus.largest_x = 1024;
  p.torus.link = {1e9, 1, 10, 16, 64, 16, buffer, 1};
  return p;
}

class FabricTest : public testing::Test {
 protected:
  void build(const NetworkParams& params) {
    engine::fresh_simulation();
    auto made = make_topology(params);
    ASSERT_TRUE(made) << made.error().str();
    topology = std::move(*made);
    fabric = std::make_unique<Fabric>("network", scheduler, *topology, params);
    chips.resize(topology->chips());
    for (std::uint32_t i = 0; i < chips.size(); ++i) fabric->attach(i, scheduler.add(chips[i]));
  }
  void send(std::uint32_t from, std::uint32_t to, std::uint32_t bytes, std::uint64_t tag,
            Cycle at = 0) {
    fabric->send(fabric->connect(from, to), bytes, tag, scheduler.clock().edge(at));
  }
  const WireCounters& counters(const std::string& name) const {
    for (std::uint32_t w = 0; w < topology->wires().size(); ++w)
      if (topology->wire_name(w) == name) return fabric->counters(w);
    ADD_FAILURE() << "no wire " << name;
    return fabric->counters(0);
  }
  engine::Scheduler scheduler{engine::Clock(1'000'000'000)};
  std::unique_ptr<Topology> topology;
  std::unique_ptr<Fabric> fabric;
  std::vector<Chip> chips;
};

TEST_F(FabricTest, delivers_a_packet_over_one_hop_after_its_latency_and_its_bytes) {
  build(line(3));
  send(0, 1, 64, 7);
  scheduler.run_until(1000);
  EXPECT_EQ(chips[0].when(kSent, 7), 80u);  // 64 and a header of 16, a byte a cycle
  EXPECT_EQ(chips[1].when(kArrived, 7), 80u + 10u);
}

TEST_F(FabricTest, fills_up_the_last_flit_of_each_packet) {
  build(line(3));
  send(0, 1, 65, 1);  // 64 + 16, then 1 + 16 in two flits of 16
  scheduler.run_until(1000);
  EXPECT_EQ(chips[1].when(kArrived, 1), 80u + 32u + 10u);
  EXPECT_EQ(counters("chip(0,0)->chip(1,0)").bytes, 65u);
  EXPECT_EQ(counters("chip(0,0)->chip(1,0)").wire_bytes, 112u);
}

TEST_F(FabricTest, cuts_through_a_router_without_waiting_for_the_tail) {
  build(line(3));
  send(0, 2, 64, 1);
  scheduler.run_until(1000);
  EXPECT_EQ(chips[2].when(kArrived, 1), 10u + 10u + 80u);
}

TEST_F(FabricTest, lets_two_flows_share_a_link_chunk_by_chunk) {
  build(line(3));
  send(0, 2, 640, 1);  // 800 on the wire
  send(1, 2, 640, 2);  // takes the link 1->2 at once; the other one's head comes at 10
  scheduler.run_until(10000);
  EXPECT_EQ(chips[2].when(kArrived, 2), 800u + 10u);
  EXPECT_EQ(chips[2].when(kArrived, 1), 1600u + 10u);
  EXPECT_EQ(counters("chip(1,0)->chip(2,0)").waited, 790'000'000u);
  EXPECT_EQ(counters("chip(1,0)->chip(2,0)").busy, 1600'000'000u);
}

TEST_F(FabricTest, does_not_let_directions_of_a_link_disturb_each_other) {
  build(line(2));
  send(0, 1, 640, 1);
  send(1, 0, 640, 2);
  scheduler.run_until(10000);
  EXPECT_EQ(chips[1].when(kArrived, 1), 810u);
  EXPECT_EQ(chips[0].when(kArrived, 2), 810u);
}

TEST_F(FabricTest, holds_a_chunk_until_there_is_room_for_it) {
  build(line(2, 960));  // room for one chunk of 800
  send(0, 1, 640, 1);
  send(0, 1, 640, 2);
  scheduler.run_until(10000);
  EXPECT_EQ(chips[1].when(kArrived, 1), 810u);
  // The chip has taken the first one at 810; its credit is back at 820.
  EXPECT_EQ(chips[1].when(kArrived, 2), 820u + 810u);
  EXPECT_EQ(counters("chip(0,0)->chip(1,0)").credit_wait, 20'000'000u);
}

TEST_F(FabricTest, keeps_a_stalled_flow_from_overfilling_the_router_behind_it) {
  build(line(3, 960));
  send(1, 2, 640, 1);
  send(1, 2, 640, 2);
  send(0, 2, 640, 3);
  send(0, 2, 640, 4);
  scheduler.run_until(100000);
  // 1->2: chip 1's first at 0, then 3 at 820 (credit), which only passes through, so before chip
  // 1's second; its credit frees 0->1 for 4, which is there at 1640 and goes before that one too.
  EXPECT_EQ(chips[2].when(kArrived, 3), 820u + 810u);
  EXPECT_EQ(chips[2].when(kArrived, 4), 1640u + 810u);
  EXPECT_EQ(chips[2].when(kArrived, 2), 1640u + 820u + 810u);
  EXPECT_EQ(chips[0].when(kSent, 3), 800u);
  EXPECT_EQ(chips[0].when(kSent, 4), 820u + 800u + 10u + 800u);
}

TEST_F(FabricTest, follows_a_slow_link_without_gaps_in_the_tail) {
  NetworkParams p;
  p.topology = "switched";
  p.chunk = 640;
  p.switched.nodes = 2;
  p.switched.chips = 1;
  p.switched.switches = 1;
  p.switched.link = p.switched.spine = {4e9, 1, 10, 16, 64, 16, 4096, 1};
  p.switched.rail = {1e9, 1, 10, 16, 64, 16, 4096, 1};
  p.switched.spine = {4e9, 1, 10, 16, 64, 16, 4096, 1};
  p.switched.chips = 2;
  build(p);
  send(0, 3, 640, 1);  // rail (800 cycles), spine (200) twice, rail
  scheduler.run_until(10000);
  // The spine's head leaves when its tail can follow: 800 - 200 later than the rail's.
  EXPECT_EQ(chips[3].when(kArrived, 1), 600u + 10u + 10u + 10u + 800u + 10u);
}

TEST_F(FabricTest, takes_all_switches_of_a_node_at_once) {
  NetworkParams p;
  p.topology = "switched";
  p.chunk = 720;
  p.switched.chips = 8;
  p.switched.switches = 4;
  p.switched.link = {1e9, 18, 10, 8, 720, 0, 4096, 1};
  build(p);
  send(0, 5, 720, 1);
  scheduler.run_until(1000);
  EXPECT_EQ(chips[5].when(kArrived, 1), 40u + 20u);         // 720 bytes over 18 lanes, two hops
  EXPECT_EQ(counters("chip0->node0.switch0").bytes, 200u);  // 5 lanes of 18
  EXPECT_EQ(counters("chip0->node0.switch3").bytes, 160u);
}

TEST_F(FabricTest, goes_round_a_ring_the_shorter_way) {
  NetworkParams p = line(16);
  build(p);
  send(0, 15, 64, 1);
  send(1, 13, 64, 2);
  scheduler.run_until(1000);
  EXPECT_EQ(chips[15].when(kArrived, 1), 90u);
  EXPECT_EQ(fabric->hops(fabric->connect(1, 13)), 4u);
  EXPECT_EQ(fabric->hops(fabric->connect(0, 8)), 8u);
}

TEST_F(FabricTest, never_deadlocks_a_full_ring) {
  build(line(16, 960));  // every chip sends half way round, through buffers of one chunk
  for (std::uint32_t round = 0; round < 4; ++round)
    for (std::uint32_t i = 0; i < 16; ++i) send(i, (i + 8) % 16, 640, i + 16 * round);
  scheduler.run_until(1'000'000);
  EXPECT_EQ(fabric->in_flight(), 0u);
}

TEST_F(FabricTest, conserves_bytes_at_every_router) {
  NetworkParams p = line(4, 960);
  p.torus.y = p.torus.z = 4;
  p.torus.largest_y = p.torus.largest_z = 4;
  p.torus.wrap_multiple = 4;
  build(p);
  std::map<std::uint32_t, std::int64_t> sent, got;
  for (std::uint32_t a = 0; a < 64; ++a)
    for (std::uint32_t b = 0; b < 64; ++b) {
      if (a == b) continue;
      send(a, b, 100 + b, a * 64 + b);
      sent[a] += 100 + b;
      got[b] += 100 + b;
    }
  scheduler.run_until(10'000'000);
  EXPECT_EQ(fabric->in_flight(), 0u);
  for (std::uint32_t w = 0; w < topology->wires().size(); ++w) {
    const auto bytes = static_cast<std::int64_t>(fabric->counters(w).bytes);
    sent[topology->wires()[w].from] -= bytes;
    got[topology->wires()[w].to] -= bytes;
  }
  for (std::uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(sent[i], got[i]) << i;  // both: minus what passed
}

TEST_F(FabricTest, does_not_depend_on_which_cycles_are_skipped) {
  std::vector<Cycle> arrivals[2];
  for (int mode = 0; mode < 2; ++mode) {
    engine::fresh_simulation();
    engine::Scheduler s(engine::Clock(1'000'000'000), mode == 0
                                                          ? engine::Scheduler::Mode::kSkip
                                                          : engine::Scheduler::Mode::kTickAll);
    const NetworkParams p = line(16, 960);
    auto t = make_topology(p);
    Fabric f("network", s, **t, p);
    std::vector<Chip> ends(16);
    for (std::uint32_t i = 0; i < 16; ++i) f.attach(i, s.add(ends[i]));
    for (std::uint32_t i = 0; i < 64; ++i) {
      const std::uint32_t from = i % 16, to = (i * 7 + 3) % 16;
      f.send(f.connect(from, to == from ? (to + 1) % 16 : to), 33 + i, i, 0);
    }
    s.run_until(100'000);
    for (const Chip& c : ends)
      for (const auto& e : c.events) arrivals[mode].push_back(e.at);
  }
  EXPECT_EQ(arrivals[0], arrivals[1]);
}

}  // namespace
}  // namespace xpusim::network
