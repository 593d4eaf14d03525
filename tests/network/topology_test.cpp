#include "models/network/topology.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace xpusim::network {
namespace {

NetworkParams torus(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t wrap) {
  NetworkParams p;
  p.torus = {x, y, z, 64, 64, 64, wrap, {}};
  return p;
}

std::unique_ptr<Topology> made(const NetworkParams& p) {
  auto t = make_topology(p);
  EXPECT_TRUE(t) << t.error().str();
  return std::move(*t);
}

std::string error_of(const NetworkParams& p) {
  auto t = make_topology(p);
  return t ? "" : t.error().str();
}

TEST(Topology, closes_an_axis_only_where_the_generation_does) {
  EXPECT_TRUE(made(torus(16, 16, 1, 16))->axes()[0].closed);
  const auto slice = made(torus(4, 16, 1, 16));
  EXPECT_FALSE(slice->axes()[0].closed);
  EXPECT_TRUE(slice->axes()[1].closed);
  EXPECT_TRUE(made(torus(4, 8, 12, 4))->axes()[2].closed);
  EXPECT_FALSE(made(torus(2, 2, 4, 4))->axes()[0].closed);
}

TEST(Topology, has_two_wires_for_each_link) {
  EXPECT_EQ(made(torus(16, 16, 1, 16))->wires().size(), 256u * 2 * 2);
  EXPECT_EQ(made(torus(4, 4, 1, 16))->wires().size(), 2u * 2 * 3 * 4);
  EXPECT_EQ(made(torus(4, 4, 4, 4))->wires().size(), 64u * 3 * 2);
}

TEST(Topology, follows_the_dimensions_in_order) {
  const auto t = made(torus(4, 4, 1, 16));
  const Route r = t->routes(0, 10)[0];  // (0,0) to (2,2)
  ASSERT_EQ(r.hops.size(), 4u);
  EXPECT_EQ(t->wires()[r.hops[1].wire].to, 2u);
  EXPECT_EQ(t->wires()[r.hops[2].wire].to, 6u);
}

TEST(Topology, changes_the_channel_at_the_end_of_a_closed_axis) {
  const auto t = made(torus(16, 1, 1, 16));
  const Route r = t->routes(14, 2)[0];
  ASSERT_EQ(r.hops.size(), 4u);
  EXPECT_EQ(r.hops[0].channel, 0);
  EXPECT_EQ(r.hops[1].channel, 1);
  EXPECT_EQ(r.hops[3].channel, 1);
}

TEST(Topology, goes_round_a_link_that_is_down) {
  NetworkParams p = torus(4, 4, 1, 16);
  p.down = {"1-2"};
  const auto t = made(p);
  const Route r = t->routes(0, 3)[0];
  EXPECT_EQ(r.hops.size(), 5u);
  for (const Hop& h : r.hops) {
    EXPECT_TRUE(t->wires()[h.wire].up);
    EXPECT_EQ(h.channel, kDetourChannel);
  }
  EXPECT_EQ(t->routes(0, 1)[0].hops[0].channel, 0);  // as ever
}

TEST(Topology, reaches_every_chip_from_every_chip_with_links_down) {
  NetworkParams p = torus(4, 4, 4, 4);
  p.down = {"0-1", "0-4", "0-16", "5-6", "21-37"};
  const auto t = made(p);
  for (std::uint32_t a = 0; a < 64; ++a)
    for (std::uint32_t b = 0; b < 64; ++b) {
      if (a == b) continue;
      const auto routes = t->routes(a, b);
      ASSERT_EQ(routes.size(), 1u);
      std::uint32_t at = a;
      for (const Hop& h : routes[0].hops) {
        EXPECT_EQ(t->wires()[h.wire].from, at);
        EXPECT_TRUE(t->wires()[h.wire].up);
        at = t->wires()[h.wire].to;
      }
      EXPECT_EQ(at, b);
    }
}

TEST(Topology, refuses_by_name_what_falls_apart) {
  NetworkParams p = torus(4, 1, 1, 16);
  p.down = {"1-2"};
  EXPECT_NE(error_of(p).find("nothing goes from chip(0,0) to chip(2,0)"), std::string::npos)
      << error_of(p);
}

TEST(Topology, names_a_link_that_is_none) {
  NetworkParams p = torus(4, 4, 1, 16);
  p.down = {"0-5"};
  EXPECT_NE(error_of(p).find("no link joins chip(0,0) and chip(1,1)"), std::string::npos);
  p.down = {"0-99"};
  EXPECT_NE(error_of(p).find("'99' in '0-99'"), std::string::npos);
  p.down = {"zero"};
  EXPECT_NE(error_of(p).find("is no link"), std::string::npos);
}

TEST(Topology, refuses_more_chips_than_a_pod_has) {
  NetworkParams p;
  p.torus.x = 17;
  EXPECT_NE(error_of(p).find("network.torus.x: 17 chips"), std::string::npos);
}

TEST(Topology, refuses_a_ring_chunk_that_is_not_whole_slices) {
  NetworkParams p;
  p.endpoint.ring_chunk = 1;
  p.endpoint.ring_slice = 2;
  EXPECT_NE(error_of(p).find("ring_chunk: 1 steps are not whole slices of 2"), std::string::npos);
}

TEST(Topology, refuses_a_chunk_that_no_buffer_holds) {
  NetworkParams p;
  p.chunk = 1 << 20;
  EXPECT_NE(error_of(p).find("network.chunk"), std::string::npos);
}

TEST(Topology, shares_a_chips_lanes_out_to_its_switches) {
  NetworkParams p;
  p.topology = "switched";
  p.switched.link.lanes = 18;
  const auto t = made(p);
  const auto routes = t->routes(0, 7);
  ASSERT_EQ(routes.size(), 4u);
  std::uint32_t lanes = 0;
  for (const Route& r : routes) lanes += r.lanes;
  EXPECT_EQ(lanes, 18u);
}

TEST(Topology, does_without_a_switch_that_a_chip_cannot_reach) {
  NetworkParams p;
  p.topology = "switched";
  p.switched.link.lanes = 18;
  p.down = {"3-s1"};
  const auto t = made(p);
  EXPECT_EQ(t->routes(0, 3).size(), 3u);
  EXPECT_EQ(t->routes(0, 2).size(), 4u);
}

TEST(Topology, crosses_nodes_by_the_rail_or_over_the_spine) {
  NetworkParams p;
  p.topology = "switched";
  p.switched.nodes = 4;
  p.switched.link.lanes = 18;
  const auto t = made(p);
  EXPECT_EQ(t->chips(), 32u);
  EXPECT_EQ(t->routes(1, 9)[0].hops.size(), 2u);   // chip 1 of node 1
  EXPECT_EQ(t->routes(1, 10)[0].hops.size(), 4u);  // another rail
}

}  // namespace
}  // namespace xpusim::network
