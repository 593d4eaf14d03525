#include "sim/run/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run/launch_parameters.h"
#include "sim/run/sweep_range.h"
#include "sim/run/written_number.h"

namespace xpusim::run {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

const char* kHead = R"y(schema: xpusim.sweep/1
workload: a.yaml
machine: h200
)y";

Expected<Sweep> parse(const std::string& text) {
  auto root = config::read_yaml(text, "dir/s.yaml");
  if (!root) return fail(root.error());
  return parse_sweep(*root, "dir/s.yaml");
}
Expected<Sweep> with_grid(const std::string& grid) { return parse(kHead + grid); }

/// Everything that is said about a sweep file with this tail.
std::string problems(const std::string& tail) {
  auto sweep = with_grid(tail);
  return sweep ? "" : sweep.error().str();
}

/// "0/0 a=1 b=x": workload, machine and settings of each point.
std::vector<std::string> points(const Sweep& sweep) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    const SweepPoint p = sweep.point(i);
    std::string text = std::to_string(p.workload) + "/" + std::to_string(p.machine);
    for (const auto& [path, value] : p.settings) text += " " + path + "=" + value.scalar;
    out.push_back(text);
  }
  return out;
}

std::vector<std::string> range(const std::string& text) {
  auto node = config::read_yaml(text, "r.yaml");
  auto values = expand_range(*node);
  std::vector<std::string> out;
  if (!values) return {values.error().str()};
  for (const auto& v : *values) out.push_back(v.scalar);
  return out;
}

TEST(Sweep, AGridIsTheProductOfItsLists) {
  auto sweep = with_grid("grid: {gpu.sm.count: [4, 8], args.n: [1, 2, 3]}\n");
  ASSERT_TRUE(sweep) << sweep.error().str();
  EXPECT_EQ(sweep->name, "s");
  EXPECT_THAT(sweep->parameters(), ElementsAre("gpu.sm.count", "args.n"));
  EXPECT_THAT(points(*sweep),
              ElementsAre("0/0 gpu.sm.count=4 args.n=1", "0/0 gpu.sm.count=4 args.n=2",
                          "0/0 gpu.sm.count=4 args.n=3", "0/0 gpu.sm.count=8 args.n=1",
                          "0/0 gpu.sm.count=8 args.n=2", "0/0 gpu.sm.count=8 args.n=3"));
}

TEST(Sweep, ZippedParametersChangeTogether) {
  auto sweep = with_grid(R"y(grid:
  args.k: [7, 8]
  zip:
    - {args.n: [1, 2], args.m: [10, 20]}
    - {args.p: {from: 1, to: 3, step: 2}, args.q: [x, y]}
)y");
  ASSERT_TRUE(sweep) << sweep.error().str();
  EXPECT_EQ(sweep->size(), 8u);
  EXPECT_THAT(points(*sweep)[0], "0/0 args.k=7 args.n=1 args.m=10 args.p=1 args.q=x");
  EXPECT_THAT(points(*sweep)[1], "0/0 args.k=7 args.n=1 args.m=10 args.p=3 args.q=y");
  EXPECT_THAT(points(*sweep)[7], "0/0 args.k=8 args.n=2 args.m=20 args.p=3 args.q=y");
}

TEST(Sweep, WorkloadsAreSlowestThenMachines) {
  auto sweep = parse(R"y(schema: xpusim.sweep/1
name: two
workloads: [a.yaml, b.yaml]
machines: [h200, tpu_v5e]
grid: {args.n: [1]}
values: off
caches: warm
loop: 3
from: ttir
)y");
  ASSERT_TRUE(sweep) << sweep.error().str();
  EXPECT_THAT(points(*sweep),
              ElementsAre("0/0 args.n=1", "0/1 args.n=1", "1/0 args.n=1", "1/1 args.n=1"));
  EXPECT_EQ(sweep->name, "two");
  EXPECT_FALSE(sweep->values);
  EXPECT_TRUE(sweep->warm_caches);
  EXPECT_EQ(sweep->loop, 3);
  EXPECT_EQ(sweep->from, "ttir");
}

TEST(Sweep, ASingleValueNeedsNoList) {
  auto sweep = with_grid("set: {gpu.clock: 1 GHz}\ngrid: {args.n: 5}\n");
  ASSERT_TRUE(sweep) << sweep.error().str();
  EXPECT_THAT(points(*sweep), ElementsAre("0/0 args.n=5"));
  EXPECT_EQ(sweep->fixed.at(0).second.scalar, "1 GHz");
}

TEST(SweepRange, StepsIncludeBothEnds) {
  EXPECT_THAT(range("{from: 16, to: 64, step: 16}"), ElementsAre("16", "32", "48", "64"));
  EXPECT_THAT(range("{from: 16, to: 63, step: 16}"), ElementsAre("16", "32", "48"));
  EXPECT_THAT(range("{from: 0.1, to: 0.4, step: 0.1}"), ElementsAre("0.1", "0.2", "0.3", "0.4"));
  EXPECT_THAT(range("{from: -2, to: 2, step: 2}"), ElementsAre("-2", "0", "2"));
  EXPECT_THAT(range("{from: 5, to: 5, step: 1}"), ElementsAre("5"));
}

TEST(SweepRange, FactorsIncludeBothEnds) {
  EXPECT_THAT(range("{from: 1, to: 8, factor: 2}"), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(range("{from: 3, to: 100, factor: 10}"), ElementsAre("3", "30"));
}

TEST(SweepRange, ValuesHaveTheUnitOfFrom) {
  EXPECT_THAT(range("{from: 0.4 GHz, to: 1.6 GHz, factor: 2}"),
              ElementsAre("0.4 GHz", "0.8 GHz", "1.6 GHz"));
  EXPECT_THAT(range("{from: 512 KiB, to: 1.5 MiB, step: 512 KiB}"),
              ElementsAre("512 KiB", "1024 KiB", "1536 KiB"));
}

TEST(SweepRange, EachMistakeIsNamedWithItsPosition) {
  const auto said = [](const std::string& text) { return range(text).at(0); };
  EXPECT_THAT(said("{from: 1, to: 4}"),
              "r.yaml:1:1: error: a range has either a 'step' or a 'factor'\n");
  EXPECT_THAT(said("{from: 1, to: 4, step: 1, factor: 2}"), HasSubstr("either a 'step'"));
  EXPECT_THAT(said("{from: 1, step: 1}"), "r.yaml:1:1: error: a range needs 'to'\n");
  EXPECT_THAT(said("{from: 4, to: 1, step: 1}"),
              "r.yaml:1:1: error: this range is empty: 'to' is below 'from'\n");
  EXPECT_THAT(said("{from: 1, to: 4, step: 0}"), "r.yaml:1:24: error: a step is over 0\n");
  EXPECT_THAT(said("{from: 1, to: 4, factor: 1}"),
              "r.yaml:1:26: error: a factor is a plain number over 1\n");
  EXPECT_THAT(said("{from: 0, to: 4, factor: 2}"),
              "r.yaml:1:8: error: a range with a factor begins over 0\n");
  EXPECT_THAT(said("{from: 1 GHz, to: 4 KiB, step: 1 GHz}"),
              "r.yaml:1:19: error: 'to' has 'KiB', but 'from' has 'GHz'\n");
  EXPECT_THAT(said("{from: 1 GHz, to: 4, step: 1 GHz}"), HasSubstr("'to' has no unit"));
  EXPECT_THAT(said("{from: x, to: 4, step: 1}"), HasSubstr("1:8: error: 'from' must be a number"));
  EXPECT_THAT(said("{form: 1, to: 4, step: 1}"), HasSubstr("did you mean 'from'?"));
  EXPECT_THAT(said("{from: 1, to: 1000000000, step: 1}"), HasSubstr("more than 100000 values"));
  EXPECT_THAT(said("{from: 1e308, to: 1e309, step: 1}"), HasSubstr("'to' must be a number"));
}

TEST(Sweep, EachMistakeIsNamedWithItsPosition) {
  EXPECT_EQ(problems(""),
            "dir/s.yaml:1:1: error: the grid is empty: expected 'grid:', a map from parameters to "
            "values\n");
  EXPECT_EQ(problems("grid: {}\n").substr(0, 42), "dir/s.yaml:4:7: error: the grid is empty: ");
  EXPECT_EQ(problems("grid: {args.n: []}\n"),
            "dir/s.yaml:4:16: error: the grid is empty: 'args.n' has no values\n");
  EXPECT_EQ(problems("grid: {zip: {args.n: [1, 2], args.m: [1]}}\n"),
            "dir/s.yaml:4:30: error: 'args.m' has 1 values, but 'args.n' in this zip has 2\n");
  EXPECT_EQ(problems("grid: {zip: [1]}\n"),
            "dir/s.yaml:4:14: error: a zip is a map from parameters to lists of one length\n");
  EXPECT_EQ(problems("grid: {args.n: [1], zip: {args.n: [2]}}\n"),
            "dir/s.yaml:4:27: error: 'args.n' is also at dir/s.yaml:4:8\n");
  EXPECT_EQ(problems("set: {args.n: 1}\ngrid: {args.n: [1]}\n"),
            "dir/s.yaml:5:8: error: 'args.n' is also at dir/s.yaml:4:7\n");
  EXPECT_EQ(problems("grid: {args.n: [{a: 1}]}\n"),
            "dir/s.yaml:4:17: error: a value of 'args.n' is a number, a text or a list\n");
  EXPECT_EQ(problems("grid: {args.n: [1]}\nvaleus: on\n"),
            "dir/s.yaml:5:1: error: unknown key 'valeus' in a sweep file; did you mean "
            "'values'?\n");
  EXPECT_EQ(problems("grid: {args.n: [1]}\nvalues: maybe\n"),
            "dir/s.yaml:5:9: error: 'values' is 'on' or 'off'\n");
  EXPECT_EQ(problems("grid: {args.n: [1]}\nloop: 0\n"),
            "dir/s.yaml:5:7: error: 'loop' is a whole number, 1 to 1000000\n");
  EXPECT_EQ(problems("grid: {args.n: [1]}\nworkloads: [b.yaml]\n"),
            "dir/s.yaml:1:1: error: a sweep has either 'workload' or 'workloads'\n");
  EXPECT_THAT(problems("grid: {args.a: {from: 1, to: 1000, step: 1}, args.b: {from: 1, to: 1000, "
                       "step: 1}}\n"),
              HasSubstr("dir/s.yaml:4:1: error: a grid of 1e+06 points: at most 100000"));
  EXPECT_THAT(
      parse("schema: xpusim.sweep/2\nworkload: a\nmachine: b\ngrid: {args.n: 1}\n").error().str(),
      "dir/s.yaml:1:9: error: expected 'schema: xpusim.sweep/1'\n");
  EXPECT_THAT(parse("[1]\n").error().str(), HasSubstr("a sweep file is a map"));
}

TEST(WrittenNumber, UnitsOfOneDimensionConvert) {
  EXPECT_EQ(value_in(*parse_number("1.5 GHz"), "MHz"), 1500);
  EXPECT_EQ(value_in(*parse_number("3 MiB"), "KiB"), 3072);
  EXPECT_EQ(value_in(*parse_number("3 MiB"), "GHz"), std::nullopt);
  EXPECT_EQ(parse_number("per_bank"), std::nullopt);
  EXPECT_EQ(parse_number("[1, 2]"), std::nullopt);
  EXPECT_EQ(parse_number("1e999"), std::nullopt);
  EXPECT_EQ((WrittenNumber{0.1 + 0.2, "GHz"}.str()), "0.3 GHz");
}

const char* kLaunchFile = R"y(schema: xpusim.workload/1
tensors:
  x: {dtype: f32, shape: [64], init: randn}
launches:
  - {kernel: ir/a64, grid: ["cdiv(n, BLOCK)"], constexprs: {BLOCK: 64, K: 1}, args: {p: x, n: 64}}
  - {kernel: ir/b, grid: [1], constexprs: {K: 2}, args: {p: x, m: 3}}
variants:
  BLOCK: {32: ir/a32, 64: ir/a64}
)y";

/// The launch file with a parameter changed, or what is wrong with that.
std::string changed(const std::string& path, const std::string& value) {
  auto file = config::read_yaml(kLaunchFile, "w.yaml");
  auto node = config::read_yaml(value, "s.yaml");
  node->key_origin = {"s.yaml", 9, 9};
  auto done = set_launch_parameter(*file, path, *node);
  return done ? config::to_yaml(*file) : done.error().str();
}

TEST(LaunchParameters, AVariantChangesConstexprAndKernelWhereItBelongs) {
  const auto text = changed("variants.BLOCK", "32");
  EXPECT_THAT(text, HasSubstr("kernel: ir/a32"));
  EXPECT_THAT(text, HasSubstr("BLOCK: 32"));
  EXPECT_THAT(text, HasSubstr("kernel: ir/b\n"));
}
TEST(LaunchParameters, EveryLaunchThatHasTheNameChanges) {
  const auto text = changed("constexprs.K", "5");
  EXPECT_NE(text.find("K: 5"), text.rfind("K: 5"));
  EXPECT_THAT(changed("args.n", "32"), HasSubstr("n: 32"));
  EXPECT_THAT(changed("tensors.x.shape", "[128]"), HasSubstr("shape: [128]"));
  EXPECT_THAT(changed("tensors.x.seed", "9"), HasSubstr("seed: 9"));
  EXPECT_THAT(changed("grid", "7"), HasSubstr("grid: 7"));
}
TEST(LaunchParameters, EachMistakeIsNamedWithItsPosition) {
  EXPECT_EQ(changed("args.nn", "1"),
            "s.yaml:9:9: error: no launch has 'nn' in its args; did you mean 'n'?\n");
  EXPECT_EQ(changed("constexprs.BLOCK", "32"),
            "s.yaml:9:9: error: 'BLOCK' has variants: write 'variants.BLOCK', and the kernel "
            "changes with it\n");
  EXPECT_EQ(changed("variants.BLOC", "32"),
            "s.yaml:9:9: error: the launch file has no variants of 'BLOC'; did you mean "
            "'BLOCK'?\n");
  EXPECT_EQ(changed("variants.BLOCK", "16"),
            "s.yaml:1:1: error: no variant '16' of 'BLOCK': there are 32, 64\n");
  EXPECT_EQ(changed("tensors.y.shape", "[1]"), "s.yaml:9:9: error: no tensor 'y'\n");
  EXPECT_EQ(changed("tensors.x.shap", "[1]"),
            "s.yaml:9:9: error: a tensor's parameters are shape, init, seed, dtype; did you mean "
            "'shape'?\n");
  EXPECT_THAT(changed("args", "1"), HasSubstr("'args' needs a name"));
  EXPECT_THAT(changed("grid.x", "1"), HasSubstr("'grid' is set as a whole"));
}

}  // namespace
}  // namespace xpusim::run
