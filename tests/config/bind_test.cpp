#include <gtest/gtest.h>

#include <tuple>

#include "sim/config/tree.h"

namespace xpusim::config {
namespace {

struct CacheParams {
  std::int64_t size = 50 << 20;
  std::uint64_t ways = 16;
  static constexpr auto schema() {
    return std::tuple{field("size", &CacheParams::size, Unit::kBytes, "data bytes", 1024, 1e9),
                      field("ways", &CacheParams::ways, Unit::kCount, "associativity", 1, 64)};
  }
};

struct ChipParams {
  double clock = 1.5e9;
  double bandwidth = 4.8e12;
  int sms = 132;
  bool ecc = true;
  std::string policy = "lru";
  std::vector<int> dims = {4, 4};
  std::optional<double> price;
  CacheParams l2;
  static constexpr auto schema() {
    return std::tuple{
        field("clock", &ChipParams::clock, Unit::kHertz, "core clock", 1e8, 5e9),
        field("bandwidth", &ChipParams::bandwidth, Unit::kBytesPerSecond, "memory bandwidth", 1e9),
        field("sms", &ChipParams::sms, Unit::kCount, "multiprocessors", 1, 1024),
        field("ecc", &ChipParams::ecc, Unit::kNone, "error correction"),
        field("policy", &ChipParams::policy, Unit::kNone, "replacement"),
        field("dims", &ChipParams::dims, Unit::kCount, "torus", 1, 64),
        field("price", &ChipParams::price, Unit::kDollarsPerHour, "rent", 0, 1e3),
        group("l2", &ChipParams::l2, "level-two cache")};
  }
};

struct Bound {
  ChipParams params;
  Diagnostics problems;
};

Bound bind_text(const std::string& text) {
  Bound b;
  auto node = read_yaml(text, "chip.yaml");
  if (!node) {
    b.problems = node.error();
  } else {
    config::bind(&*node, "gpu", b.params, b.problems);
  }
  return b;
}

TEST(Bind, FillsEveryTypeFromYaml) {
  const Bound b = bind_text(
      "clock: 1.755 GHz\nbandwidth: 3.35 TB/s\nsms: 16\necc: false\npolicy: random\n"
      "dims: [2, 8]\nprice: 2.5 USD/h\nl2: {size: 228 KiB, ways: 8}\n");
  EXPECT_EQ(b.problems.str(), "");
  EXPECT_EQ(b.params.clock, 1.755e9);
  EXPECT_EQ(b.params.bandwidth, 3.35e12);
  EXPECT_EQ(b.params.sms, 16);
  EXPECT_FALSE(b.params.ecc);
  EXPECT_EQ(b.params.policy, "random");
  EXPECT_EQ(b.params.dims, (std::vector<int>{2, 8}));
  EXPECT_EQ(b.params.price, 2.5);
  EXPECT_EQ(b.params.l2.size, 228 * 1024);
  EXPECT_EQ(b.params.l2.ways, 8u);
}

TEST(Bind, KeepsDefaultsWithoutANode) {
  ChipParams p;
  Diagnostics problems;
  config::bind(nullptr, "gpu", p, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(p.sms, 132);
}

TEST(Bind, ReportsAllProblemsAtOnceWithPositions) {
  const Bound b = bind_text("clock: 1755\nsms: 0\nl2:\n  wayz: 4\n  size: 30 ns\n");
  EXPECT_EQ(b.problems.str(),
            "chip.yaml:1:8: error: gpu.clock: '1755' has no unit; write it with a unit, such as "
            "1.755 GHz\n"
            "chip.yaml:2:6: error: gpu.sms: 0 is out of range; allowed: 1 to 1024\n"
            "chip.yaml:5:9: error: gpu.l2.size: '30 ns' is a time, but a size is expected, such as "
            "228 KiB\n"
            "chip.yaml:4:3: error: unknown parameter 'gpu.l2.wayz'; did you mean 'ways'?\n");
}

TEST(Document, ListsPathUnitRangeDefaultAndDoc) {
  std::vector<ParamDoc> docs;
  document<ChipParams>("gpu", docs);
  ASSERT_EQ(docs.size(), 9u);
  EXPECT_EQ(docs[0].path, "gpu.clock");
  EXPECT_EQ(docs[0].unit, "Hz");
  EXPECT_EQ(docs[0].range, "100 MHz to 5 GHz");
  EXPECT_EQ(docs[0].default_value, "1.5 GHz");
  EXPECT_EQ(docs[5].default_value, "[4, 4]");
  EXPECT_EQ(docs[6].default_value, "none");
  EXPECT_EQ(docs[7].path, "gpu.l2.size");
  EXPECT_EQ(docs[7].default_value, "50 MiB");
  EXPECT_EQ(docs[8].doc, "associativity");
}

}  // namespace
}  // namespace xpusim::config
