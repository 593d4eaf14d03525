#include "sim/run/expression.h"

#include <gtest/gtest.h>

namespace xpusim::run {
namespace {

const SourcePosition kHere{"launch.yaml", 7, 12};
const std::map<std::string, std::int64_t> kNames = {{"n", 1000}, {"BLOCK", 256}, {"zero", 0}};

std::int64_t value(const std::string& text) {
  auto e = parse_expression(text, kHere);
  EXPECT_TRUE(e) << text;
  auto v = evaluate_integer(*e, kNames);
  EXPECT_TRUE(v) << text << ": " << (v ? "" : v.error().str());
  return v.value_or(-999);
}

std::string problem(const std::string& text) {
  auto e = parse_expression(text, kHere);
  if (!e) return e.error().list().front().str();
  auto v = evaluate_integer(*e, kNames);
  return v ? "" : v.error().list().front().str();
}

TEST(Expression, GridsHavePythonsPrecedenceAndRounding) {
  EXPECT_EQ(value("cdiv(n, BLOCK)"), 4);
  EXPECT_EQ(value("2 + 3 * 4 - 1"), 13);
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
  EXPECT_EQ(value("-7 // 2"), -4);
  EXPECT_EQ(value("-7 % 4"), 1);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("512 / 2"), 256);
  EXPECT_EQ(value("min(n, BLOCK) + max(1, 2)"), 258);
}

TEST(Expression, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(problem("cdiv(n, BLOC)"),
            "launch.yaml:7:20: error: 'BLOC' is no argument or constexpr; did you mean 'BLOCK'?");
  EXPECT_EQ(problem("n / 3"),
            "launch.yaml:7:14: error: 1000 / 3 is not a whole number; use // or cdiv");
  EXPECT_EQ(problem("n // zero"),
            "launch.yaml:7:14: error: division by zero or by a negative number");
  EXPECT_EQ(problem("n +"),
            "launch.yaml:7:15: error: expected a number, a name or '(', found the end");
  EXPECT_EQ(problem("(n"), "launch.yaml:7:14: error: expected ')'");
  EXPECT_EQ(problem("n n"), "launch.yaml:7:14: error: expected an operator or the end, found 'n'");
  EXPECT_EQ(problem("1.5"), "launch.yaml:7:12: error: 1.5 is not a whole number");
  EXPECT_NE(problem("9000000000 * 9000000000").find("does not fit 64 bits"), std::string::npos);
  EXPECT_NE(problem("cdvi(n, 2)").find("did you mean 'cdiv'"), std::string::npos);
}

TEST(Expression, LengthIsBounded) {
  std::string chain = "1";
  for (int i = 0; i < 100000; ++i) chain += "+1";
  const auto e = parse_expression(chain, {"l.yaml", 3, 1});
  ASSERT_FALSE(e);
  EXPECT_NE(e.error().str().find("at most 4096"), std::string::npos);
}

TEST(Expression, DepthIsBounded) {
  EXPECT_NE(problem(std::string(1000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(problem(std::string(1000, '-')).find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace xpusim::run
