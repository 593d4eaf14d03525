#include <gtest/gtest.h>

#include <limits>
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

struct Numbers {
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  int i32 = 0;
  std::uint32_t u32 = 0;
  double real = 0;
  std::uint64_t bytes = 0;
  std::int64_t hertz = 0;
  bool flag = false;
  std::string text;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> words;
  std::vector<double> ratios;
  std::optional<std::string> note;
  static constexpr auto schema() {
    return std::tuple{field("i64", &Numbers::i64, Unit::kCount, ""),
                      field("u64", &Numbers::u64, Unit::kCount, ""),
                      field("i32", &Numbers::i32, Unit::kCount, ""),
                      field("u32", &Numbers::u32, Unit::kCount, ""),
                      field("real", &Numbers::real, Unit::kRatio, "", 0, 1),
                      field("bytes", &Numbers::bytes, Unit::kBytes, ""),
                      field("hertz", &Numbers::hertz, Unit::kHertz, ""),
                      field("flag", &Numbers::flag, Unit::kNone, ""),
                      field("text", &Numbers::text, Unit::kNone, ""),
                      field("sizes", &Numbers::sizes, Unit::kBytes, "", 1, 1e6),
                      field("words", &Numbers::words, Unit::kNone, ""),
                      field("ratios", &Numbers::ratios, Unit::kRatio, "", 0, 1),
                      field("note", &Numbers::note, Unit::kNone, "")};
  }
};

struct BoundNumbers {
  Numbers values;
  std::string problems;
};

BoundNumbers bind_numbers(const std::string& text) {
  BoundNumbers b;
  Diagnostics problems;
  auto node = read_yaml(text, "f");
  if (!node) {
    problems = node.error();
  } else {
    config::bind(&*node, "", b.values, problems);
  }
  b.problems = problems.str();
  return b;
}

TEST(Bind, HoldsTheLargestAndSmallestIntegersExactly) {
  const BoundNumbers b = bind_numbers(
      "i64: -9223372036854775808\nu64: 18446744073709551615\ni32: -2147483648\n"
      "u32: 0xffffffff\n");
  EXPECT_EQ(b.problems, "");
  EXPECT_EQ(b.values.i64, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(b.values.u64, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(b.values.i32, std::numeric_limits<int>::min());
  EXPECT_EQ(b.values.u32, 0xffffffffu);
  EXPECT_EQ(bind_numbers("i64: 9007199254740993").values.i64, 9007199254740993);  // 2^53 + 1
}

TEST(Bind, ReadsWholeQuantitiesIntoIntegers) {
  const BoundNumbers b = bind_numbers("bytes: 1.5 KiB\nhertz: 1.755 GHz\ni64: 1e6\n");
  EXPECT_EQ(b.problems, "");
  EXPECT_EQ(b.values.bytes, 1536u);
  EXPECT_EQ(b.values.hertz, 1755000000);
  EXPECT_EQ(b.values.i64, 1000000);
}

TEST(Bind, ReadsListsAndOptionals) {
  const BoundNumbers b =
      bind_numbers("sizes: [1 KiB, 2 KiB]\nwords: [a, 'b c', 1]\nratios: [0.5, 25 %]\nnote: x\n");
  EXPECT_EQ(b.problems, "");
  EXPECT_EQ(b.values.sizes, (std::vector<std::int64_t>{1024, 2048}));
  EXPECT_EQ(b.values.words, (std::vector<std::string>{"a", "b c", "1"}));
  EXPECT_EQ(b.values.ratios, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(b.values.note, "x");
  EXPECT_EQ(bind_numbers("text: ''").problems, "");
  EXPECT_EQ(bind_numbers("text: 12").values.text, "12");
}

struct BadValue {
  const char* text;
  const char* message;
};

TEST(Bind, RefusesValuesWithThisMessage) {
  const BadValue cases[] = {
      {"i64: 9223372036854775808", "f:1:6: error: i64: 9223372036854775808 is too large\n"},
      {"i64: -9223372036854775809", "f:1:6: error: i64: -9223372036854775809 is too large\n"},
      {"u64: -1", "f:1:6: error: u64: -1 is negative\n"},
      {"u64: 18446744073709551616", "f:1:6: error: u64: 18446744073709551616 is too large\n"},
      {"i32: 2147483648", "f:1:6: error: i32: 2147483648 is too large\n"},
      {"u32: 1e30", "f:1:6: error: u32: 1e30 is too large\n"},
      {"i32: 1.5", "f:1:6: error: i32: 1.5 is not a whole number\n"},
      {"i32: '010'", "f:1:6: error: i32: '010' is not a count; write it like 16\n"},
      {"i32: 0o10", "f:1:6: error: i32: unknown unit 'o10'\n"},
      {"i32: many", "f:1:6: error: i32: 'many' is not a count; write it like 16\n"},
      {"i64: 1\ni32:", "f:2:1: error: i32: a count is expected, but nothing is given\n"},
      {"i32: [1]", "f:1:6: error: i32: a count is expected, but a list is given\n"},
      {"i32: {a: 1}", "f:1:6: error: i32: a count is expected, but a map is given\n"},
      {"real: 1.01", "f:1:7: error: real: 1.01 is out of range; allowed: 0 to 1\n"},
      {"real: .nan", "f:1:7: error: real: '.nan' is not a ratio; write it like 0.85\n"},
      {"bytes: 64",
       "f:1:8: error: bytes: '64' has no unit; write it with a unit, such as 228 KiB\n"},
      {"bytes: 0.3 B", "f:1:8: error: bytes: 0.3 B is not a whole number of B\n"},
      {"bytes: -1 B", "f:1:8: error: bytes: -1 B is negative\n"},
      {"flag: yes", "f:1:7: error: flag: 'yes' is neither true nor false\n"},
      {"flag: 1", "f:1:7: error: flag: '1' is neither true nor false\n"},
      {"text: [a]", "f:1:7: error: text: a text is expected, but a list is given\n"},
      {"text: ~", "f:1:1: error: text: a text is expected, but nothing is given\n"},
      {"sizes: 1 KiB", "f:1:8: error: sizes: a list is expected, but a single value is given\n"},
      {"sizes: [1 KiB, 2 MB, 3]",
       "f:1:16: error: sizes[1]: 2 MB is out of range; allowed: 1 B to 1 MB\n"
       "f:1:22: error: sizes[2]: '3' has no unit; write it with a unit, such as 228 KiB\n"},
      {"note: [a]", "f:1:7: error: note: a text is expected, but a list is given\n"},
      {"[1, 2]", "f:1:1: error: a map is expected, but a list is given\n"},
      {"Real: 1", "f:1:1: error: unknown parameter 'Real'; did you mean 'real'?\n"},
      {"nothing_like_it: 1", "f:1:1: error: unknown parameter 'nothing_like_it'\n"},
  };
  for (const BadValue& bad : cases) EXPECT_EQ(bind_numbers(bad.text).problems, bad.message);
}

TEST(Bind, LeavesAFaultyValueAtItsDefault) {
  EXPECT_EQ(bind_text("sms: many").params.sms, 132);
  EXPECT_EQ(bind_text("price: cheap").params.price, std::nullopt);
}

TEST(Bind, TakesAnEmptyMapOrNothingForAllDefaults) {
  for (const char* text : {"l2: {}", "l2:"}) {
    const Bound b = bind_text(text);
    EXPECT_EQ(b.problems.str(), "");
    EXPECT_EQ(b.params.l2.ways, 16u);
  }
  EXPECT_EQ(bind_text("l2: 50 MiB").problems.str(),
            "chip.yaml:1:5: error: gpu.l2: a map is expected, but a single value is given\n");
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
  EXPECT_EQ(docs[0].value, "1.5 GHz");
}

TEST(Document, GivesTheValuesOfAConfigurationAndWhereTheyWereWritten) {
  const auto root = read_yaml("gpu:\n  clock: 2000 MHz\n", "chip.yaml");
  ASSERT_TRUE(root);
  std::vector<ParamDoc> docs;
  document<ChipParams>("gpu", &*root, docs);
  ASSERT_EQ(docs.size(), 9u);
  EXPECT_EQ(docs[0].value, "2 GHz");
  EXPECT_EQ(docs[0].default_value, "1.5 GHz");
  EXPECT_EQ(docs[0].origin.str(), "chip.yaml:2:10");
  EXPECT_EQ(docs[7].value, "50 MiB");
  EXPECT_EQ(docs[7].origin.file, "");
}

}  // namespace
}  // namespace xpusim::config
