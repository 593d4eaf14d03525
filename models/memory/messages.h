#pragma once

// The protocol between a processor (an SM, a DMA engine), the L2 slices and the HBM channels.

#include <bit>
#include <cstdint>

#include "sim/engine/component.h"

namespace xpusim::memory {

inline constexpr std::uint32_t kSectorBytes =
    32;  ///< the unit of L1, L2 traffic (NVIDIA since Volta)
inline constexpr std::uint32_t kLineBytes = 128;  ///< a cache line: four sectors
inline constexpr std::uint32_t kDramAtomBytes =
    64;  ///< what HBM moves at once (measured on the H200)
inline constexpr std::uint32_t kBlockBytes = 512;  ///< what one message covers at most: 16 sectors

/// The tag of a request that wants no reply (a store that nothing waits for). Reads always get one.
inline constexpr std::uint32_t kNoReply = ~0u;

/// Message::kind. In a request `address` is the first line's address, `data` the sector mask (bit
/// i: sector i from `address`; up to 16 sectors, 512 B), `tag` the requester's own number, `from`
/// the requester's component id. A response returns `tag`, `address` and the mask, once all of it
/// is done.
///
/// A request must not leave its aligned block of 512 B (kBlockBytes): a block lies in one slice,
/// one pseudo channel and one DRAM row, a pair of blocks need not. A transfer of many bytes is
/// therefore cut at multiples of 512 B (for_each_block below).
enum Kind : std::uint16_t {
  kRead = 1,
  kWrite,   ///< `count`: its sectors of which only some bytes are written
  kAtomic,  ///< performed at the slice; `count`: passes over its sectors (kFloatPasses)
  kReadDone,
  kWriteDone,
  kAtomicDone,
  kFarRead,  ///< slice to slice: the other half's copy asks the home slice
  kFarWrite,
  kFarDone,
  kFlush,   ///< write back what is dirty
  kReduce,  ///< an atomic without a result; `count` as for kAtomic, reply kAtomicDone if wanted
  kFarAtomic,
  kFarReduce,
  kFarInvalidate,  ///< home slice to the other half's copy: these sectors were written
};

/// `count` of an atomic: its passes over all its sectors, at least one over each; with this bit
/// set they add floats.
inline constexpr std::uint16_t kFloatPasses = 0x8000;

/// Sectors in a request or response.
inline std::uint32_t sectors(const engine::Message& m) {
  return static_cast<std::uint32_t>(std::popcount(m.data & 0xffffu));
}

/// Lines of a line-aligned block that these of its sectors lie in.
inline std::uint32_t lines_of(std::uint32_t mask) {
  constexpr std::uint32_t kFirstOfEach = 0x1111;
  return static_cast<std::uint32_t>(
      std::popcount((mask | mask >> 1 | mask >> 2 | mask >> 3) & kFirstOfEach));
}

/// The sectors of all 64 B atoms that these sectors of a line-aligned address lie in.
inline std::uint16_t whole_atoms(std::uint32_t mask) {
  return static_cast<std::uint16_t>(mask | (mask & 0x5555u) << 1 | (mask & 0xaaaau) >> 1);
}

/// Bytes of data that travel with a message, without its header.
inline std::uint32_t payload_bytes(const engine::Message& m) {
  switch (m.kind) {
    case kWrite:
    case kFarWrite:
    case kReadDone:
    case kFarDone:
    case kAtomicDone:
    case kAtomic:
    case kReduce:
    case kFarAtomic:
    case kFarReduce:
      return sectors(m) * kSectorBytes;
    default:
      return 0;
  }
}

/// What else a message holds up on its way, in bytes: a write, as much again for each sector of
/// which it leaves bytes as they are. (Fitted to four kernels on an H200: stores of 2 to 6 bytes of
/// each sector go at 35 sectors a cycle of the chip, whole ones at 78. Whether the network, the SM
/// or a slice's read-modify-write takes the time is not known; here it is the way to the slice.)
inline std::uint32_t held_up_bytes(const engine::Message& m) {
  return m.kind == kWrite ? m.count * kSectorBytes : 0;
}

/// Calls f(line_address, sector_mask) for each message that a contiguous transfer needs.
template <class F>
void for_each_block(std::uint64_t address, std::uint64_t bytes, F&& f) {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const std::uint64_t block = address / kBlockBytes * kBlockBytes;
    const std::uint64_t stop = end < block + kBlockBytes ? end : block + kBlockBytes;
    const std::uint64_t line = address / kLineBytes * kLineBytes;
    const auto first = static_cast<unsigned>((address - line) / kSectorBytes);
    const auto last = static_cast<unsigned>((stop - 1 - line) / kSectorBytes);
    f(line, ((2u << last) - 1u) & ~((1u << first) - 1u));
    address = stop;
  }
}

}  // namespace xpusim::memory
