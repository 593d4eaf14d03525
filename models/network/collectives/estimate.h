#pragma once

#include "models/network/collectives/schedule.h"
#include "models/network/topology.h"

namespace xpusim::network {

/// About how long a schedule takes, for the choice between algorithms: the longer of the busiest
/// link's bytes and the longest chain of transfers that wait for each other, each with its hops, a
/// step's cost and a chunk's time. Not modelled: who waits for whom at a link.
double estimate_seconds(const Topology& topology, const Schedule& schedule, std::uint64_t chunk,
                        double step_seconds);

}  // namespace xpusim::network
