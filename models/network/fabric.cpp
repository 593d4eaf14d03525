#include "models/network/fabric.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/network/femto.h"
#include "models/network/router.h"
#include "sim/engine/check.h"
#include "sim/engine/free_list.h"

namespace xpusim::network {
namespace {

WireTiming timing_of(const Topology& topology, std::uint32_t wire) {
  const LinkParams& kind = topology.kind_of(wire);
  WireTiming t;
  t.fs_per_byte = kFemtoPerSecond / topology.bandwidth(wire);
  t.latency = femto(kind.latency_ns * kFemtoPerNano);
  t.flit = static_cast<std::uint32_t>(kind.flit);
  t.packet = static_cast<std::uint32_t>(kind.packet);
  t.header = static_cast<std::uint32_t>(kind.header);
  t.to = topology.wires()[wire].to;
  return t;
}

}  // namespace

Fabric::Fabric(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
               const Topology& topology, const NetworkParams& params)
    : sc_module(name),
      topology_(topology),
      chunk_(static_cast<std::uint32_t>(params.chunk)),
      state_(scheduler) {
  const auto wires = static_cast<std::uint32_t>(topology.wires().size());
  std::vector<std::vector<std::uint32_t>> leaving(topology.nodes());
  state_.counters.resize(wires);
  for (std::uint32_t w = 0; w < wires; ++w) {
    state_.wires.push_back(timing_of(topology, w));
    leaving[topology.wires()[w].from].push_back(w);
  }
  state_.endpoint.assign(topology.chips(), 0);
  std::vector<std::uint32_t> component(topology.nodes());
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    routers_.push_back(std::make_unique<Router>(state_, topology, leaving[node]));
    component[node] =
        scheduler.add(*routers_.back(), fmt::format("network.{}.router", topology.node_name(node)));
    routers_.back()->id = component[node];
  }
  for (const Wire& w : topology.wires()) {
    state_.router_of_source.push_back(component[w.from]);
    state_.router_of_target.push_back(component[w.to]);
  }
}

Fabric::~Fabric() = default;

void Fabric::attach(std::uint32_t chip, std::uint32_t component) {
  state_.endpoint[chip] = component;
}

std::uint32_t Fabric::connect(std::uint32_t from, std::uint32_t to) {
  const std::uint64_t key = std::uint64_t{from} << 32 | to;
  const auto known = connections_.find(key);
  if (known != connections_.end()) return known->second;
  Connection c;
  c.from = from;
  c.to = to;
  c.first_way = static_cast<std::uint32_t>(state_.ways.size());
  for (const Route& route : topology_.routes(from, to)) {
    state_.ways.push_back({static_cast<std::uint32_t>(state_.hops.size()),
                           static_cast<std::uint32_t>(route.hops.size()), route.lanes});
    state_.hops.insert(state_.hops.end(), route.hops.begin(), route.hops.end());
    c.lanes += route.lanes;
    ++c.ways;
  }
  state_.connections.push_back(c);
  const auto id = static_cast<std::uint32_t>(state_.connections.size() - 1);
  connections_.emplace(key, id);
  return id;
}

void Fabric::send(std::uint32_t connection, std::uint32_t bytes, std::uint64_t tag,
                  engine::Femto ready) {
  const Connection& c = state_.connections[connection];
  if (bytes == 0 || bytes > chunk_)
    engine::broken(name(), state_.scheduler.now(),
                   "a message of no bytes, or of more than a chunk");
  const std::uint32_t number = engine::take_free(state_.parcels, state_.free_parcels);
  state_.parcels[number] = {tag, bytes, connection, 0, 0, 0, 0};
  ++state_.in_flight;
  std::uint32_t lanes = c.lanes, left = bytes;
  for (std::uint32_t i = 0; i < c.ways && left > 0; ++i) {
    const Way& way = state_.ways[c.first_way + i];
    // In whole flits, so that parts do not each end with one that is filled up.
    const std::uint32_t flit = state_.wires[state_.hops[way.first_hop].wire].flit;
    const std::uint64_t share = (std::uint64_t{left} * way.lanes + lanes - 1) / lanes;
    const auto part =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, (share + flit - 1) / flit * flit));
    lanes -= way.lanes;
    left -= part;
    Parcel& parcel = state_.parcels[number];
    ++parcel.to_leave;
    ++parcel.to_arrive;
    const std::uint32_t p = engine::take_free(state_.parts, state_.free_parts);
    state_.parts[p] = {ready, part, number, way.first_hop, way.hops - 1, 0, true};
    routers_[c.from]->inject(p);
  }
}

std::uint32_t Fabric::hops(std::uint32_t connection) const {
  const Connection& c = state_.connections[connection];
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < c.ways; ++i)
    most = std::max(most, state_.ways[c.first_way + i].hops);
  return most;
}

engine::Femto Fabric::latency(std::uint32_t connection) const {
  const Connection& c = state_.connections[connection];
  engine::Femto most = 0;
  for (std::uint32_t i = 0; i < c.ways; ++i) {
    const Way& way = state_.ways[c.first_way + i];
    engine::Femto sum = 0;
    for (std::uint32_t h = 0; h < way.hops; ++h)
      sum += state_.wires[state_.hops[way.first_hop + h].wire].latency;
    most = std::max(most, sum);
  }
  return most;
}

double Fabric::bandwidth(std::uint32_t connection) const {
  const Connection& c = state_.connections[connection];
  double sum = 0;
  for (std::uint32_t i = 0; i < c.ways; ++i) {
    const Way& way = state_.ways[c.first_way + i];
    double least = 0;
    for (std::uint32_t h = 0; h < way.hops; ++h) {
      const double rate = topology_.bandwidth(state_.hops[way.first_hop + h].wire);
      least = h == 0 ? rate : std::min(least, rate);
    }
    sum += least;
  }
  return sum;
}

}  // namespace xpusim::network
