#include "sim/run/launch_order.h"

#include <gtest/gtest.h>

namespace xpusim::run {
namespace {

LaunchSpec kernel(std::optional<std::vector<std::size_t>> after = std::nullopt) {
  LaunchSpec l;
  l.after = std::move(after);
  return l;
}

LaunchSpec collective(std::optional<std::vector<std::size_t>> after = std::nullopt) {
  LaunchSpec l = kernel(std::move(after));
  l.collective = CollectiveSpec();
  l.collective->op = "all_reduce";
  return l;
}

/// When each launch begins, if they last so long.
std::vector<double> begins(const std::vector<LaunchSpec>& launches, const std::vector<double>& ns) {
  Timeline timeline(launches);
  std::vector<double> out;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    out.push_back(timeline.begin(l));
    timeline.end(l, out.back() + ns[l]);
  }
  return out;
}

TEST(Timeline, LaunchesFollowOneAnotherUnlessTheySayWhatTheyWaitFor) {
  EXPECT_EQ(begins({kernel(), collective(), kernel()}, {10, 5, 3}),
            (std::vector<double>{0, 10, 15}));
}

TEST(Timeline, ACollectiveRunsBesideKernels) {
  // Backward: two layers, whose gradients are added up while the next is computed.
  const std::vector<LaunchSpec> launches = {kernel(), collective(std::vector<std::size_t>{0}),
                                            kernel(std::vector<std::size_t>{0}),
                                            collective(std::vector<std::size_t>{2}), kernel()};
  // The second collective waits for the network; the last kernel for the launch before it.
  EXPECT_EQ(begins(launches, {10, 30, 10, 5, 1}), (std::vector<double>{0, 10, 10, 40, 45}));
}

TEST(Timeline, KernelsShareTheCores) {
  EXPECT_EQ(begins({kernel(), kernel(std::vector<std::size_t>{})}, {10, 5}),
            (std::vector<double>{0, 10}));
}

TEST(Timeline, AnotherRoundBeginsWhenAllIsOver) {
  const std::vector<LaunchSpec> launches = {kernel(), collective(std::vector<std::size_t>{})};
  Timeline timeline(launches);
  timeline.end(0, 10);
  timeline.end(1, 25);
  timeline.next_round();
  EXPECT_EQ(timeline.begin(0), 25);
  EXPECT_EQ(timeline.begin(1), 25);
}

std::string problems_of(const std::string& launches) {
  auto root = config::read_yaml(
      "schema: xpusim.workload/1\n"
      "tensors:\n"
      "  x: {dtype: f32, shape: [8]}\n"
      "  g: {dtype: f32, shape: [8]}\n"
      "launches:\n" +
          launches,
      "w.yaml");
  EXPECT_TRUE(root) << root.error().str();
  auto workload = parse_workload(*root, "w.yaml");
  return workload ? "" : workload.error().str();
}

TEST(LaunchOrder, NamesTellWhatComesAfterWhat) {
  EXPECT_EQ(problems_of("  - {name: a, kernel: k, args: [x, g]}\n"
                        "  - {name: r, collective: all_reduce, tensor: g, after: a}\n"
                        "  - {kernel: k, args: [x], after: [a]}\n"
                        "  - {kernel: k, args: [x, g], after: [r]}\n"),
            "");
}

TEST(LaunchOrder, WrongNamesAreTold) {
  EXPECT_NE(problems_of("  - {name: first, kernel: k}\n  - {kernel: k, after: firts}\n")
                .find("w.yaml:7:24: error: no launch before this one has the name 'firts'; did you "
                      "mean 'first'?"),
            std::string::npos);
  EXPECT_NE(problems_of("  - {name: a, kernel: k, after: [a]}\n").find("no launch before this one"),
            std::string::npos);
  EXPECT_NE(problems_of("  - {name: a, kernel: k}\n  - {name: a, kernel: k}\n")
                .find("a launch before this one has the name 'a' too"),
            std::string::npos);
  EXPECT_NE(problems_of("  - {name: a, kernel: k, after: {b: c}}\n").find("or a list of names"),
            std::string::npos);
}

TEST(LaunchOrder, AKernelMayNotRunBesideACollectiveThatWritesItsTensor) {
  const std::string race = problems_of(
      "  - {name: a, kernel: k, args: [x, g]}\n"
      "  - {name: r, collective: all_reduce, tensor: g, after: a}\n"
      "  - {kernel: k, args: [g], after: [a]}\n");
  EXPECT_NE(race.find("w.yaml:8:5: error: nothing says that this comes after 'r', but both have "
                      "'g', which the collective writes"),
            std::string::npos)
      << race;
  EXPECT_NE(problems_of("  - {kernel: k, args: [g]}\n"
                        "  - {collective: all_reduce, tensor: g, after: []}\n")
                .find("launch 1"),
            std::string::npos);
}

}  // namespace
}  // namespace xpusim::run
