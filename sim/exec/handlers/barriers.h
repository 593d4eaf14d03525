#pragma once

#include <cstdint>
#include <vector>

#include "sim/exec/step_interpreter.h"

namespace xpusim::exec {

/// The mbarriers of one block: each counts arrivals and bytes of copies, and goes from phase to
/// phase. Copies arrive when they start, since a block runs as one; what they bring may be used
/// only after a wait (AsyncCopy).
class Barriers {
 public:
  struct Barrier {
    std::uint32_t buffer;
    std::int64_t offset;
    std::int64_t count;    ///< arrivals that complete a phase
    std::int64_t pending;  ///< arrivals that the present phase still waits for
    std::int64_t bytes;    ///< bytes of copies likewise
    std::int64_t phase;    ///< phases completed
    std::int64_t number;   ///< of the present phase, among all phases of the block's mbarriers
    std::int64_t last;     ///< of the last one completed, or kNoPhase
  };

  void clear() {
    all_.clear();
    phases_ = 0;
  }
  void init(const View& place, std::int64_t count);
  void invalidate(const View& place);
  Barrier* find(const View& place);

  /// False: more arrivals than the phase counts.
  bool arrive(Barrier& b, std::int64_t arrivals);
  static void expect(Barrier& b, std::int64_t bytes) { b.bytes += bytes; }
  void complete(Barrier& b, std::int64_t bytes);

 private:
  void settle(Barrier& b);
  std::vector<Barrier> all_;
  std::int64_t phases_ = 0;  ///< numbers given
};

/// Frame::AsyncCopy::group of copies that an mbarrier covers, and of stores by TMA, which have
/// groups of their own.
constexpr std::int64_t kBarrierGroups = std::int64_t{1} << 62;
constexpr std::int64_t kStoreGroups = std::int64_t{1} << 61;
inline std::int64_t group_of(const Barriers::Barrier& b) {
  return kBarrierGroups | static_cast<std::int64_t>(b.buffer) << 32 | b.offset;
}

}  // namespace xpusim::exec
