#pragma once

// What a copying core does, one thing after another.

#include <cstdint>
#include <vector>

#include "models/network/collectives/schedule.h"

namespace xpusim::network {

inline constexpr std::uint32_t kNoTransfer = ~0u;

/// Takes what a neighbour has put into the receive buffer, or reads the chip's own memory; adds to
/// it if that transfer reduces; sends it on, or keeps it, or both.
struct ChannelAction {
  /// A transfer that must have been received before: as far as this action is, or all of it.
  struct After {
    std::uint32_t transfer = 0;
    bool whole = true;
  };
  std::uint32_t in = kNoTransfer;   ///< the transfer that it receives
  std::uint32_t out = kNoTransfer;  ///< the transfer that it sends (kNoTransfer: none)
  std::uint64_t bytes = 0;
  std::uint8_t reads = 1, writes = 0;  ///< of local memory, in times its bytes
  std::vector<After> after;
};

/// The actions of one part of the data on one chip. Those of a segment are done chunk by chunk, all
/// of them for one chunk before the next one.
struct ChannelProgram {
  std::uint32_t chip = 0;
  std::vector<std::vector<ChannelAction>> segments;
};

/// The programs of a schedule: a transfer that continues another one is fused with it (receive,
/// reduce, copy, send), as NCCL's primitives are. `apart`: sends and receives go in programs of
/// their own, as for exchanges, where they would wait for each other.
std::vector<ChannelProgram> channel_programs(const Schedule& schedule, bool apart);

}  // namespace xpusim::network
