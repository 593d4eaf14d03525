#pragma once

#include <optional>
#include <tuple>

#include "sim/config/tree.h"

namespace xpusim::run {

/// What a machine costs: the `cost` key beside the family's own in a machine's configuration.
struct CostParams {
  std::optional<double> per_hour;  ///< absent: unknown, and reports say so

  static constexpr auto schema() {
    return std::tuple{config::field("per_hour", &CostParams::per_hour,
                                    config::Unit::kDollarsPerHour, "rent of the chip", 0, 1e6)};
  }
};

}  // namespace xpusim::run
