#pragma once

// The in-order issue of bundles: when each can go, and what it waits for.

#include <array>
#include <cstdint>
#include <vector>

#include "models/tpu/core/activity.h"
#include "models/tpu/core/matrix_unit.h"
#include "models/tpu/params.h"
#include "models/tpu/program/program.h"
#include "sim/engine/time.h"

namespace xpusim::tpu {

/// The state of the registers and units of a core: when each result can be read and each unit takes
/// its next instruction. Results are interlocked: a bundle waits until all its operands are there.
/// VMEM accesses never conflict with each other or with DMA traffic: that is not modelled.
class IssueState {
 public:
  explicit IssueState(const CoreParams& core);

  /// Issues a bundle at or after `at`; charges the wait and the issue. Returns the next cycle.
  Cycle issue(const Program& program, const Bundle& bundle, Cycle at, Activity& activity);
  Reason last_wait() const { return last_wait_; }  ///< what the last bundle waited for, if it did

  /// The state as distances from `now`: two equal snapshots behave alike from then on.
  struct Snapshot {
    std::array<std::uint32_t, kRegisters> ready{};
    std::array<std::uint8_t, kRegisters> producer{};
    std::vector<std::uint32_t> units;
    bool operator==(const Snapshot&) const = default;
  };
  const std::vector<MatrixUnit>& matrix_units() const { return matrix_units_; }
  Snapshot snapshot(Cycle now) const;
  void restore(const Snapshot& snapshot, Cycle now);

 private:
  struct Wait {
    Cycle until;
    Reason reason;
  };
  void wait_for_operands(const Instruction& i, Wait& wait) const;
  void wait_for_unit(Slot slot, Wait& wait) const;
  void wait_for_matrix_unit(const Instruction& i, Wait& wait) const;
  void take_unit(Opcode op, Cycle at);
  void take_matrix_unit(const Instruction& i, Cycle at, Activity& activity);

  std::array<std::uint16_t, static_cast<std::size_t>(Opcode::kCount)> latency_{}, interval_{};
  std::array<Cycle, kRegisters> ready_{};
  std::array<Slot, kRegisters> producer_{};
  std::array<std::vector<Cycle>, kSlots> units_;
  std::vector<MatrixUnit> matrix_units_;
  Reason last_wait_ = Reason::kIssued;
};

}  // namespace xpusim::tpu
