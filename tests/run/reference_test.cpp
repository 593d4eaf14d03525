#include "sim/run/reference.h"

#include "sim/run/npy.h"
#include "tests/temporary_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

namespace xpusim::run {
namespace {

/// Evaluates over x = [[1, 2, 3], [4, 5, 6]], r = [10, 20, 30], c = [[100], [200]], s = 2.
Expected<Array> run(const std::string& text) {
  static const std::map<std::string, Array> kArrays = {{"x", {{2, 3}, {1, 2, 3, 4, 5, 6}}},
                                                       {"r", {{3}, {10, 20, 30}}},
                                                       {"c", {{2, 1}, {100, 200}}},
                                                       {"s", {{}, {2}}}};
  auto e = parse_expression(text, {"l.yaml", 1, 1});
  if (!e) return fail(e.error());
  return evaluate(*e, [](const std::string& n) -> const Array* {
    auto it = kArrays.find(n);
    return it == kArrays.end() ? nullptr : &it->second;
  });
}
std::vector<double> values(const std::string& text) {
  auto a = run(text);
  EXPECT_TRUE(a) << a.error().str();
  return a ? a->values : std::vector<double>{};
}

TEST(Reference, BroadcastsAsNumPyDoes) {
  EXPECT_EQ(values("x + r"), (std::vector<double>{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(values("x + c"), (std::vector<double>{101, 102, 103, 204, 205, 206}));
  EXPECT_EQ(values("x * s - 1"), (std::vector<double>{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(values("c + r"), (std::vector<double>{110, 120, 130, 210, 220, 230}));
  EXPECT_NE(run("x + transpose(x)").error().str().find("shapes [2, 3] and [3, 2]"),
            std::string::npos);
}

TEST(Reference, LooksUpAndCountsByIndices) {
  EXPECT_EQ(values("take(x, s - 1)"), (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(values("take(r, x // 3)"), (std::vector<double>{10, 10, 20, 20, 20, 30}));
  EXPECT_EQ(run("take(x, x // 4)")->shape, (std::vector<std::int64_t>{2, 3, 3}));
  EXPECT_EQ(values("bincount(x // 2, bins=5)"), (std::vector<double>{1, 2, 2, 1, 0}));
  EXPECT_EQ(run("take(r, x)").error().str(),
            "l.yaml:1:1: error: 'take' of index 3: it has 0 to 2\n");
  EXPECT_FALSE(run("take(s, s)"));
  EXPECT_FALSE(run("take(r, s / 4)")) << "0.5 is no index";
  EXPECT_FALSE(run("bincount(x, bins=6)")) << "6 is one more than the last";
  EXPECT_FALSE(run("bincount(x)"));
}

TEST(Reference, ReducesAlongAnAxisOrOverAll) {
  EXPECT_EQ(values("sum(x)"), std::vector<double>{21});
  EXPECT_EQ(values("sum(x, axis=0)"), (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(values("max(x, axis=-1)"), (std::vector<double>{3, 6}));
  EXPECT_FALSE(run("sum(x, axis=2)"));
}

TEST(Reference, TheNamedFunctionsAgreeWithTheirDefinitions) {
  EXPECT_EQ(values("relu(x - 3)"), (std::vector<double>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(values("where(x > 2, x, 0 - x)"), (std::vector<double>{-1, -2, 3, 4, 5, 6}));
  EXPECT_EQ(values("transpose(x)"), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values("matmul(x, transpose(x))"), (std::vector<double>{14, 32, 32, 77}));
  const auto p = values("softmax(x)");
  EXPECT_NEAR(p[0], std::exp(1) / (std::exp(1) + std::exp(2) + std::exp(3)), 1e-15);
  EXPECT_NEAR(p[3] + p[4] + p[5], 1, 1e-15);
  const auto causal = values("softmax(x, causal=1)");
  EXPECT_EQ(causal[0], 1);
  EXPECT_EQ(causal[1], 0);
  EXPECT_NEAR(causal[4], 1 / (1 + std::exp(-1)), 1e-15);
  EXPECT_EQ(causal[5], 0);
  const auto n = values("layer_norm(x, r, r, eps=0)");
  EXPECT_NEAR(n[1], 20, 1e-12);
  EXPECT_NEAR(n[2], 30 * std::sqrt(1.5) + 30, 1e-12);
}

TEST(Reference, MathIsThatOfTheStandardLibrary) {
  const std::map<std::string, double (*)(double)> functions = {
      {"exp", [](double v) { return std::exp(v); }},
      {"exp2", [](double v) { return std::exp2(v); }},
      {"expm1", [](double v) { return std::expm1(v); }},
      {"log", [](double v) { return std::log(v); }},
      {"log2", [](double v) { return std::log2(v); }},
      {"log1p", [](double v) { return std::log1p(v); }},
      {"sqrt", [](double v) { return std::sqrt(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }},
      {"sin", [](double v) { return std::sin(v); }},
      {"cos", [](double v) { return std::cos(v); }},
      {"tan", [](double v) { return std::tan(v); }},
      {"atan", [](double v) { return std::atan(v); }},
      {"tanh", [](double v) { return std::tanh(v); }},
      {"erf", [](double v) { return std::erf(v); }},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"silu", [](double v) { return v / (1 + std::exp(-v)); }},
      {"gelu", [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); }}};
  for (const auto& [name, f] : functions) {
    const auto got = values(name + "(x)");
    ASSERT_EQ(got.size(), 6u) << name;
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_DOUBLE_EQ(got[i], f(static_cast<double>(i + 1))) << name;
  }
}

TEST(Reference, ElementwiseArithmeticKnowsRoundingSignsAndPowers) {
  EXPECT_EQ(values("floor(x / 2 - 1)"), (std::vector<double>{-1, 0, 0, 1, 1, 2}));
  EXPECT_EQ(values("ceil(x / 2 - 1)"), (std::vector<double>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(values("round(x / 2)"), (std::vector<double>{0, 1, 2, 2, 2, 3}));
  EXPECT_EQ(values("sign(x - 3)"), (std::vector<double>{-1, -1, 0, 1, 1, 1}));
  EXPECT_EQ(values("abs(-x) - x"), std::vector<double>(6, 0));
  EXPECT_EQ(values("pow(x, s)"), (std::vector<double>{1, 4, 9, 16, 25, 36}));
  EXPECT_EQ(values("maximum(x, 3) - minimum(x, 3)"), (std::vector<double>{2, 1, 0, 1, 2, 3}));
  EXPECT_EQ(values("x // 2 + x % 2"), (std::vector<double>{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(values("where(x >= 5, 1, 0) + (x == 1) + (x != 1) * (x <= 2)"),
            (std::vector<double>{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(values("mean(x)"), std::vector<double>{3.5});
  EXPECT_EQ(values("mean(x, axis=0)"), (std::vector<double>{2.5, 3.5, 4.5}));
  EXPECT_EQ(values("min(x, axis=1)"), (std::vector<double>{1, 4}));
  EXPECT_EQ(values("softmax(x * 0, axis=0)"), std::vector<double>(6, 0.5));
}

TEST(Reference, CausalAttentionLooksOnlyBack) {
  auto e = parse_expression("attention(q, q, v, scale=1, causal=1)", {});
  const Array q{{1, 2, 1}, {0, 0}}, v{{1, 2, 1}, {1, 3}};
  auto a = evaluate(*e, [&](const std::string& n) { return n == "q" ? &q : &v; });
  ASSERT_TRUE(a) << a.error().str();
  EXPECT_EQ(a->values, (std::vector<double>{1, 2}));
}

TEST(Reference, UnknownNamesAndFunctionsAreErrors) {
  EXPECT_NE(run("y + 1").error().str().find("no tensor or number 'y'"), std::string::npos);
  EXPECT_NE(run("softmax(x, axes=0)").error().str().find("no 'axes='; did you mean 'axis'"),
            std::string::npos);
  EXPECT_NE(run("softmax(x, x)").error().str().find("does not take 2 arguments"),
            std::string::npos);
  EXPECT_NE(run("sofmax(x)").error().str().find("did you mean 'softmax'"), std::string::npos);
}

class ReferenceFile : public TemporaryFolder {
 protected:
  /// A launch file beside a reference, with this text for what `o` must be.
  Expected<Workload> with_reference(const std::string& reference) const {
    const std::string file = path("reference.yaml");
    std::ofstream(file) << "schema: xpusim.workload/1\nname: r\ntensors:\n"
                           "  o: {dtype: f32, shape: [3], init: arange}\n"
                           "launches:\n  - {kernel: k, args: [o]}\nexpect:\n  o: {reference: " +
                               reference + "}\n";
    return load_workload(file);
  }
};

TEST_F(ReferenceFile, IsAReferenceToo) {
  exec::DeviceMemory memory(1 << 20);
  exec::Init arange;
  arange.kind = exec::Init::Kind::kArange;
  ASSERT_TRUE(memory.allocate("o", kernel::DType::kF32, {3}, arange));
  ASSERT_TRUE(write_npy(path("want.npy"), memory, *memory.find("o")));
  auto w = with_reference("{file: want.npy}");
  ASSERT_TRUE(w) << w.error().str();
  Checker checker;
  ASSERT_TRUE(checker.prepare(*w, memory));
  EXPECT_TRUE(checker.compare(memory)[0].right);
  const float five = 5;
  memory.write(memory.find("o")->address + 4, std::as_bytes(std::span(&five, 1)));
  const auto wrong = checker.compare(memory)[0];
  EXPECT_FALSE(wrong.right);
  EXPECT_EQ(wrong.worst_error, 4);
  EXPECT_EQ(wrong.worst_index, std::vector<std::int64_t>{1});
}

TEST_F(ReferenceFile, ThatDoesNotFitIsNamedWithItsPlace) {
  exec::DeviceMemory memory(1 << 20);
  ASSERT_TRUE(memory.allocate("o", kernel::DType::kF32, {3}, {}));
  ASSERT_TRUE(memory.allocate("other", kernel::DType::kF32, {4}, {}));
  ASSERT_TRUE(write_npy(path("other.npy"), memory, *memory.find("other")));
  for (const auto& [reference, said] : {std::pair{"{file: other.npy}", "has shape (4,), not (3,)"},
                                        std::pair{"{file: nowhere.npy}", "cannot read"}}) {
    auto w = with_reference(reference);
    ASSERT_TRUE(w) << w.error().str();
    Checker checker;
    const auto done = checker.prepare(*w, memory);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().str().find(said), std::string::npos) << done.error().str();
    EXPECT_NE(done.error().str().find("reference.yaml:8:"), std::string::npos)
        << done.error().str();
  }
  EXPECT_NE(with_reference("{fil: x.npy}").error().str().find("did you mean"), std::string::npos);
  EXPECT_NE(with_reference("{}").error().str().find("an expression or {file: x.npy}"),
            std::string::npos);
}

}  // namespace
}  // namespace xpusim::run
