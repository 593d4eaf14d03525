#pragma once

// Collectives as programs of transfers: who sends which bytes to whom, after what.

#include <cstdint>
#include <vector>

namespace xpusim::network {

/// A chip's memory as a schedule sees it. The input is never written.
enum class Space : std::uint8_t { kInput, kOutput, kScratch };

struct Place {
  Space space = Space::kInput;
  std::uint64_t offset = 0;  ///< bytes
};

/// Bytes of a transfer that must have been delivered before others go on: for the first n bytes of
/// the transfer that needs it, its first n + shift (as far as it has that many; none if negative).
struct Need {
  std::uint32_t transfer = 0;
  std::int64_t shift = 0;
  static constexpr std::int64_t kWhole = std::int64_t{1} << 60;
};

/// Puts bytes of one chip's memory into another one's (or its own), in order, and may add what is
/// at a place there: to = from + addend. The bytes are contiguous, or rows of `row` bytes that
/// begin `pitch` apart, in planes of `rows` of them that begin `plane_pitch` apart, alike in all
/// places.
struct Transfer {
  std::uint32_t src = 0, dst = 0;
  std::uint64_t bytes = 0;
  std::uint32_t first_need = 0, needs = 0;
  bool reduces = false;
  std::uint16_t part = 0;  ///< of the data: parts go their own ways, side by side
  Place from, to, addend;
  std::uint64_t row = 0, pitch = 0;  ///< row 0: contiguous
  std::uint64_t rows = 1, plane_pitch = 0;

  /// Where its byte `at` lies, from a place on.
  std::uint64_t offset(std::uint64_t at) const {
    if (row == 0) return at;
    const std::uint64_t n = at / row;
    return n / rows * plane_pitch + n % rows * pitch + at % row;
  }
};

/// Transfers in an order in which each needs earlier ones only.
struct Schedule {
  std::vector<Transfer> transfers;
  std::vector<Need> needs;
  std::uint64_t scratch_bytes = 0;  ///< of each chip
};

}  // namespace xpusim::network
