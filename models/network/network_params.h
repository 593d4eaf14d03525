#pragma once

// What an architect may vary of a network between chips.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "sim/config/param.h"

namespace xpusim::network {

/// Bytes on a wire for so many of data: packets with headers, the last flit of each filled up.
constexpr std::uint64_t wire_bytes(std::uint64_t bytes, std::uint64_t flit, std::uint64_t packet,
                                   std::uint64_t header) {
  const std::uint64_t full = bytes / packet, rest = bytes % packet;
  const std::uint64_t last = rest > 0 ? (rest + header + flit - 1) / flit * flit : 0;
  return full * ((packet + header + flit - 1) / flit * flit) + last;
}

/// One kind of link; both directions of it are alike and independent of each other.
struct LinkParams {
  double bandwidth = 45e9;  ///< B/s one way, of one lane
  std::int64_t lanes = 1;
  double latency_ns = 500;
  std::int64_t flit = 128;
  std::int64_t packet = 4096;
  std::int64_t header = 128;
  std::int64_t buffer = 512 << 10;
  double picojoules_per_bit = 5;

  static constexpr auto schema() {
    using P = LinkParams;
    using config::field;
    using U = config::Unit;
    return std::tuple{
        field("bandwidth", &P::bandwidth, U::kBytesPerSecond, "of one lane, one way", 1e6, 1e14),
        field("lanes", &P::lanes, U::kCount,
              "lanes side by side; a packet takes any, so long messages take all", 1, 1024),
        field("latency", &P::latency_ns, U::kNanoseconds,
              "from the head's leaving one router to its being ready to leave the next", 2, 1e6),
        field("flit", &P::flit, U::kBytes, "what crosses at once: packets are whole flits", 1,
              4096),
        field("packet", &P::packet, U::kBytes, "the most data a packet carries", 1, 1 << 20),
        field("header", &P::header, U::kBytes, "of every packet, beside its data", 0, 4096),
        field("buffer", &P::buffer, U::kBytes,
              "a virtual channel's room at the receiving end: what its credits stand for", 64,
              1 << 30),
        field("energy", &P::picojoules_per_bit, U::kPicojoules, "per bit that crosses", 0, 1e4)};
  }
};

/// Chips in a mesh whose axes close into rings where the generation's rule says so; device ids
/// count x fastest.
struct TorusParams {
  std::int64_t x = 4, y = 4, z = 1;
  std::int64_t largest_x = 16, largest_y = 16, largest_z = 1;
  std::int64_t wrap_multiple = 16;
  LinkParams link;

  static constexpr auto schema() {
    using P = TorusParams;
    using config::field;
    using config::group;
    using U = config::Unit;
    return std::tuple{
        field("x", &P::x, U::kCount, "chips along x", 1, 1024),
        field("y", &P::y, U::kCount, "chips along y", 1, 1024),
        field("z", &P::z, U::kCount, "chips along z; 1: two dimensions", 1, 1024),
        field("largest_x", &P::largest_x, U::kCount, "of a pod", 1, 1024),
        field("largest_y", &P::largest_y, U::kCount, "of a pod", 1, 1024),
        field("largest_z", &P::largest_z, U::kCount, "of a pod", 1, 1024),
        field("wrap_multiple", &P::wrap_multiple, U::kCount,
              "an axis closes into a ring if its length is a multiple of this", 3, 1024),
        group("link", &P::link, "between neighbours")};
  }
};

/// Chips behind parallel switches, in nodes that a slower fabric of leaf and spine switches joins.
struct SwitchedParams {
  std::int64_t nodes = 1, chips = 8, switches = 4;
  LinkParams link;
  LinkParams rail, spine;

  static constexpr auto schema() {
    using P = SwitchedParams;
    using config::field;
    using config::group;
    using U = config::Unit;
    return std::tuple{
        field("nodes", &P::nodes, U::kCount, "nodes that the rails join", 1, 1024),
        field("chips", &P::chips, U::kCount, "chips of a node", 1, 256),
        field("switches", &P::switches, U::kCount,
              "of a node: parallel planes that share a chip's lanes", 1, 64),
        group("link", &P::link, "chip to switches: its lanes are those of a chip, over all planes"),
        group("rail", &P::rail,
              "a chip's network adapter to the leaf switch that joins the same chip of all nodes"),
        group("spine", &P::spine, "leaf to spine, for chips of different rails")};
  }
};

/// What puts a chip's data onto the network and takes it off: DMA engines, or cores that copy.
/// start, finish and exchange_start belong to the launch of a collective (models/system adds them);
/// schedules and their runs here begin at once.
struct EndpointParams {
  double start_ns = 0, finish_ns = 0;
  double issue_ns = 100, completion_ns = 100;
  std::int64_t engines = 16, window = 2;
  double memory_bandwidth = 0, reduce_bandwidth = 0;
  std::int64_t channels = 0;
  std::int64_t step = 512 << 10, steps = 8;
  std::int64_t ring_chunk = 4, ring_slice = 2;
  double channel_bandwidth = 200e9, slice_ns = 1000, exchange_start_ns = 0;
  std::int64_t fine_below = 0, fine_step = 64 << 10;
  double fine_bandwidth = 100e9, fine_payload = 1;

  static constexpr auto schema() {
    using P = EndpointParams;
    using config::field;
    using U = config::Unit;
    return std::tuple{
        field("start", &P::start_ns, U::kNanoseconds,
              "from a collective's launch to its first transfer", 0, 1e6),
        field("finish", &P::finish_ns, U::kNanoseconds, "from its last transfer to its end", 0,
              1e6),
        field("issue", &P::issue_ns, U::kNanoseconds,
              "from a transfer's start to its first read of memory", 0, 1e6),
        field("completion", &P::completion_ns, U::kNanoseconds,
              "from the last byte in memory to what waits for it", 0, 1e6),
        field("engines", &P::engines, U::kCount, "DMA engines: each sends a chunk at a time", 1,
              4096),
        field("window", &P::window, U::kCount,
              "chunks of a pair of chips that are on their way out at a time", 1, 64),
        field("memory_bandwidth", &P::memory_bandwidth, U::kBytesPerSecond,
              "of device memory, reads and writes together; 0: the chip's own", 0, 1e15),
        field("reduce_bandwidth", &P::reduce_bandwidth, U::kBytesPerSecond,
              "results that a chip's cores add up a second; 0: as fast as memory", 0, 1e15),
        field("channels", &P::channels, U::kCount,
              "cores that copy, a ring each (NCCL's channels); 0: DMA engines do it", 0, 128),
        field("step", &P::step, U::kBytes, "of a channel's receive buffer", 64, 1 << 30),
        field("steps", &P::steps, U::kCount, "of that buffer", 1, 64),
        field("ring_chunk", &P::ring_chunk, U::kCount,
              "steps that a channel sends on before it turns to the ring's next neighbour's; "
              "broadcasts and exchanges go step by step",
              1, 64),
        field("ring_slice", &P::ring_slice, U::kCount, "steps that are handed over at a time", 1,
              64),
        field("channel_bandwidth", &P::channel_bandwidth, U::kBytesPerSecond,
              "local accesses of one channel: bytes read and written", 1e6, 1e15),
        field("slice_overhead", &P::slice_ns, U::kNanoseconds,
              "of a slice, beside its bytes: fence, flag, poll", 0, 1e6),
        field("exchange_start", &P::exchange_start_ns, U::kNanoseconds,
              "more of start, for all-to-all and permute", 0, 1e6),
        field("fine_below", &P::fine_below, U::kBytes,
              "collectives but exchanges of less use a protocol whose flags travel in the data "
              "(NCCL's LL128): no overhead a slice, small steps, slower copies; 0: never",
              0, 1e15),
        field("fine_step", &P::fine_step, U::kBytes, "of that protocol's buffer, and its slice", 64,
              1 << 30),
        field("fine_bandwidth", &P::fine_bandwidth, U::kBytesPerSecond,
              "its local accesses of one channel", 1e6, 1e15),
        field("fine_payload", &P::fine_payload, U::kRatio, "data in what it sends", 0.01, 1)};
  }
};

/// A network between chips.
struct NetworkParams {
  std::string topology = "torus";
  double clock_hz = 1e9;
  std::int64_t chunk = 64 << 10;
  std::vector<std::string> down;
  TorusParams torus;
  SwitchedParams switched;
  EndpointParams endpoint;

  static constexpr auto schema() {
    using P = NetworkParams;
    using config::field;
    using config::group;
    using U = config::Unit;
    return std::tuple{
        field("topology", &P::topology, U::kNone, "torus or switched"),
        field("clock", &P::clock_hz, U::kHertz,
              "of the routers: events are on its edges, links are exact to the femtosecond", 1e6,
              1e11),
        field("chunk", &P::chunk, U::kBytes,
              "a long message goes in chunks of this: contention and flow control are exact to it",
              64, 16 << 20),
        field("down", &P::down, U::kNone,
              "links taken out, both ways: '3-4' between chips, '3-s1' between a chip and the "
              "switch s1 of its node"),
        group("torus", &P::torus, "a mesh whose axes may close"),
        group("switched", &P::switched, "switches in a node, rails between nodes"),
        group("endpoint", &P::endpoint, "a chip's end of the network")};
  }
};

}  // namespace xpusim::network
