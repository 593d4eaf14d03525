#include <gtest/gtest.h>

#include <csignal>
#include <numeric>

#include "sim/run/runner.h"

namespace xpusim::run {
namespace {

TEST(Process, AValueComesBackWhole) {
  const std::string big(1 << 20, 'x');
  auto r = in_child([&]() -> Expected<std::string> { return big + "\n\"end"; });
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, big + "\n\"end");
}

TEST(Process, DiagnosticsComeBackAsTheyWere) {
  auto r = in_child([]() -> Expected<std::string> { return fail({"a.yaml", 3, 4}, "wrong"); });
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().str(), "a.yaml:3:4: error: wrong\n");
}

TEST(Process, ACrashIsAMessageNotACrash) {
  auto r = in_child([]() -> Expected<std::string> {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    return "";
  });
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().str().find("signal 11"), std::string::npos);
}

TEST(Process, AnExceptionIsAnInternalError) {
  auto r = in_child([]() -> Expected<std::string> { throw std::runtime_error("oh"); });
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().str().find("internal error: oh"), std::string::npos);
}

TEST(Process, ManyPiecesRunEachOnce) {
  std::vector<int> got(50, 0);
  in_children(
      50, 4, [](std::size_t i) -> Expected<std::string> { return std::to_string(i); },
      [&](std::size_t i, Expected<std::string> r) {
        got[i] += std::stoi(*r) == static_cast<int>(i);
      });
  EXPECT_EQ(std::accumulate(got.begin(), got.end(), 0), 50);
}

}  // namespace
}  // namespace xpusim::run
