#include "sim/config/diagnostics.h"

#include <gtest/gtest.h>

namespace xpusim {
namespace {

TEST(SourcePosition, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ((SourcePosition{"a.yaml", 3, 7}).str(), "a.yaml:3:7");
  EXPECT_EQ((SourcePosition{"a.yaml", 3, 0}).str(), "a.yaml:3");
  EXPECT_EQ((SourcePosition{"--set", 0, 0}).str(), "--set");
  EXPECT_EQ(SourcePosition{}.str(), "");
}

TEST(Diagnostics, PrintsOneLineEach) {
  Diagnostics d;
  EXPECT_TRUE(d.empty());
  d.warning({"a.yaml", 1, 2}, "odd");
  EXPECT_FALSE(d.has_errors());
  d.error({}, "wrong");
  d.add({Severity::kNote, {"b.yaml", 4, 0}, "see here"});
  EXPECT_TRUE(d.has_errors());
  EXPECT_EQ(d.str(), "a.yaml:1:2: warning: odd\nerror: wrong\nb.yaml:4: note: see here\n");
}

TEST(Diagnostics, AppendsOthersInOrder) {
  Diagnostics a, b;
  a.error({}, "one");
  b.error({}, "two");
  a.append(b);
  EXPECT_EQ(a.str(), "error: one\nerror: two\n");
}

TEST(Diagnostics, AValueOfSeveralLinesStaysOnOneLine) {
  Diagnostics d;
  d.error({"a.yaml", 3, 1}, "'4\nx' is not a number");
  EXPECT_EQ(d.str(), "a.yaml:3:1: error: '4\\nx' is not a number\n");
}

TEST(DidYouMean, FindsTheNearestWord) {
  const std::vector<std::string> names = {"count", "clock", "latency", "KiB", "kB"};
  EXPECT_EQ(did_you_mean("cuont", names), "; did you mean 'count'?");  // swapped letters: one step
  EXPECT_EQ(did_you_mean("clok", names), "; did you mean 'clock'?");
  EXPECT_EQ(did_you_mean("Latency", names), "; did you mean 'latency'?");
  EXPECT_EQ(did_you_mean("KB", names), "; did you mean 'kB'?");  // only the case differs
}

TEST(DidYouMean, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("bandwidth", {"count", "clock"}), "");
  EXPECT_EQ(did_you_mean("x", {"y", "z"}), "");
  EXPECT_EQ(did_you_mean("", {"a"}), "");
  EXPECT_EQ(did_you_mean("count", {}), "");
  EXPECT_EQ(did_you_mean(std::string(100000, 'a'), {std::string(100000, 'b')}), "");
}

}  // namespace
}  // namespace xpusim
