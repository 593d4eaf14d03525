#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace xpusim::stats {

/// How often values of a size occurred (latencies in cycles, queue lengths): count, sum, least and
/// greatest are exact, the distribution is kept in powers of two. Bin 0 holds zeros, bin b the
/// values of [2^(b-1), 2^b).
class Histogram {
 public:
  static constexpr std::size_t kBins = 65;

  void record(std::uint64_t value, std::uint64_t times = 1) {
    if (times == 0) return;
    bins_[static_cast<std::size_t>(std::bit_width(value))] += times;
    count_ += times;
    sum_ += value * times;
    least_ = std::min(least_, value);
    greatest_ = std::max(greatest_, value);
  }
  void add(const Histogram& other) {
    for (std::size_t b = 0; b < kBins; ++b) bins_[b] += other.bins_[b];
    count_ += other.count_;
    sum_ += other.sum_;
    least_ = std::min(least_, other.least_);
    greatest_ = std::max(greatest_, other.greatest_);
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t least() const { return count_ == 0 ? 0 : least_; }
  std::uint64_t greatest() const { return greatest_; }
  std::uint64_t bin(std::size_t b) const { return bins_[b]; }
  /// Mean value; 0 of nothing.
  double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  /// No more than `share` (0 to 1) of the values are greater than this; at most twice too large.
  std::uint64_t at_most(double share) const {
    const double wanted = share * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t b = 0; b < kBins; ++b) {
      seen += bins_[b];
      if (seen == 0 || static_cast<double>(seen) < wanted) continue;
      const std::uint64_t top = b == 0 ? 0 : ~std::uint64_t{0} >> (64 - b);
      return std::clamp(top, least(), greatest_);
    }
    return greatest_;
  }

 private:
  std::array<std::uint64_t, kBins> bins_{};
  std::uint64_t count_ = 0, sum_ = 0;
  std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max(), greatest_ = 0;
};

}  // namespace xpusim::stats
