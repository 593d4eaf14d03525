#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/topology.h"
#include "sim/config/diagnostics.h"

namespace xpusim::system {

/// Whether chips can be ordered so ("system.order: ...").
Expected<void> check_order(const network::Topology& topology, const std::string& order);
/// The chip of each device id. A ring over a rectangle with an even side goes along its first row
/// and back and forth over the rest; over other ones it is a line that does not close.
std::vector<std::uint32_t> device_order(const network::Topology& topology,
                                        const std::string& order);

}  // namespace xpusim::system
