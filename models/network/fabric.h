#pragma once

// The network between chips, in time: routers, links, flow control.

#include <cstdint>
#include <memory>
#include <systemc>
#include <unordered_map>
#include <vector>

#include "models/network/fabric_state.h"
#include "models/network/topology.h"
#include "sim/engine/scheduler.h"

namespace xpusim::network {

/// The fabric's messages. kSent and kArrived tell the component that is attached to a chip what
/// became of what was sent: its tag in engine::Message::data, the other chip in `from`, the bytes
/// in `address`.
enum FabricMessage : std::uint16_t {
  kHead = 1,     ///< between routers
  kSent = 3,     ///< all of it has left the chip: its buffer may be used again
  kArrived = 4,  ///< all of it has arrived
};

/// The routers and links of a topology, in one clock domain. A message of up to a chunk goes from
/// chip to chip, shared out over the parallel ways between them; longer transfers are sequences of
/// such messages. Virtual cut-through: the head of a chunk leaves a router as soon as the link is
/// free and the router behind it has room for all of the chunk (credits, a virtual channel each);
/// its tail follows at the rate of the slowest link. Links of lanes carry packets on any of them.
///
/// Messages of one pair of chips arrive in order. Exact to the chunk: who shares a link takes turns
/// of a chunk (what passes through before what begins at a chip; in the order of arrival within a
/// virtual channel, round robin between channels), not of a packet. A router's outputs never hold
/// up each other (virtual output queues).
///
/// Not modelled: errors and retries, a limit to the rate inside a router, virtual-channel
/// allocation delays, back-pressure of the receiving chip (it takes what arrives).
class Fabric : public sc_core::sc_module {
 public:
  Fabric(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
         const Topology& topology, const NetworkParams& params);
  ~Fabric() override;

  /// The component that gets kSent and kArrived of a chip.
  void attach(std::uint32_t chip, std::uint32_t component);
  /// The number by which `send` knows a pair of chips; the same each time.
  std::uint32_t connect(std::uint32_t from, std::uint32_t to);
  /// Sends `bytes` (1 to chunk()) whose head is ready at time `ready` >= the edge of the current
  /// cycle; `tag` comes back with kSent and kArrived.
  void send(std::uint32_t connection, std::uint32_t bytes, std::uint64_t tag, engine::Femto ready);

  std::uint32_t chunk() const { return chunk_; }
  const Topology& topology() const { return topology_; }
  const WireCounters& counters(std::uint32_t wire) const { return state_.counters[wire]; }
  /// Links that the messages of a pair cross, the most of its parallel ways.
  std::uint32_t hops(std::uint32_t connection) const;
  /// Of a head from one chip of a pair to the other on an idle network: its slowest way.
  engine::Femto latency(std::uint32_t connection) const;
  /// B/s that a pair can have, were nobody else there: the slowest link of each way, all ways.
  double bandwidth(std::uint32_t connection) const;
  /// Messages under way.
  std::uint32_t in_flight() const { return state_.in_flight; }
  /// Called for each chunk that crosses a wire, from begin to end; null: nobody asks.
  void observe(CrossingObserver* observer) { state_.observer = observer; }

 private:
  class Router;

  const Topology& topology_;
  std::uint32_t chunk_;
  FabricState state_;
  std::vector<std::unique_ptr<Router>> routers_;
  std::unordered_map<std::uint64_t, std::uint32_t> connections_;
};

}  // namespace xpusim::network
