#include "models/gpu/core/stall.h"

#include <array>

namespace xpusim::gpu {

std::string_view name(Stall reason) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(Stall::kCount)> kNames{
      "issued",       "long_scoreboard",  "short_scoreboard",
      "wait",         "barrier",          "math_pipe_throttle",
      "lg_throttle",  "mio_throttle",     "no_instruction",
      "imc_miss",     "branch_resolving", "membar",
      "not_selected", "launch",           "no_warp",
      "drain"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace xpusim::gpu
