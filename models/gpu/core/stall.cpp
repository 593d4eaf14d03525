#include "models/gpu/core/stall.h"

#include <array>

namespace xpusim::gpu {

std::string_view name(Stall reason) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(Stall::kCount)> kNames{
      "issued",
      "long_scoreboard",
      "short_scoreboard",
      "wait",
      "barrier",
      "math_pipe_throttle",
      "gmma",
      "warpgroup_arrive",
      "lg_throttle",
      "mio_throttle",
      "no_instruction",
      "imc_miss",
      "branch_resolving",
      "membar",
      "drain",
      "not_selected",
      "launch",
      "no_warp",
      "no_work",
      "tail"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view meaning(Stall reason) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(Stall::kCount)> kMeanings{
      "an instruction issued",
      "waits for global memory",
      "waits for shared memory, a shuffle or a special function",
      "waits for a fixed latency",
      "waits for other warps of the block",
      "the arithmetic pipe is busy",
      "the tensor core has as many wgmmas as it takes",
      "waits for the warpgroup or its matrix products",
      "the queue for global memory is full",
      "the queue for shared memory and shuffles is full",
      "instructions are being fetched",
      "a constant is being fetched",
      "a branch is being taken",
      "waits at a memory fence",
      "has exited, its stores have not left",
      "another warp was picked",
      "before the first warp",
      "no warp is resident",
      "the grid has too few blocks or warps for it",
      "after the last block"};
  return kMeanings[static_cast<std::size_t>(reason)];
}

}  // namespace xpusim::gpu
