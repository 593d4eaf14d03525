#pragma once

#include <chrono>

#include "sim/run/sweep_run.h"

namespace xpusim::cli {

/// The progress line of a sweep: "12/60 points, 1 failed (40 s left)".
class SweepProgressLine {
 public:
  void show(const run::SweepProgress& progress);
  std::size_t earlier() const { return earlier_; }  ///< points that were finished before it began

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t earlier_ = 0;
};

}  // namespace xpusim::cli
