#include "models/network/collectives/estimate.h"

#include <algorithm>
#include <unordered_map>

namespace xpusim::network {
namespace {

struct Ways {
  std::vector<Route> routes;
  std::uint32_t lanes = 0;
  double latency = 0, seconds_per_byte = 0;
};

Ways ways_of(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  Ways w;
  w.routes = topology.routes(from, to);
  double rate = 0;
  for (const Route& route : w.routes) {
    double latency = 0, least = 0;
    for (const Hop& hop : route.hops) {
      latency += topology.kind_of(hop.wire).latency_ns * 1e-9;
      const double here = topology.bandwidth(hop.wire);
      least = least == 0 ? here : std::min(least, here);
    }
    w.latency = std::max(w.latency, latency);
    w.lanes += route.lanes;
    rate += least;
  }
  w.seconds_per_byte = 1 / rate;
  return w;
}

}  // namespace

double estimate_seconds(const Topology& topology, const Schedule& schedule, std::uint64_t chunk,
                        double step_seconds) {
  std::unordered_map<std::uint64_t, Ways> known;
  std::vector<double> load(topology.wires().size()), ends(schedule.transfers.size());
  double longest = 0;
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& t = schedule.transfers[i];
    double begin = 0;
    for (std::uint32_t k = 0; k < t.needs; ++k)
      begin = std::max(begin, ends[schedule.needs[t.first_need + k].transfer]);
    ends[i] = begin + step_seconds;
    if (t.src != t.dst) {
      const std::uint64_t key = std::uint64_t{t.src} << 32 | t.dst;
      auto found = known.find(key);
      if (found == known.end()) found = known.emplace(key, ways_of(topology, t.src, t.dst)).first;
      const Ways& ways = found->second;
      const auto bytes = static_cast<double>(t.bytes);
      ends[i] += ways.latency + std::min(bytes, static_cast<double>(chunk)) * ways.seconds_per_byte;
      for (const Route& route : ways.routes)
        for (const Hop& hop : route.hops) load[hop.wire] += bytes * route.lanes / ways.lanes;
    }
    longest = std::max(longest, ends[i]);
  }
  for (std::size_t w = 0; w < load.size(); ++w)
    longest = std::max(longest, load[w] / topology.bandwidth(static_cast<std::uint32_t>(w)));
  return longest;
}

}  // namespace xpusim::network
