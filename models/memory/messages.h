#pragma once

// The protocol between a processor (an SM, a DMA engine), the L2 slices and the HBM channels.

#include <cstdint>

namespace xpusim::memory {

inline constexpr std::uint32_t kSectorBytes = 32;   ///< the unit of L1, L2 traffic (NVIDIA since Volta)
inline constexpr std::uint32_t kLineBytes = 128;    ///< a cache line: four sectors
inline constexpr std::uint32_t kDramAtomBytes = 64; ///< what HBM moves at once (measured on the H200)

/// Message::kind. In a request `address` is the first line's address, `data` the sector mask (bit i:
/// sector i from `address`; up to 16 sectors, 512 B), `tag` the requester's own number, `from` the
/// requester's component id. A response returns `tag` and the mask.
enum Kind : std::uint16_t {
  kRead = 1,
  kWrite,
  kAtomic,        ///< performed at the slice; `count`: passes (largest multiplicity of one address)
  kReadDone,
  kWriteDone,
  kAtomicDone,
  kFarRead,       ///< slice to slice: the other half's copy asks the home slice
  kFarWrite,
  kFarDone,
  kFlush,         ///< write back what is dirty
};

}  // namespace xpusim::memory
