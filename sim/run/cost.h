#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

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

/// Every parameter of a family whose map `name` binds to `Params`, as Family::params lists them.
template <class Params>
std::vector<config::ParamDoc> machine_params(std::string_view name, const config::Node* config) {
  std::vector<config::ParamDoc> out;
  config::document<Params>(name, config, out);
  config::document<CostParams>("cost", config, out);
  return out;
}

}  // namespace xpusim::run
