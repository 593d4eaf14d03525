#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/engine/time.h"

namespace xpusim::network {

/// The bandwidth of a port over the next cycles, in slots of a few cycles. A transfer takes the
/// first free bytes at or after the time it is ready, so transfers may be booked in any order of
/// time: one that is ready late does not block the port for one that is ready early.
///
/// Within a slot the order of booking decides, so a transfer may be up to a slot (32 cycles) off
/// its exact first-come-first-served time; rates are exact. The calendar reaches 64 slots (2048
/// cycles) ahead, as far as a slice that all SMs ask at once dates its answers: what does not fit
/// waits in line behind it, and a transfer that is ready only after it, with no such line, is not
/// booked at all (it sees a free port).
class alignas(64) BandwidthCalendar {
 public:
  static constexpr unsigned kSlotBits = 5;
  static constexpr engine::Cycle kSlotCycles = engine::Cycle{1} << kSlotBits;
  static constexpr std::uint32_t kMaxBytesPerCycle = 2047;  ///< a slot's bytes fit into 16 bits
  static constexpr std::uint64_t kSlots = 64;

  explicit BandwidthCalendar(std::uint32_t bytes_per_cycle);

  /// At cycle `now` (which does not decrease) books `bytes` from cycle `ready` >= now on; returns
  /// the cycle in which the last of them passes: `ready` if a free port takes them in one cycle.
  engine::Cycle book(engine::Cycle now, engine::Cycle ready, std::uint32_t bytes) {
    const std::uint64_t slot = ready >> kSlotBits;
    std::uint16_t& used = used_[slot % kSlots];
    const bool fits = slot - first_ < kSlots && used + bytes < slot_bytes_;
    if (now >> kSlotBits > first_ || !fits || bytes == 0) [[unlikely]]
      return book_slots(now, ready, bytes);
    booked_ += bytes;
    used = static_cast<std::uint16_t>(used + bytes);
    return std::max(ready + span(bytes), (slot << kSlotBits) + span(used));
  }
  /// Cycles from that of the first of `bytes` > 0 to that of the last, on a free port. Exact up to
  /// 2^20 bytes.
  std::uint32_t span(std::uint32_t bytes) const {
    return static_cast<std::uint32_t>(std::uint64_t{bytes - 1} * reciprocal_ >> 32);
  }

  /// Cycles that all bytes booked so far take of the port.
  double busy_cycles() const { return static_cast<double>(booked_) / bytes_per_cycle_; }

 private:
  engine::Cycle book_slots(engine::Cycle now, engine::Cycle ready, std::uint32_t bytes);
  void advance(std::uint64_t first);
  std::uint64_t first_free(std::uint64_t slot) const;
  bool in_window(std::uint64_t slot) const { return slot < first_ + kSlots; }

  std::uint32_t bytes_per_cycle_, slot_bytes_;
  std::uint64_t reciprocal_;  ///< 2^32 / bytes_per_cycle_, rounded up
  std::uint64_t first_ = 0;   ///< the window's first slot
  std::uint64_t full_ = 0;    ///< bit (slot mod 64): nothing left
  std::uint64_t line_ = 0;    ///< end of the line behind the window, in bytes since 0
  std::uint64_t booked_ = 0;  ///< bytes
  std::array<std::uint16_t, kSlots> used_{};  ///< bytes booked, by slot mod 64
};

}  // namespace xpusim::network
