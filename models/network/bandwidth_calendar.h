#pragma once

#include <array>
#include <cstdint>

#include "sim/engine/time.h"

namespace xpusim::network {

/// The bandwidth of a port over the next cycles, in slots of a few cycles. A transfer takes the
/// first free bytes at or after the time it is ready, so transfers may be booked in any order of
/// time: one that is ready late does not block the port for one that is ready early.
///
/// Within a slot the order of booking decides, so a transfer may be up to a slot (8 cycles) off its
/// exact first-come-first-served time. The horizon is 64 slots; a booking beyond it waits in line
/// behind it.
class BandwidthCalendar {
 public:
  static constexpr unsigned kSlotBits = 3;
  static constexpr engine::Cycle kSlotCycles = engine::Cycle{1} << kSlotBits;
  static constexpr engine::Cycle kSlots = 64;

  explicit BandwidthCalendar(std::uint32_t bytes_per_cycle);

  /// Books `bytes` from cycle `ready` on; returns the cycle at which the last of them has passed
  /// (at least ready; a transfer that fits into one cycle of a free port takes none).
  engine::Cycle book(engine::Cycle ready, std::uint32_t bytes);

 private:
  std::uint32_t bytes_per_cycle_, slot_bytes_;
  std::uint64_t first_slot_ = 0;              ///< slot number of the window's start
  std::uint64_t full_ = 0;                    ///< bit (slot mod 64): nothing left
  std::array<std::uint32_t, kSlots> used_{};  ///< bytes booked, by slot mod 64
};

}  // namespace xpusim::network
