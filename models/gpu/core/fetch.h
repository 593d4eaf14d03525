#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/gpu/core/kernel_image.h"

namespace xpusim::gpu {

/// The instruction path of an SM: 128-byte lines, cold at the start of a launch, fetched on first
/// touch together with the lines that follow; a line that has come stays (kernels fit the 128 KB of
/// the third level). Left out: the small first level of each sub-core, whose misses the prefetcher
/// hides in loops, and the queueing of all SMs at one L2 slice when they begin together; the
/// latency of a line is a parameter instead.
class InstructionFetch {
 public:
  InstructionFetch(const FetchParams& p, std::size_t instructions)
      : miss_latency_(static_cast<std::uint32_t>(p.miss_latency)),
        line_interval_(static_cast<std::uint32_t>(p.line_interval)),
        ahead_(static_cast<std::uint32_t>(p.prefetch_lines)),
        arrives_((instructions + kInstructionsOfLine - 1) / kInstructionsOfLine, kAbsent) {}

  /// The cycle at which the line of `pc` is there, when a warp reaches it at `now`. To be asked
  /// when a warp enters a line.
  std::uint32_t enter(std::uint32_t pc, std::uint32_t now) {
    const std::uint32_t line = pc / kInstructionsOfLine;
    const auto lines = static_cast<std::uint32_t>(arrives_.size());
    const std::uint32_t end = std::min(line + 1 + ahead_, lines);
    for (std::uint32_t i = line; i < end; ++i) {
      if (arrives_[i] != kAbsent) continue;
      arrives_[i] = std::max(now + miss_latency_, fetched_ ? last_arrival_ + line_interval_ : 0);
      last_arrival_ = arrives_[i];
      ++fetched_;
    }
    return arrives_[line];
  }
  std::uint64_t lines_fetched() const { return fetched_; }

 private:
  static constexpr std::uint32_t kAbsent = ~0u;
  std::uint32_t miss_latency_, line_interval_, ahead_;
  std::vector<std::uint32_t> arrives_;  // by line; kAbsent: never asked for
  std::uint32_t last_arrival_ = 0;
  std::uint64_t fetched_ = 0;
};

}  // namespace xpusim::gpu
