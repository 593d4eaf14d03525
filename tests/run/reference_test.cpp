#include "sim/run/reference.h"

#include <gtest/gtest.h>

#include <cmath>

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
  const auto n = values("layer_norm(x, r, r, eps=0)");
  EXPECT_NEAR(n[1], 20, 1e-12);
  EXPECT_NEAR(n[2], 30 * std::sqrt(1.5) + 30, 1e-12);
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

}  // namespace
}  // namespace xpusim::run
