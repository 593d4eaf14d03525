#pragma once

// What a TensorCore did and why it waited, by source line.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/tpu/program/opcode.h"

namespace xpusim::tpu {

/// What a core spends a cycle on. Names follow the hardware counters of the v7x TensorCore where
/// one means the same; every cycle is charged to exactly one.
enum class Reason : std::uint8_t {
  kIssued,              ///< a bundle issued
  kVectorDelayWait,     ///< an operand of the vector ALU or of VMEM is not there yet
  kScalarDelayWait,     ///< a scalar operand is not there yet
  kErfResultWait,       ///< a result of the EUP is not there yet
  kEupReserved,         ///< the EUP still takes its last instruction
  kTrfResultWait,       ///< a result of the XLU is not there yet
  kXluPathReserved,     ///< every XLU still takes its last instruction
  kMrbResultWait,       ///< a result of a matrix unit is not there yet
  kMatmulPathReserved,  ///< a matrix unit still takes its last rows
  kLmrReserved,         ///< a matrix unit's weights are not there yet
  kMsrPathReserved,     ///< a matrix unit still takes its last weights
  kMsrReservedForLgmr,  ///< rows still pass over the weights that are to be replaced
  kTakenBranch,         ///< a loop's back edge
  kSyncWaitInput,       ///< SYNC_WAIT for a DMA that brings a block
  kSyncWaitOutput,      ///< SYNC_WAIT for a DMA that takes a block away
  kSyncWaitSemaphore,   ///< SYNC_WAIT for a DMA that the kernel started itself
  kSyncWaitRemote,      ///< SYNC_WAIT that what came from another chip, or had left for one, ends
  kLaunch,              ///< from the launch to the first bundle
  kNoStep,              ///< no step of the grid is left for this core, others still run
  kCount
};
std::string_view name(Reason reason);
std::string_view meaning(Reason reason);  ///< in a few words, for people
inline constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::kCount);
inline constexpr std::size_t kSlots = static_cast<std::size_t>(Slot::kCount);

/// What the matrix units did, over all of them.
enum class MatrixWork : std::uint8_t {
  kBusyCycles,  ///< with rows entering
  kRows,        ///< registers of 16- or 32-bit rows
  kRows8Bit,    ///< registers of int8 rows
  kRowsF8,      ///< registers of f8 rows
  kWeights,     ///< registers
  kCount
};
inline constexpr std::size_t kMatrixWorks = static_cast<std::size_t>(MatrixWork::kCount);

/// Counters as one flat row of numbers, so that a loop's iterations or a body's steps that are
/// alike can be added at once: cycles by line and reason, bundles by line, instructions by slot,
/// work of the matrix units.
class Activity {
 public:
  explicit Activity(std::size_t lines = 1)
      : lines_(lines), cells_(lines * kReasons + lines + kSlots + kMatrixWorks, 0) {}

  void charge(std::uint32_t line, Reason reason, std::uint64_t cycles) {
    cells_[line * kReasons + static_cast<std::size_t>(reason)] += cycles;
  }
  void bundle(std::uint32_t line) { ++cells_[lines_ * kReasons + line]; }
  void instruction(Slot slot) {
    ++cells_[lines_ * kReasons + lines_ + static_cast<std::size_t>(slot)];
  }

  void matrix(MatrixWork work, std::uint64_t amount) {
    cells_[lines_ * kReasons + lines_ + kSlots + static_cast<std::size_t>(work)] += amount;
  }

  std::size_t lines() const { return lines_; }
  std::uint64_t cycles(std::uint32_t line, Reason r) const {
    return cells_[line * kReasons + static_cast<std::size_t>(r)];
  }
  std::uint64_t cycles(Reason r) const;
  std::uint64_t all_cycles() const;
  std::uint64_t bundles(std::uint32_t line) const { return cells_[lines_ * kReasons + line]; }
  std::uint64_t all_bundles() const;
  std::uint64_t instructions(Slot s) const {
    return cells_[lines_ * kReasons + lines_ + static_cast<std::size_t>(s)];
  }

  std::uint64_t matrix(MatrixWork work) const {
    return cells_[lines_ * kReasons + lines_ + kSlots + static_cast<std::size_t>(work)];
  }

  /// What has been added since `before`.
  Activity since(const Activity& before) const;
  void add(const Activity& other, std::uint64_t times);
  bool operator==(const Activity&) const = default;

 private:
  std::size_t lines_;
  std::vector<std::uint64_t> cells_;
};

}  // namespace xpusim::tpu
