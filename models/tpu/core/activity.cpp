#include "models/tpu/core/activity.h"

namespace xpusim::tpu {

std::string_view name(Reason reason) {
  static constexpr std::array<std::string_view, kReasons> kNames = {"issued",
                                                                    "vector_delay_wait",
                                                                    "scalar_delay_wait",
                                                                    "erf_result_wait",
                                                                    "eup_reserved",
                                                                    "trf_result_wait",
                                                                    "xlu_path_reserved",
                                                                    "mrb_result_wait",
                                                                    "matmul_path_reserved",
                                                                    "lmr_reserved",
                                                                    "msr_path_reserved",
                                                                    "msr_reserved_for_lgmr",
                                                                    "taken_branch",
                                                                    "sync_wait_input",
                                                                    "sync_wait_output",
                                                                    "sync_wait_semaphore",
                                                                    "sync_wait_remote",
                                                                    "launch",
                                                                    "no_step"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view meaning(Reason reason) {
  static constexpr std::array<std::string_view, kReasons> kMeanings = {
      "a bundle issued",
      "an operand from VMEM or the vector ALU is not there yet",
      "a scalar operand is not there yet",
      "a result of the transcendental unit is not there yet",
      "the transcendental unit is busy",
      "a result of the cross-lane unit is not there yet",
      "the cross-lane units are busy",
      "a result of a matrix unit is not there yet",
      "a matrix unit is busy with rows",
      "a matrix unit's weights are not there yet",
      "a matrix unit is busy with weights",
      "rows still pass over the weights to be replaced",
      "a loop branches back",
      "waits for a DMA that brings a block from HBM",
      "waits for a DMA that writes a block to HBM",
      "waits for a DMA that the kernel started",
      "waits for another chip or the way to it",
      "from the launch to the first bundle",
      "no step of the grid is left for this core"};
  return kMeanings[static_cast<std::size_t>(reason)];
}

std::uint64_t Activity::cycles(Reason r) const {
  std::uint64_t sum = 0;
  for (std::uint32_t line = 0; line < lines_; ++line) sum += cycles(line, r);
  return sum;
}

std::uint64_t Activity::all_cycles() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lines_ * kReasons; ++i) sum += cells_[i];
  return sum;
}

std::uint64_t Activity::all_bundles() const {
  std::uint64_t sum = 0;
  for (std::uint32_t line = 0; line < lines_; ++line) sum += bundles(line);
  return sum;
}

Activity Activity::since(const Activity& before) const {
  Activity delta = *this;
  for (std::size_t i = 0; i < cells_.size(); ++i) delta.cells_[i] -= before.cells_[i];
  return delta;
}

void Activity::add(const Activity& other, std::uint64_t times) {
  for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i] += other.cells_[i] * times;
}

}  // namespace xpusim::tpu
