#pragma once

// From a collective to its schedule.

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/collectives/schedule.h"
#include "models/network/topology.h"
#include "sim/config/diagnostics.h"

namespace xpusim::network {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kPermute,
};

/// What is to be done. Sizes are those of a chip's tensors: `bytes` is the larger of input and
/// output (the output of an all-gather, the input of a reduce-scatter; else both are equal).
struct CollectiveRequest {
  Collective op = Collective::kAllReduce;
  std::uint64_t bytes = 0;
  std::uint32_t element = 4;       ///< bytes: shards are whole elements
  std::vector<std::string> axes;   ///< of the mesh; empty: all. Chips that differ in no other axis
                                   ///< make a group, and every group does the same
  std::string algorithm = "auto";  ///< or ring, bidirectional_ring, torus, tree, direct
  std::uint32_t root = 0;          ///< broadcast: position in the group
  std::int64_t shift = 1;          ///< permute: position i sends to position i + shift
  std::uint32_t channels = 1;      ///< each algorithm's parts are cut in as many again
  std::uint64_t chunk = 64 << 10;  ///< of the network, and what a step costs beside its bytes and
  double step_seconds = 1e-6;      ///< hops: for the choice of an algorithm
};

struct CollectivePlan {
  Schedule schedule;
  std::string algorithm, reason;
  std::uint32_t group = 1;   ///< chips of a group
  double bound_seconds = 0;  ///< by the bandwidth of links: no algorithm is faster
  std::string bound;         ///< what limits it, for people
};

/// "all_reduce", ...
const char* name(Collective op);
/// Which algorithms an operation has.
std::vector<std::string> algorithms(Collective op);

/// An axis that is not there or is there twice, an algorithm that the operation does not have, a
/// size that does not divide: a problem. An algorithm that is named is taken, where "auto" would
/// leave it out too.
Expected<void> check_request(const Topology& topology, const CollectiveRequest& request);

/// Fails as check_request does, and where "auto" finds none that is small enough.
Expected<CollectivePlan> plan_collective(const Topology& topology,
                                         const CollectiveRequest& request);

}  // namespace xpusim::network
