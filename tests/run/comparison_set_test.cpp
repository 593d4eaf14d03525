#include "sim/run/comparison/comparison_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xpusim::run {
namespace {
using testing::HasSubstr;

Expected<ComparisonSet> parse(const std::string& text) {
  auto root = config::read_yaml(text, "dir/s.yaml");
  if (!root) return fail(root.error());
  return parse_comparison_set(*root, "dir/s.yaml", {"gpu", "tpu"});
}

/// Everything that is said about a comparison file with these lines.
std::string problems(const std::string& lines) {
  auto set = parse("schema: xpusim.comparison_set/1\n" + lines);
  return set ? "" : set.error().str();
}

TEST(ComparisonSet, NamesKindsOfWorkWithAFormPerFamily) {
  auto set = parse(R"y(schema: xpusim.comparison_set/1
kinds:
  matrix products:
    - {gpu: gpu/matmul.yaml, tpu: tpu/matmul.yaml}
    - {name: small, gpu: gpu/matmul.yaml, tpu: tpu/matmul.yaml}
  irregular: [gather.yaml]
values: off
caches: warm
)y");
  ASSERT_TRUE(set) << set.error().str();
  EXPECT_EQ(set->name, "s");
  EXPECT_FALSE(set->values);
  EXPECT_TRUE(set->warm_caches);
  ASSERT_EQ(set->kinds.size(), 2u);
  EXPECT_EQ(set->kinds[0].name, "matrix products");
  ASSERT_EQ(set->kinds[0].workloads.size(), 2u);
  EXPECT_EQ(set->kinds[0].workloads[0].name, "matmul");
  EXPECT_EQ(set->kinds[0].workloads[0].files.at("tpu").scalar, "tpu/matmul.yaml");
  EXPECT_EQ(set->kinds[0].workloads[1].name, "small");
  EXPECT_EQ(set->kinds[1].workloads[0].files.at("").scalar, "gather.yaml");
}

TEST(ComparisonSet, ValuesAndColdCachesUnlessItSaysOtherwise) {
  auto set = parse("schema: xpusim.comparison_set/1\nname: n\nkinds: {a: [b.yaml]}\n");
  ASSERT_TRUE(set) << set.error().str();
  EXPECT_EQ(set->name, "n");
  EXPECT_TRUE(set->values);
  EXPECT_FALSE(set->warm_caches);
}

TEST(ComparisonSet, SaysEveryProblemWithItsPlace) {
  EXPECT_EQ(problems("kinds: {a: [b.yaml]}\nvalue: on\ncaches: tepid\n"),
            "dir/s.yaml:3:1: error: unknown key 'value' in a comparison file; did you mean "
            "'values'?\n"
            "dir/s.yaml:4:9: error: 'caches' is 'warm' or 'cold'\n");
  EXPECT_EQ(problems("name: x\n"),
            "dir/s.yaml:1:1: error: expected 'kinds:', a map from kinds of work to lists of "
            "workloads\n");
  EXPECT_EQ(problems("kinds: []\n"),
            "dir/s.yaml:2:8: error: expected 'kinds:', a map from kinds of work to lists of "
            "workloads\n");
  EXPECT_EQ(problems("kinds: {a: []}\n"),
            "dir/s.yaml:2:12: error: 'a' is a list of workloads with at least one\n");
  EXPECT_EQ(problems("kinds: {a: b.yaml}\n"),
            "dir/s.yaml:2:12: error: 'a' is a list of workloads with at least one\n");
  EXPECT_EQ(problems("kinds: {a: [[b.yaml], {name: c}, {gpu: [d]}]}\n"),
            "dir/s.yaml:2:13: error: a workload is a launch file, or a map from families of "
            "machines to launch files, such as {gpu: a.yaml, tpu: b.yaml}\n"
            "dir/s.yaml:2:23: error: a workload needs a launch file for a family of machines\n"
            "dir/s.yaml:2:40: error: 'gpu' is a text\n"
            "dir/s.yaml:2:34: error: a workload needs a launch file for a family of machines\n");
  EXPECT_EQ(problems("kinds: {a: [x/b.yaml, y/b.yaml]}\n"),
            "dir/s.yaml:2:23: error: another workload of 'a' is named 'b' too: give it a 'name'\n");
  EXPECT_THAT(parse("schema: xpusim.comparison_set/2\nkinds: {a: [b.yaml]}\n").error().str(),
              HasSubstr("dir/s.yaml:1:9: error: expected 'schema: xpusim.comparison_set/1'"));
  EXPECT_THAT(parse("- a\n").error().str(), HasSubstr("a comparison file is a map"));
}

TEST(ComparisonSet, AFormIsForAFamilyThatThereIs) {
  EXPECT_EQ(problems("kinds: {a: [{gpo: b.yaml}]}\n"),
            "dir/s.yaml:2:14: error: unknown key 'gpo' in a workload; did you mean 'gpu'?\n");
}

TEST(ComparisonSet, IsToldFromALaunchFileByItsSchema) {
  const auto is_set = [](const std::string& text) {
    return is_comparison_set(*config::read_yaml(text, "s.yaml"));
  };
  EXPECT_TRUE(is_set("schema: xpusim.comparison_set/1\n"));
  EXPECT_TRUE(is_set("schema: xpusim.comparisons/1\n"));
  EXPECT_FALSE(is_set("schema: xpusim.workload/1\n"));
  EXPECT_FALSE(is_set("[a]\n"));
}

}  // namespace
}  // namespace xpusim::run
