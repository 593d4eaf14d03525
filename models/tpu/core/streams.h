#pragma once

// The DMAs that the loads and stores in loops of a program start.

#include <cstdint>
#include <optional>
#include <vector>

#include "models/tpu/core/kernel_body.h"

namespace xpusim::tpu {

/// Keeps the books of a step's streams: how many of each stream's transfers were started, have
/// ended, and were waited for. A stream's waits are in order, its transfers may end in any.
class Streams {
 public:
  void begin_step() { streams_.clear(); }

  /// The next transfer of a stream that may start while at most `ahead` are under way or unread.
  std::optional<Descriptor> start(std::uint32_t stream, std::uint32_t ahead, KernelBody& body);
  /// Whether a wait is over: the next transfer of an input is there; at most `ahead` of an output
  /// are under way.
  bool is_over(std::uint32_t stream, std::uint32_t ahead, const KernelBody& body) const;
  /// How many of a stream's waits are over.
  std::uint32_t passed(std::uint32_t stream) const {
    return stream < streams_.size() ? streams_[stream].passed : 0;
  }
  /// The core goes on past a wait.
  void pass(std::uint32_t stream);
  void complete(const Descriptor& transfer);

 private:
  struct Stream {
    std::uint32_t started = 0, passed = 0, ended = 0;
    std::vector<bool> done;
  };
  Stream& at(std::uint32_t stream);
  static constexpr Descriptor::For kWhom = Descriptor::For::kStream;

  std::vector<Stream> streams_;
};

}  // namespace xpusim::tpu
