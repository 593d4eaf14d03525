// A sweep ends with the same rows however often it is killed; what is wrong is said before it runs.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using testing::HasSubstr;

std::string launch_file() {
  return temporary("sweep/add.yaml", R"y(schema: xpusim.workload/1
name: add
tensors:
  x: {dtype: f32, shape: [8192], init: randn}
  y: {dtype: f32, shape: [8192], init: randn}
  out: {dtype: f32, shape: [8192], init: zeros}
launches:
  - kernel: )y" XPUSIM_SOURCE_DIR R"y(/workloads/triton/ir/vector_add_9450e7f62b
    grid: ["cdiv(n, BLOCK)"]
    constexprs: {BLOCK: 1024}
    args: {x_ptr: x, y_ptr: y, out_ptr: out, n: 8192}
variants:
  BLOCK:
    256: )y" XPUSIM_SOURCE_DIR R"y(/workloads/triton/ir/vector_add_c76ab505ec
    1024: )y" XPUSIM_SOURCE_DIR R"y(/workloads/triton/ir/vector_add_9450e7f62b
)y");
}

std::string sweep_file(const std::string& name, const std::string& grid) {
  launch_file();
  return temporary("sweep/" + name + ".yaml",
                   "schema: xpusim.sweep/1\nworkload: add.yaml\nmachine: h200\ngrid:\n" + grid);
}

std::string sixty_points() {
  return sweep_file("sixty",
                    "  gpu.sm.count: {from: 1, to: 4, step: 1}\n"
                    "  gpu.memory.hbm.timing.clock: {from: 0.4 GHz, to: 1.6 GHz, factor: 2}\n"
                    "  zip: {args.n: [1024, 2048, 3072, 4096, 8192], tensors.x.seed: [1, 2, 3, 4, "
                    "5]}\n");
}

std::string fresh_folder(const std::string& name) {
  const auto path = std::filesystem::path(temporary("sweep/mark", "")).parent_path() / name;
  std::filesystem::remove_all(path);
  return path.string();
}

Result sweep(const std::string& file, const std::string& out, const std::string& more = "") {
  return xpusim("sweep '" + file + "' --jobs 2 --out '" + out + "' " + more);
}

std::string csv_of(const std::string& folder) {
  const std::string file = folder + ".csv";
  const auto r = xpusim("collect '" + folder + "' --csv '" + file + "'");
  return r.exit_code == 0 ? read_file(file) : "";
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// A sweep that runs beside the test, as the leader of its own process group.
class Background {
 public:
  Background(const std::string& file, const std::string& out) {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      if (::chdir(XPUSIM_SOURCE_DIR) != 0) ::_exit(126);
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, 1);
      ::dup2(null, 2);
      ::execl(XPUSIM_BINARY, "xpusim", "sweep", file.c_str(), "--jobs", "1", "--out", out.c_str(),
              nullptr);
      ::_exit(127);
    }
    ::setpgid(pid_, pid_);
  }
  ~Background() {
    if (pid_ > 0) end(-pid_);
  }
  /// Waits until this many points are finished.
  int wait_for(const std::string& out, int points) const {
    int finished = 0;
    for (int i = 0; i < 2000 && finished < points; ++i) {
      ::usleep(20'000);
      finished = count(csv_of(out), ",ok,");
    }
    return finished;
  }
  void kill_group() { end(-pid_); }
  void kill_parent() { end(pid_); }

 private:
  void end(pid_t target) {
    ::kill(target, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
  }
  pid_t pid_ = -1;
};

/// Starts the sweep in the folder, kills it when it has finished ten more points, and returns how
/// many are finished then: all, if the machine let the sweep end before the kill.
int points_when_killed(const std::string& file, const std::string& out, int before,
                       void (Background::*kill)()) {
  Background running(file, out);
  EXPECT_GE(running.wait_for(out, before + 10), before + 10);
  (running.*kill)();
  return count(csv_of(out), ",ok,");
}

TEST(Sweep, OneThatWasKilledTwiceEndsWithTheRowsOfOneThatWasNot) {
  const auto file = sixty_points();
  const auto whole = fresh_folder("whole");
  ASSERT_EQ(sweep(file, whole).exit_code, 0);
  const auto want = csv_of(whole);
  ASSERT_EQ(count(want, ",ok,"), 60);

  // On a busy machine a sweep may end before it is killed: that try says nothing.
  for (int tries = 0; tries < 100; ++tries) {
    const auto cut = fresh_folder("cut");
    const int first = points_when_killed(file, cut, 0, &Background::kill_group);
    if (first >= 50) continue;
    const int second = points_when_killed(file, cut, first, &Background::kill_parent);
    if (second == 60) continue;
    EXPECT_EQ(count(csv_of(cut), ",failed,"), 0);

    const auto r = sweep(file, cut);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("60 points, 60 ok, 0 failed"));
    EXPECT_THAT(r.out, HasSubstr(std::to_string(second) + " points were finished before"));
    EXPECT_EQ(csv_of(cut), want);
    return;
  }
  FAIL() << "every sweep ended before it was killed";
}

TEST(Sweep, ARestartRunsNothingThatIsFinished) {
  const auto file = sweep_file("few", "  gpu.sm.count: [1, 2]\n  variants.BLOCK: [256, 1024]\n");
  const auto out = fresh_folder("few_out");
  ASSERT_EQ(sweep(file, out).exit_code, 0);
  const auto want = csv_of(out);
  EXPECT_THAT(sweep(file, out).out, HasSubstr("4 points were finished before"));
  EXPECT_EQ(csv_of(out), want);
  // Another point: the others need not run.
  const auto more = sweep_file("few", "  gpu.sm.count: [1, 2, 3]\n  variants.BLOCK: [256, 1024]\n");
  const auto r = sweep(more, out);
  EXPECT_THAT(r.out, HasSubstr("6 points, 6 ok"));
  EXPECT_THAT(r.out, HasSubstr("4 points were finished before"));
}

TEST(Sweep, FailedPointsAreNamedWithTheirReasonAndKeptOut) {
  const auto file = sweep_file("broken", "  args.n: [1024, 9216, 1000]\n");
  const auto out = fresh_folder("broken_out");
  const auto r = sweep(file, out);
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.out, HasSubstr("3 points, 1 ok, 2 failed"));
  EXPECT_THAT(r.out, HasSubstr("geometric mean of 1 times"));
  EXPECT_THAT(r.out, HasSubstr("failed: add on h200, args.n = 9216\n"));
  EXPECT_THAT(r.out, HasSubstr("kernels.py:"));
  EXPECT_THAT(r.out, HasSubstr("broken.yaml:5:24: 'n' is compiled as divisible by 16"));
  EXPECT_THAT(sweep(file, out).out, HasSubstr("3 points were finished before"));
  EXPECT_THAT(sweep(file, out, "--retry").out, HasSubstr("1 points were finished before"));
  EXPECT_EQ(count(csv_of(out), ",failed,"), 2);
}

TEST(Sweep, TwoInOneFolderAreRefused) {
  const auto file = sweep_file("few", "  gpu.sm.count: [1, 2]\n");
  const auto out = fresh_folder("shared");
  ASSERT_EQ(sweep(file, out).exit_code, 0);
  // What a running sweep holds.
  const int lock = ::open((out + "/sweep.lock").c_str(), O_RDWR);
  ASSERT_GE(lock, 0);
  struct flock held {};
  held.l_type = F_WRLCK;
  held.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(lock, F_SETLK, &held), 0);
  const auto refused = sweep(file, out);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("error: another sweep is running in this folder"));
  ::close(lock);
  EXPECT_EQ(sweep(file, out).exit_code, 0);
}

/// The first complaint about a sweep with this grid; nothing may have run.
std::string complaint(const std::string& grid) {
  const auto out = fresh_folder("wrong_out");
  const auto r = sweep(sweep_file("wrong", grid), out);
  EXPECT_EQ(r.exit_code, 2) << r.out;
  EXPECT_EQ(r.out, "");
  EXPECT_FALSE(std::filesystem::exists(out));
  const auto at = r.err.find("wrong.yaml");
  return at == std::string::npos ? r.err : r.err.substr(at);
}

TEST(Sweep, WhatIsWrongIsSaidBeforeAnythingRuns) {
  const auto path = complaint("  gpu.sm.cuont: [1, 2]\n");
  EXPECT_THAT(path, HasSubstr("wrong.yaml:5:3: error: unknown"));
  EXPECT_THAT(path, HasSubstr("did you mean 'count'?"));
  EXPECT_THAT(complaint("  gpu.clock: [1 GHz, 2 GB]\n"),
              HasSubstr("wrong.yaml:5:22: error: gpu.clock"));
  EXPECT_THAT(complaint("  gpu.sm.count: [4, -3]\n"),
              HasSubstr("wrong.yaml:5:21: error: gpu.sm.count"));
  EXPECT_THAT(complaint("  gpu.sm: [4]\n"), HasSubstr("wrong.yaml:5:3: error: this is a map"));
  EXPECT_THAT(complaint("  gpuu.sm.count: [4]\n"), HasSubstr("did you mean 'gpu'?"));
  EXPECT_EQ(complaint("  args.m: [4]\n"), "wrong.yaml:5:3: error: no launch has 'm' in its args\n");
  EXPECT_THAT(complaint("  tensors.x.shape: [[0]]\n"),
              HasSubstr("wrong.yaml:5:22: error: '0' is no dimension"));
  EXPECT_THAT(complaint("  variants.BLOCK: [512]\n"), HasSubstr("there are 256, 1024"));
  EXPECT_THAT(complaint("  args.n: []\n"), HasSubstr("wrong.yaml:5:11: error: the grid is empty"));
  EXPECT_THAT(complaint("  args.n: [16, 16]\n"),
              HasSubstr("points 1 and 2 of the grid are the same"));
}

TEST(Sweep, FilesThatAreNotThereAreNamedWhereTheSweepNamesThem) {
  const auto file = temporary("sweep/lost.yaml",
                              "schema: xpusim.sweep/1\nworkload: lost_add.yaml\nmachine: h2000\n"
                              "grid: {args.n: 16}\n");
  const auto r = sweep(file, fresh_folder("lost_out"));
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("lost.yaml:2:11: error: "));
  EXPECT_THAT(r.err, HasSubstr("lost_add.yaml: cannot open"));
  EXPECT_THAT(r.err, HasSubstr("lost.yaml:3:10: error: no machine 'h2000'"));
  EXPECT_THAT(r.err, HasSubstr("did you mean 'h200'?"));
}

TEST(Collect, WritesCsvJsonAndAPlot) {
  const auto file = sweep_file("plot", "  gpu.sm.count: [1, 2, 4]\n  args.n: [2048, 8192]\n");
  const auto out = fresh_folder("plot_out");
  ASSERT_EQ(sweep(file, out).exit_code, 0);
  const auto r = xpusim("collect '" + out + "' --json '" + out + ".json' --svg '" + out +
                        ".svg' --x gpu.sm.count --y time_ns --by args.n");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const auto j = nlohmann::json::parse(read_file(out + ".json"));
  EXPECT_EQ(j["schema"], "xpusim.sweep_results/1");
  ASSERT_EQ(j["rows"].size(), 6u);
  for (const auto& row : j["rows"]) {
    EXPECT_GT(row["time_ns"], 0);
    EXPECT_GT(row["energy_uj"], 0);
    EXPECT_GE(row["bound_ratio"], 1);
  }
  EXPECT_THAT(read_file(out + ".svg"), HasSubstr(">gpu.sm.count<"));
  EXPECT_THAT(xpusim("collect '" + out + "'").out, HasSubstr("gpu.sm.count"));
  const auto bad = xpusim("collect '" + out + "' --svg /tmp/x.svg --x gpu.sm.cuont --y time_ns");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("did you mean 'gpu.sm.count'?"));
  EXPECT_EQ(xpusim("collect /tmp").exit_code, 2);
}

TEST(Sweep, TheSweepsOfTheProjectAreRight) {
  // A folder that cannot be made: everything is checked before it would be.
  for (const auto& entry :
       std::filesystem::directory_iterator(XPUSIM_SOURCE_DIR "/configs/sweeps")) {
    const auto r = xpusim("sweep '" + entry.path().string() + "' --out /dev/null/x");
    EXPECT_EQ(r.err, "/dev/null/x: error: cannot make this folder\n");
  }
}

}  // namespace
}  // namespace xpusim::e2e
