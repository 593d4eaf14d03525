#pragma once

#include <string>
#include <tuple>

#include "models/network/network_params.h"
#include "sim/config/param.h"

namespace xpusim::system {

/// Several chips of one kind and what joins them.
struct SystemParams {
  std::string chip;
  std::string order = "grid";
  network::NetworkParams network;

  static constexpr auto schema() {
    using P = SystemParams;
    using config::Unit;
    return std::tuple{
        config::field("chip", &P::chip, Unit::kNone, "a machine of configs/, by name or file"),
        config::field(
            "order", &P::order, Unit::kNone,
            "of the device ids that kernels know: grid (x runs fastest) or ring (next ids "
            "are neighbours, as JAX lays a mesh of one axis over a slice)"),
        config::group("network", &P::network, "between the chips")};
  }
};

}  // namespace xpusim::system
