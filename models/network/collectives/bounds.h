#pragma once

#include <string>

#include "models/network/collectives/mesh.h"
#include "models/network/collectives/plan.h"

namespace xpusim::network {

/// The least time that the bandwidth of links allows, and what limits it.
struct Bound {
  double seconds = 0;
  std::string limit;
};

/// By what must leave or enter the chip with the least bandwidth, what all chips together must
/// send, and, for an all-to-all, what must cross the middle of an axis. Links to chips of other
/// groups count as if they were free to be used. Reductions happen in chips only.
Bound bandwidth_bound(const Topology& topology, const Mesh& mesh, const CollectiveRequest& request);

}  // namespace xpusim::network
