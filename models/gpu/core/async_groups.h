#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>

namespace xpusim::gpu {

/// The asynchronous work of one warp (copies, or matrix products), in groups that a program closes
/// and waits for by their number, oldest first: the last group is open, those before it are closed.
/// Work ends at a cycle that is known when it begins (add), or by a later event (begin, then end).
/// Up to 255 groups are told apart; of more, the oldest two count as one, so that a wait may take
/// longer than it must.
class AsyncGroups {
 public:
  static constexpr std::uint32_t kUnknown = ~0u;  ///< an event has still to come

  void clear() {
    groups_.assign(1, {});
    first_ = 0;
  }
  /// Work of the open group that ends at `at`.
  void add(std::uint32_t at) { groups_.back().done = std::max(groups_.back().done, at); }
  /// The open group's number.
  std::uint8_t open() const { return static_cast<std::uint8_t>(first_ + groups_.size() - 1); }
  /// Work of the open group that ends with end().
  void begin() { ++groups_.back().left; }
  void end(std::uint8_t group, std::uint32_t at) {
    const auto i = static_cast<std::uint8_t>(group - first_);
    Group& g = groups_[i < groups_.size() ? i : 0];
    --g.left;
    g.done = std::max(g.done, at);
  }
  /// Closes the open group, at `now`.
  void close(std::uint32_t now) {
    std::size_t over = 0;
    while (over + 1 < groups_.size() && groups_[over].left == 0 && groups_[over].done <= now) {
      ++over;
    }
    groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(over));
    first_ = static_cast<std::uint8_t>(first_ + over);
    if (groups_.size() == kMost) merge_oldest();
    groups_.emplace_back();
  }
  /// When at most `pending` closed groups are under way, or kUnknown.
  std::uint32_t ready(std::uint32_t pending) const {
    std::uint32_t at = 0;
    for (std::size_t i = 0; i + 1 + pending < groups_.size(); ++i) {
      if (groups_[i].left > 0) return kUnknown;
      at = std::max(at, groups_[i].done);
    }
    return at;
  }

 private:
  static constexpr std::size_t kMost = 256;
  struct Group {
    std::uint32_t left = 0;  ///< work that ends by an event
    std::uint32_t done = 0;  ///< cycle at which the rest has ended
  };
  void merge_oldest() {
    groups_[1].left += groups_[0].left;
    groups_[1].done = std::max(groups_[0].done, groups_[1].done);
    groups_.erase(groups_.begin());
    ++first_;
  }

  /// Of the warp's own memory: what completes comes to another warp each time.
  static constexpr std::size_t kOwn = 12;  // with the rest two lines of the host's cache
  boost::container::small_vector<Group, kOwn> groups_{1};
  std::uint8_t first_ = 0;  ///< number of groups_[0]
};

}  // namespace xpusim::gpu
