#pragma once

// When a matrix unit takes weights and rows, and when its results are there.

#include <cstdint>
#include <vector>

#include "models/tpu/params.h"
#include "models/tpu/program/program.h"
#include "sim/engine/time.h"

namespace xpusim::tpu {

using engine::Cycle;

/// The time of one weight-stationary systolic array (SystolicArray has its values). It has two sets
/// of weights: one is pushed while rows pass over the other. A register of rows enters in rows /
/// rows_per_cycle cycles; a row that enters in cycle e has passed all `size` rows of elements and
/// the first n columns in cycle e + size + n - 1, so the results of 8 rows and up to 128 columns,
/// one register, can be popped when their last row has. They leave in the order in which they were
/// asked for. Where a unit accumulates, the sums of rows that say so stay in its result buffer, and
/// what goes in next for their place is added on the way: only the last has results to pop. Left
/// out: a limit to the results under way and kept (the compiler keeps to it), and the time of the
/// buffer's adder.
class MatrixUnit {
 public:
  explicit MatrixUnit(const MatrixParams& params);

  // When the next instruction of a kind can go, as far as this unit is concerned.
  Cycle push_free() const { return push_free_; }            ///< the path of weights
  Cycle set_free(int set) const { return set_free_[set]; }  ///< rows have left a set's way
  Cycle weights_ready(int set) const { return weights_ready_[set]; }
  Cycle path_free() const { return path_free_; }  ///< the path of rows
  bool has_result() const { return first_ < ready_.size(); }
  Cycle result_ready() const { return ready_[first_]; }           ///< of the oldest result
  std::size_t results() const { return ready_.size() - first_; }  ///< not popped yet

  void push(const Instruction& i, Cycle at);
  void multiply(const Instruction& i, Cycle at);
  void pop();

  /// Cycles for which an instruction occupies its path.
  Cycle push_cycles(Element element, bool transposed) const;
  Cycle row_cycles(Element element) const;
  std::int64_t rate(Element element) const;  ///< rows that enter in a cycle
  /// From a register of rows' issue to its last result.
  Cycle latency(Element element) const;

  /// The state as distances from `now`, appended.
  void snapshot(Cycle now, std::vector<std::uint32_t>& out) const;
  /// The inverse; returns the next unread element.
  const std::uint32_t* restore(const std::uint32_t* in, Cycle now);

 private:
  Cycle column_delay(std::int64_t column_register) const;

  std::int64_t size_, rows_per_cycle_, rows_per_cycle_8bit_, rows_per_cycle_f8_,
      push_rows_per_cycle_;
  std::int64_t column_registers_;
  Cycle push_free_ = 0, path_free_ = 0;
  Cycle set_free_[2] = {0, 0}, weights_ready_[2] = {0, 0};
  std::vector<Cycle> ready_;  ///< of results from `first_` on, oldest first
  std::size_t first_ = 0;
};

/// Rows of a matrix that one register holds: 8, or 32 of 8-bit elements.
std::int64_t register_rows(Element element);

}  // namespace xpusim::tpu
