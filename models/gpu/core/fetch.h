#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/gpu/core/kernel_image.h"
#include "sim/engine/prefetch.h"

namespace xpusim::gpu {

/// Lines of a cache in the order of their last use; the one that was not used for longest yields.
class LineOrder {
 public:
  LineOrder(std::size_t lines, std::uint32_t capacity) : links_(lines + 1), capacity_(capacity) {
    end_ = static_cast<std::uint32_t>(lines);
    links_[end_] = {end_, end_, false};
  }
  bool holds(std::uint32_t line) const { return links_[line].held; }
  void use(std::uint32_t line) {
    if (links_[line].held) {
      take_out(line);
    } else if (count_ == capacity_) {
      const std::uint32_t oldest = links_[end_].before;
      take_out(oldest);
      links_[oldest].held = false;
    } else {
      ++count_;
    }
    const std::uint32_t first = links_[end_].after;
    links_[line] = {end_, first, true};
    links_[end_].after = links_[first].before = line;
  }

 private:
  struct Link {
    std::uint32_t before, after;
    bool held;
  };
  void take_out(std::uint32_t line) {
    links_[links_[line].before].after = links_[line].after;
    links_[links_[line].after].before = links_[line].before;
  }

  std::vector<Link> links_;  // [line]; the last one closes the ring
  std::uint32_t capacity_, count_ = 0, end_ = 0;
};

/// The instruction path of an SM: 128-byte lines, cold at the start of a launch, fetched when a
/// warp reaches them together with the lines that follow. Two caches, each of which keeps what was
/// used last: code beyond the first comes from the second at one interval a line, code beyond that
/// from the L2 at another. Left out: the small caches of the sub-cores, whose misses the prefetcher
/// hides in loops, and the queueing of all SMs at one L2 slice when they begin together.
class InstructionFetch {
 public:
  InstructionFetch(const FetchParams& p, std::size_t instructions)
      : miss_latency_(cycles(p.miss_latency)),
        line_interval_(cycles(p.line_interval)),
        second_latency_(cycles(p.second_latency)),
        l2_interval_(cycles(p.l2_interval)),
        cold_interval_(cycles(p.cold_interval)),
        preloaded_(lines_of(p.preloaded_bytes)),
        ahead_(cycles(p.prefetch_lines)),
        arrives_((instructions + kInstructionsOfLine - 1) / kInstructionsOfLine, kAbsent),
        fits_(arrives_.size() <= lines_of(p.first_bytes)),
        first_(arrives_.size(), lines_of(p.first_bytes)),
        second_(arrives_.size(), lines_of(p.second_bytes)) {}

  /// The cycle at which the line of `pc` is there, when a warp reaches it at `now`. To be asked
  /// when a warp enters a line.
  std::uint32_t enter(std::uint32_t pc, std::uint32_t now) {
    const std::uint32_t line = pc / kInstructionsOfLine;
    const auto lines = static_cast<std::uint32_t>(arrives_.size());
    const std::uint32_t end = std::min(line + 1 + ahead_, lines);
    for (std::uint32_t i = line; i < end; ++i) {
      if (fits_ ? arrives_[i] == kAbsent : !first_.holds(i)) fetch(i, now);
    }
    if (!fits_) first_.use(line);
    return arrives_[line];
  }
  /// Brings what enter() will look at of a code that fits into the host's cache.
  void prefetch() const {
    if (fits_) engine::prefetch(arrives_.data(), arrives_.size() * sizeof arrives_[0]);
  }
  std::uint64_t lines_fetched() const { return fetched_; }

 private:
  static constexpr std::uint32_t kAbsent = ~0u;
  static std::uint32_t cycles(std::int64_t n) { return static_cast<std::uint32_t>(n); }
  static std::uint32_t lines_of(std::int64_t bytes) {
    return static_cast<std::uint32_t>(bytes / (kInstructionsOfLine * kInstructionBytes));
  }

  void fetch(std::uint32_t line, std::uint32_t now) {
    const bool cold = arrives_[line] == kAbsent;
    std::uint32_t latency = miss_latency_, interval = line_interval_;
    if (cold) {
      if (line >= preloaded_) interval = cold_interval_;
    } else if (second_.holds(line)) {
      latency = second_latency_;
    } else {
      interval = l2_interval_;
    }
    arrives_[line] = std::max(now + latency, fetched_ ? last_arrival_ + interval : 0);
    last_arrival_ = arrives_[line];
    ++fetched_;
    if (fits_) return;
    first_.use(line);
    second_.use(line);
  }

  std::uint32_t miss_latency_, line_interval_, second_latency_, l2_interval_, cold_interval_;
  std::uint32_t preloaded_, ahead_;
  std::vector<std::uint32_t> arrives_;  // by line, the last time; kAbsent: never asked for
  bool fits_;                           // the first cache holds the whole code
  LineOrder first_, second_;
  std::uint32_t last_arrival_ = 0;
  std::uint64_t fetched_ = 0;
};

}  // namespace xpusim::gpu
