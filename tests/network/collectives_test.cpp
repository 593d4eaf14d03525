#include <gtest/gtest.h>

#include <cstring>

#include "models/network/collectives/interpreter.h"
#include "models/network/collectives/mesh.h"
#include "models/network/collectives/plan.h"

namespace xpusim::network {
namespace {

using Values = std::vector<std::int64_t>;

NetworkParams torus(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t wrap) {
  NetworkParams p;
  p.torus = {x, y, z, 64, 64, 64, wrap, {}};
  return p;
}
NetworkParams switched(std::int64_t nodes, std::int64_t chips) {
  NetworkParams p;
  p.topology = "switched";
  p.switched.nodes = nodes;
  p.switched.chips = chips;
  p.switched.link.lanes = 18;
  return p;
}

void add(std::span<std::byte> sum, std::span<const std::byte> addend) {
  for (std::size_t i = 0; i + 8 <= sum.size(); i += 8) {
    std::int64_t a = 0, b = 0;
    std::memcpy(&a, sum.data() + i, 8);
    std::memcpy(&b, addend.data() + i, 8);
    a += b;
    std::memcpy(sum.data() + i, &a, 8);
  }
}

/// Element i of a chip's input: tells chip and place apart.
std::int64_t value(std::uint32_t chip, std::size_t i) {
  return static_cast<std::int64_t>(chip) * 1'000'003 + static_cast<std::int64_t>(i) * 17 + 1;
}

std::vector<std::byte> bytes_of(const Values& v) {
  std::vector<std::byte> out(v.size() * 8);
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}
Values values_of(const std::vector<std::byte>& b) {
  Values out(b.size() / 8);
  std::memcpy(out.data(), b.data(), b.size());
  return out;
}

struct Case {
  const char* name;
  NetworkParams params;
};

std::vector<Case> networks() {
  return {{"ring of 4", torus(4, 1, 1, 4)},      {"line of 3", torus(3, 1, 1, 16)},
          {"line of 5", torus(5, 1, 1, 16)},     {"pair", torus(2, 1, 1, 16)},
          {"4x4 torus", torus(4, 4, 1, 4)},      {"3x5 mesh", torus(3, 5, 1, 16)},
          {"4x2x3", torus(4, 2, 3, 4)},          {"4x4x4", torus(4, 4, 4, 4)},
          {"8 behind switches", switched(1, 8)}, {"7 behind switches", switched(1, 7)},
          {"3 nodes of 4", switched(3, 4)}};
}

/// What member `p` of a group must have at the end.
Values expected(const CollectiveRequest& r, const Group& group, std::uint32_t p) {
  const std::size_t n = group.size(), count = r.bytes / 8, block = count / n;
  Values out;
  switch (r.op) {
    case Collective::kAllReduce:
    case Collective::kReduceScatter: {
      const bool scatter = r.op == Collective::kReduceScatter;
      for (std::size_t i = scatter ? p * block : 0; i < (scatter ? (p + 1) * block : count); ++i) {
        out.push_back(0);
        for (const std::uint32_t chip : group) out.back() += value(chip, i);
      }
      break;
    }
    case Collective::kAllGather:
      for (const std::uint32_t chip : group)
        for (std::size_t i = 0; i < block; ++i) out.push_back(value(chip, i));
      break;
    case Collective::kAllToAll:
      for (const std::uint32_t chip : group)
        for (std::size_t i = 0; i < block; ++i) out.push_back(value(chip, p * block + i));
      break;
    case Collective::kBroadcast:
      for (std::size_t i = 0; i < count; ++i) out.push_back(value(group[r.root], i));
      break;
    case Collective::kPermute: {
      const auto m = static_cast<std::int64_t>(n);
      const std::int64_t from = ((std::int64_t{p} - r.shift) % m + m) % m;
      for (std::size_t i = 0; i < count; ++i)
        out.push_back(value(group[static_cast<std::size_t>(from)], i));
      break;
    }
  }
  return out;
}

std::vector<ChipMemory> inputs(const CollectiveRequest& r, std::uint32_t chips, std::size_t n) {
  std::vector<ChipMemory> out(chips);
  const std::size_t count = r.bytes / 8;
  const bool small_in = r.op == Collective::kAllGather;
  const bool small_out = r.op == Collective::kReduceScatter;
  for (std::uint32_t c = 0; c < chips; ++c) {
    Values v;
    for (std::size_t i = 0; i < (small_in ? count / n : count); ++i) v.push_back(value(c, i));
    out[c].input = bytes_of(v);
    out[c].output.resize((small_out ? count / n : count) * 8);
  }
  return out;
}

void check(const Case& c, CollectiveRequest r) {
  auto topology = make_topology(c.params);
  ASSERT_TRUE(topology) << topology.error().str();
  const Mesh mesh(**topology, r.axes);
  const std::size_t n = mesh.group_size();
  r.element = 8;
  const bool any = r.op == Collective::kAllReduce || r.op == Collective::kBroadcast ||
                   r.op == Collective::kPermute;
  r.bytes = 8 * (any ? 37 : 3 * n);  // 37: divides by no number of chips
  auto plan = plan_collective(**topology, r);
  ASSERT_TRUE(plan) << plan.error().str();
  auto chips = inputs(r, (*topology)->chips(), n);
  interpret(plan->schedule, chips, add);
  for (const Group& group : mesh.groups())
    for (std::uint32_t p = 0; p < n; ++p)
      ASSERT_EQ(values_of(chips[group[p]].output), expected(r, group, p))
          << c.name << ", " << name(r.op) << " by " << r.algorithm << ", chip " << group[p];
}

class Collectives : public testing::TestWithParam<Collective> {};

TEST_P(Collectives, have_right_values_by_every_algorithm_on_every_network) {
  for (const Case& c : networks())
    for (const std::string& algorithm : algorithms(GetParam()))
      for (const std::uint32_t channels : {1u, 3u}) {
        CollectiveRequest r;
        r.op = GetParam();
        r.algorithm = algorithm;
        r.channels = channels;
        check(c, r);
      }
}

TEST_P(Collectives, have_right_values_over_some_of_the_axes) {
  for (const auto& axes : std::vector<std::vector<std::string>>{{"x"}, {"y"}, {"x", "z"}})
    for (const std::string& algorithm : algorithms(GetParam())) {
      CollectiveRequest r;
      r.op = GetParam();
      r.algorithm = algorithm;
      r.axes = axes;
      r.root = 1;
      r.shift = -1;
      check({"4x2x3", torus(4, 2, 3, 4)}, r);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Collectives,
                         testing::Values(Collective::kAllReduce, Collective::kAllGather,
                                         Collective::kReduceScatter, Collective::kAllToAll,
                                         Collective::kBroadcast, Collective::kPermute),
                         [](const auto& param) { return std::string(name(param.param)); });

CollectiveRequest all_reduce(std::uint64_t bytes) {
  CollectiveRequest r;
  r.bytes = bytes;
  return r;
}

TEST(Plan, takes_the_torus_for_much_data_and_few_steps_for_little) {
  const auto t = make_topology(torus(16, 16, 1, 16));
  EXPECT_EQ(plan_collective(**t, all_reduce(1 << 28))->algorithm, "torus");
  const auto little = plan_collective(**t, all_reduce(1024));
  EXPECT_NE(little->algorithm, "ring");
  EXPECT_NE(little->reason.find("the least estimate"), std::string::npos);
}

TEST(Plan, says_so_where_every_algorithm_has_too_many_steps) {
  const auto t = make_topology(torus(16, 20, 28, 4));
  CollectiveRequest r = all_reduce(16 * 20 * 28 * 64);
  r.op = Collective::kAllToAll;
  const auto plan = plan_collective(**t, r);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().str().find("too many steps"), std::string::npos);
  r.op = Collective::kPermute;  // a transfer a chip
  EXPECT_EQ(plan_collective(**t, r)->algorithm, "direct");
}

TEST(Plan, names_what_is_wrong) {
  const auto t = make_topology(torus(4, 4, 1, 4));
  CollectiveRequest r = all_reduce(1024);
  r.axes = {"w"};
  EXPECT_NE(plan_collective(**t, r).error().str().find("no axis 'w'"), std::string::npos);
  r.axes = {};
  r.algorithm = "rign";
  EXPECT_NE(plan_collective(**t, r).error().str().find("did you mean 'ring'"), std::string::npos);
  r.algorithm = "ring";
  r.op = Collective::kAllGather;
  r.bytes = 4 * 17;
  EXPECT_NE(plan_collective(**t, r).error().str().find("do not divide"), std::string::npos);
}

TEST(Plan, knows_the_bandwidth_bound) {
  NetworkParams p = torus(16, 16, 1, 16);
  p.torus.link.bandwidth = 45e9;
  const auto t = make_topology(p);
  const auto plan = plan_collective(**t, all_reduce(1 << 30));
  EXPECT_NEAR(plan->bound_seconds, 2.0 * 255 / 256 * (1 << 30) / (4 * 45e9), 1e-9);
}

}  // namespace
}  // namespace xpusim::network
