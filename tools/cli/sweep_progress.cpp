#include "tools/cli/sweep_progress.h"

#include <fmt/format.h>

#include "tools/cli/console.h"

namespace xpusim::cli {

void SweepProgressLine::show(const run::SweepProgress& p) {
  if (p.ran == 0) earlier_ = p.finished;
  std::string text = fmt::format("{}/{} points", p.finished, p.points);
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
  if (p.ran > 0)
    text += fmt::format(" ({:.0f} s left)", wall.count() / static_cast<double>(p.ran) *
                                                static_cast<double>(p.to_run - p.ran));
  progress(text);
}

}  // namespace xpusim::cli
