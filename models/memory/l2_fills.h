#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace xpusim::memory {

/// The reads of one L2 slice that are on their way from memory or from the home slice, and the
/// requests that wait for them: a request for sectors that are under way joins the waiting ones (no
/// second read).
class L2Fills {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  /// A request that is answered when the last of its fills has come.
  struct Waiter {
    std::uint64_t address;
    std::uint32_t from, tag;
    std::uint16_t mask, kind, count;
    std::uint16_t fills;
  };
};

}  // namespace xpusim::memory
