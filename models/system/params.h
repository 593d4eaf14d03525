#pragma once

#include <string>
#include <tuple>

#include "models/network/network_params.h"
#include "sim/config/param.h"

namespace xpusim::system {

/// Several chips of one kind and what joins them.
struct SystemParams {
  std::string chip;
  network::NetworkParams network;

  static constexpr auto schema() {
    using P = SystemParams;
    using config::Unit;
    return std::tuple{
        config::field("chip", &P::chip, Unit::kNone, "a machine of configs/, by name or file"),
        config::group("network", &P::network, "between the chips")};
  }
};

}  // namespace xpusim::system
