#pragma once

// What the warps of one SM did, cycle by cycle, and where their memory instructions went: for
// pictures.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/gpu/core/stall.h"
#include "models/gpu/program/footprint.h"

namespace xpusim::gpu {

/// Keeps a window of an SM's cycles, warp slot by warp slot, with the reason for each, as the cycle
/// counts of warps have it; and, over the whole launch, what each instruction asked of the memory.
/// Of the addresses it keeps two executions an instruction: the first one with an active lane, and
/// the first of those that touched most sectors. Copies by TMA have no lanes and are left out. It
/// only listens: nothing in the SM depends on it.
class SmRecorder {
 public:
  /// Slots of the SM: sub-core * 16 + slot of the sub-core.
  static constexpr std::size_t kSlots = 64;
  static constexpr std::uint16_t kNoPc = 0xffff;

  struct Window {
    std::optional<std::uint64_t> first;  ///< cycle; absent: when the SM gets its first block
    std::uint64_t cycles = 20'000;
    std::uint64_t most_spans = 400'000;  ///< then the window ends
  };
  SmRecorder(const Window& window, std::size_t instructions);

  /// A warp's stay in a slot.
  struct Life {
    std::uint64_t begun = 0, block = 0;
    std::uint32_t in_block = 0;
  };
  /// The warp that the next spans of the slot belong to; told again before each.
  void alive(std::size_t slot, const Life& life);
  /// From the end of the slot's last span until `until` the warp was in this state, on the way to
  /// issuing instruction `pc`.
  void span(std::size_t slot, std::uint64_t until, Stall state, std::uint16_t pc);
  /// Instruction `pc` has been issued; `acts`: it is not switched off for this warp.
  void issued(std::uint16_t pc, bool acts) {
    ++profile_[pc].issued;
    if (acts) ++profile_[pc].acted;
  }

  /// One execution of an instruction that goes to global memory.
  struct Execution {
    std::uint64_t cycle = 0, block = 0;
    std::uint32_t in_block = 0, sectors = 0, least_sectors = 0;
    std::array<std::uint64_t, kWarpLanes> addresses;  ///< Footprint::kNoAddress: off
  };
  void access(std::uint16_t pc, const Execution& execution, std::uint32_t lane_bytes);

  /// The launch is over: no span comes any more.
  void finish();

  struct Span {
    std::uint64_t until = 0;
    std::uint16_t pc = kNoPc;
    Stall state = Stall::kNoWarp;
  };
  struct Slot {
    std::vector<Life> lives;
    std::vector<Span> spans;  ///< gapless from first(); after finish() until end()
    std::uint64_t until = 0;
  };
  struct Profile {
    std::uint64_t issued = 0, acted = 0;
    std::uint64_t requests = 0;  ///< executions with an active lane
    std::uint64_t sectors = 0, least_sectors = 0;
    std::uint32_t lane_bytes = 0;
    std::vector<Execution> examples;
  };
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Profile>& profile() const { return profile_; }
  std::uint64_t first() const { return first_.value_or(0); }
  std::uint64_t end() const { return end_; }
  bool is_cut() const { return spans_ >= most_spans_; }  ///< for want of room

 private:
  void add(Slot& slot, std::uint64_t until, Stall state, std::uint16_t pc);

  std::optional<std::uint64_t> first_;
  std::uint64_t cycles_, most_spans_, spans_ = 0, limit_ = ~std::uint64_t{0}, end_ = 0;
  std::vector<Slot> slots_;
  std::vector<Profile> profile_;  // [pc]
};

/// The fewest 32-byte sectors that hold as many different bytes as these lanes want.
std::uint32_t least_sectors(const std::array<std::uint64_t, kWarpLanes>& addresses,
                            std::uint32_t lane_bytes);

}  // namespace xpusim::gpu
