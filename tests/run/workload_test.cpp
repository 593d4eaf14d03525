#include "sim/run/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xpusim::run {
namespace {

const char* kGood = R"y(schema: xpusim.workload/1
name: add
tensors:
  x: {dtype: f32, shape: [100, 4], init: randint 7, seed: 3}
  out: {dtype: bf16, shape: [100], init: zeros}
launches:
  - kernel: {gpu: ir/a, tpu: ir/b}
    grid: ["cdiv(n, BLOCK)", 2]
    constexprs: {BLOCK: 64}
    args: {x_ptr: x, out_ptr: out, n: 100, eps: 1.0e-5, nothing: null}
expect:
  out: {reference: relu(x), rtol: 0.5}
)y";

Expected<Workload> parse(const std::string& text) {
  auto root = config::read_yaml(text, "dir/launch.yaml");
  if (!root) return fail(root.error());
  return parse_workload(*root, "dir/launch.yaml");
}

std::string replaced(std::string from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string problems(const std::string& text) {
  auto w = parse(text);
  return w ? "" : w.error().str();
}

TEST(Workload, ReadsEveryPart) {
  auto w = parse(kGood);
  ASSERT_TRUE(w) << w.error().str();
  EXPECT_EQ(w->name, "add");
  ASSERT_EQ(w->tensors.size(), 2u);
  EXPECT_EQ(w->tensors[0].shape, (std::vector<std::int64_t>{100, 4}));
  EXPECT_EQ(w->tensors[0].init.kind, exec::Init::Kind::kRandint);
  EXPECT_EQ(w->tensors[0].init.value, 7);
  EXPECT_EQ(w->tensors[0].init.seed, 3u);
  EXPECT_EQ(w->tensors[1].dtype, kernel::DType::kBF16);
  const auto& l = w->launches[0];
  EXPECT_EQ(l.kernel.at("gpu"), "ir/a");
  EXPECT_EQ(l.grid, (std::vector<std::string>{"cdiv(n, BLOCK)", "2"}));
  ASSERT_EQ(l.args.size(), 5u);
  EXPECT_EQ(l.args[0].tensor, "x");
  EXPECT_EQ(l.args[2].integer, 100);
  EXPECT_EQ(l.args[3].kind, ArgSpec::Kind::kReal);
  EXPECT_EQ(l.args[4].kind, ArgSpec::Kind::kNull);
  EXPECT_EQ(w->expect[0].rtol, 0.5);
}

TEST(Workload, EachMistakeIsNamedWithItsPosition) {
  EXPECT_EQ(problems(replaced("x_ptr: x,", "x_ptr: xx,")),
            "dir/launch.yaml:10:19: error: no tensor 'xx'; did you mean 'x'?\n");
  EXPECT_EQ(problems(replaced("dtype: bf16", "dtype: bf17")).substr(0, 73),
            "dir/launch.yaml:5:16: error: tensor 'out' has the unknown dtype 'bf17'; i");
  EXPECT_NE(problems(replaced("init: zeros", "init: zero")).find("unknown init 'zero'"),
            std::string::npos);
  EXPECT_NE(problems(replaced("shape: [100]", "shape: [-1]")).find("'-1' is no dimension"),
            std::string::npos);
  EXPECT_NE(problems(replaced("launches:", "launchs:")).find("did you mean 'launches'?"),
            std::string::npos);
  EXPECT_NE(problems(replaced("xpusim.workload/1", "xpusim.workload/9")).find("expected 'schema"),
            std::string::npos);
  EXPECT_NE(problems(replaced("relu(x)", "relu(x")).find("expected ',' or ')'"), std::string::npos);
  EXPECT_NE(problems(replaced("rtol: 0.5", "rtol: -1")).find("rtol is a number, 0 or more"),
            std::string::npos);
  EXPECT_NE(problems(replaced("  out: {reference", "  oud: {reference")).find("no tensor 'oud'"),
            std::string::npos);
}

TEST(Workload, NothingIsDroppedInSilence) {
  const auto says = [](const std::string& from, const std::string& to, const std::string& what) {
    EXPECT_THAT(problems(replaced(from, to)), testing::HasSubstr(what)) << to;
  };
  says("name: add", "name: [add]", "a name is a text");
  says("x_ptr: x,", "x_ptr: [x],", "dir/launch.yaml:10:19: error: an argument is a tensor");
  says("x_ptr: x,", "x_ptr: {descriptor: x, blok: [4]},", "did you mean 'block'?");
  says("BLOCK: ", "OTHER: [1], BLOCK: ", "constexpr 'OTHER' must be a number or a word");
  says("init: zeros", "init: {file: x.npy, fiel: y.npy}", "did you mean 'file'?");
  says("init: zeros", "init: randint inf", "unknown init 'randint inf'");
  says("rtol: 0.5", "rtol: inf", "rtol is a number, 0 or more");
  says("launches:", "variants: 5\nlaunches:", "'variants' must be a map");
  says("launches:", "variants: {BLOK: {1: a}}\nlaunches:", "did you mean 'BLOCK'?");
  says("launches:", "variants: {BLOCK: 5}\nlaunches:", "a map from values to kernels");
}

TEST(Workload, ALaunchOfAVariantsKernelHasTheVariantsValue) {
  std::string text = replaced("{gpu: ir/a, tpu: ir/b}", "ir/a_64");
  text += "variants: {BLOCK: {64: ir/a_64, 128: ir/a_128}}\n";
  EXPECT_EQ(problems(text), "");
  text.replace(text.find("BLOCK: 64"), 9, "BLOCK: 128");
  EXPECT_EQ(
      problems(text),
      "dir/launch.yaml:9:18: error: BLOCK is 128 here, but 'ir/a_64' is the variant for 64\n");
}

TEST(Workload, SeveralMistakesComeTogether) {
  std::string text = replaced("dtype: bf16", "dtype: bf17");
  const auto at = text.find("x_ptr: x,");
  text.replace(at, 9, "x_ptr: q,");
  auto w = parse(text);
  ASSERT_FALSE(w);
  EXPECT_EQ(w.error().list().size(), 2u);
}

TEST(Workload, MissingKernelSaysWhatWasTried) {
  auto f =
      find_kernel_file("no/such", {kernel::Form::kTtgir, kernel::Form::kTtir}, {"l.yaml", 3, 1});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().str(),
            "l.yaml:3:1: error: no kernel 'no/such' (tried no/such.ttgir, no/such.ttir)\n");
}

TEST(Workload, TheNamesOfTypesAndInits) {
  EXPECT_EQ(parse_dtype("f8"), kernel::DType::kF8E4M3FN);
  EXPECT_EQ(parse_dtype("u8"), kernel::DType::kI8);
  EXPECT_FALSE(parse_dtype("float"));
  EXPECT_EQ(parse_init("full -2.5")->value, -2.5);
  EXPECT_FALSE(parse_init("full"));
  EXPECT_FALSE(parse_init("randint 0"));
  EXPECT_FALSE(parse_init("randint 1.5"));
  EXPECT_FALSE(parse_init("randn 3"));
}

}  // namespace
}  // namespace xpusim::run
