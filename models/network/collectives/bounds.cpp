#include "models/network/collectives/bounds.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::network {
namespace {

/// B/s of the links of chips that an axis of the mesh, or a detour, could use.
struct Ports {
  double least = 0, all = 0;
};

Ports ports_of(const Topology& topology) {
  std::vector<double> out(topology.chips());
  for (std::uint32_t w = 0; w < topology.wires().size(); ++w) {
    const Wire& wire = topology.wires()[w];
    if (wire.up && wire.from < topology.chips()) out[wire.from] += topology.bandwidth(w);
  }
  Ports p;
  p.least = *std::min_element(out.begin(), out.end());
  for (const double rate : out) p.all += rate;
  return p;
}

/// What crosses the middle of an axis one way in an all-to-all, over the links that are there.
Bound middle(const Topology& topology, const Mesh& mesh, std::size_t a, double bytes) {
  const Axis& axis = mesh.axes()[a];
  if (axis.direct || axis.size < 2) return {};
  const double n = axis.size, low = axis.size / 2;
  double links = 0;
  for (std::uint32_t w = 0; w < topology.wires().size(); ++w) {
    const Wire& wire = topology.wires()[w];
    if (wire.up && mesh.place(wire.from, a) < low && mesh.place(wire.to, a) >= low)
      links += topology.bandwidth(w);
  }
  const double crossing = topology.chips() * (low / n) * ((n - low) / n) * bytes;
  return {crossing / links, fmt::format("links across the middle of axis {}", axis.name)};
}

}  // namespace

Bound bandwidth_bound(const Topology& topology, const Mesh& mesh,
                      const CollectiveRequest& request) {
  const double n = mesh.group_size(), bytes = static_cast<double>(request.bytes);
  if (n < 2) return {0, "nothing to send"};
  const Ports ports = ports_of(topology);
  const double others = bytes * (n - 1) / n;
  const double moved = request.op == Collective::kAllReduce   ? bytes
                       : request.op == Collective::kBroadcast ? bytes
                       : request.op == Collective::kPermute
                           ? (request.shift % static_cast<std::int64_t>(n) == 0 ? 0 : bytes)
                           : others;
  Bound bound = {moved / ports.least, "links of a chip"};
  if (request.op == Collective::kAllReduce) {
    const double together = 2 * others * topology.chips() / ports.all;
    if (together > bound.seconds) bound = {together, "links of all chips"};
  }
  if (request.op == Collective::kAllToAll) {
    for (std::size_t a = 0; a < mesh.axes().size(); ++a) {
      const Bound here = middle(topology, mesh, a, bytes);
      if (here.seconds > bound.seconds) bound = here;
    }
  }
  return bound;
}

}  // namespace xpusim::network
