#pragma once

// What the routers of a fabric share: flat, by number.

#include <array>
#include <cstdint>
#include <vector>

#include "models/network/topology.h"
#include "sim/engine/scheduler.h"

namespace xpusim::network {

/// What a link did.
struct WireCounters {
  std::uint64_t bytes = 0;        ///< of data
  std::uint64_t wire_bytes = 0;   ///< with headers and filled-up flits
  std::uint64_t packets = 0;      ///< chunks, or parts of them where ways are parallel
  engine::Femto busy = 0;         ///< its time to carry them, all lanes together
  engine::Femto waited = 0;       ///< summed over chunks: ready to leave, but not leaving ...
  engine::Femto credit_wait = 0;  ///< ... of this, for room at the other end
  engine::Femto last = 0;         ///< when the last byte left
};

/// Sees chunks cross wires (a trace).
class CrossingObserver {
 public:
  virtual ~CrossingObserver() = default;
  virtual void crossed(std::uint32_t wire, std::uint64_t tag, engine::Femto begin,
                       engine::Femto end) = 0;
};

/// A wire in the units of the simulation.
struct WireTiming {
  double fs_per_byte = 0;
  engine::Femto latency = 0;
  std::uint32_t flit = 1, packet = 1, header = 0;
  std::uint32_t to = 0;

  std::uint32_t wire_bytes(std::uint32_t bytes) const {
    return static_cast<std::uint32_t>(network::wire_bytes(bytes, flit, packet, header));
  }
  engine::Femto span(std::uint32_t wire_bytes) const {
    return static_cast<engine::Femto>(static_cast<double>(wire_bytes) * fs_per_byte + 0.5);
  }
};

/// A message from chip to chip, in as many parts as there are parallel ways.
struct Parcel {
  std::uint64_t tag = 0;
  std::uint32_t bytes = 0, connection = 0;
  std::uint16_t to_leave = 0, to_arrive = 0;
  engine::Femto left = 0, arrived = 0;
};

/// A part of a parcel: what waits in a router, or crosses a link.
struct Part {
  engine::Femto ready = 0;  ///< when its head may leave this router
  std::uint32_t bytes = 0, parcel = 0;
  std::uint32_t hop = 0;   ///< index into FabricState::hops of the wire that it takes next
  std::uint32_t left = 0;  ///< hops after that one
  std::uint32_t next = 0;  ///< behind it in its queue
  bool first = true;       ///< it is where it was injected
};

/// Room behind a link that its sender has not heard of yet.
struct Credit {
  engine::Femto at = 0;  ///< when it does
  std::uint32_t bytes = 0;
  std::uint32_t next = 0;  ///< a later one of the same channel
};

struct Way {
  std::uint32_t first_hop = 0, hops = 0, lanes = 1;
};

struct Connection {
  std::uint32_t from = 0, to = 0;
  std::uint32_t first_way = 0, ways = 0, lanes = 0;
};

struct FabricState {
  explicit FabricState(engine::Scheduler& s) : scheduler(s) {}

  engine::Scheduler& scheduler;
  std::vector<WireTiming> wires;
  std::vector<WireCounters> counters;
  std::vector<std::uint32_t> router_of_source;  ///< [wire]: component id of the router it leaves
  std::vector<std::uint32_t> router_of_target;
  std::vector<std::uint16_t> output_of_wire;  ///< its number among the router's outputs
  std::vector<Hop> hops;
  std::vector<Way> ways;
  std::vector<Connection> connections;
  std::vector<Parcel> parcels;
  std::vector<Part> parts;
  std::vector<Credit> credits;
  std::vector<std::uint32_t> free_parcels, free_parts, free_credits;
  std::vector<std::uint32_t> endpoint;  ///< [chip]: component id
  std::uint32_t in_flight = 0;
  CrossingObserver* observer = nullptr;
};

}  // namespace xpusim::network
