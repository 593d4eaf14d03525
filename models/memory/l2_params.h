#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "models/memory/hbm_timing.h"
#include "models/network/crossbar_params.h"
#include "sim/config/diagnostics.h"
#include "sim/config/param.h"

namespace xpusim::memory {

/// The second-level cache: its slices lie in two halves (or one); cycles are of the processor's
/// clock.
struct L2Params {
  std::int64_t slices = 96, halves = 2, ways = 16;
  std::int64_t half_mask = 0;
  std::int64_t capacity_bytes = 62'914'560, left_dirty_bytes = 0;
  std::int64_t atomic_units = 2;
  std::int64_t hit_cycles = 100, miss_cycles = 60, fill_cycles = 20;
  double dirty_share = 0.465;
  double sectors_per_cycle = 1.75, filled_per_cycle = 64;
  double atomic_cycles = 1.4, float_atomic_cycles = 3.5;

  static constexpr auto schema() {
    using P = L2Params;
    using config::field;
    using U = config::Unit;
    return std::tuple{
        field("slices", &P::slices, U::kCount,
              "slices of the chip: a divisor or a multiple of the pseudo channels", 1, 4096),
        field("halves", &P::halves, U::kCount, "parts that each keep their own copies", 1, 2),
        field("half_mask", &P::half_mask, U::kCount,
              "address bits whose parity says which half is the home; 0: slices in turn", 0,
              static_cast<double>((std::int64_t{1} << 47) - 1)),
        field("ways", &P::ways, U::kCount, "associativity", 1, 16),
        field("dirty_share", &P::dirty_share, U::kRatio,
              "of a slice's lines that may be dirty before the oldest is cleaned", 0.01, 1),
        field("capacity", &P::capacity_bytes, U::kBytes, "bytes of all slices", 65536, 1e10),
        field("left_dirty", &P::left_dirty_bytes, U::kBytes,
              "bytes that others left dirty, as a cold start finds it", 0, 1e9),
        field("hit_latency", &P::hit_cycles, U::kCycles, "look-up and data of a hit", 1, 1000),
        field("miss_latency", &P::miss_cycles, U::kCycles, "look-up until a miss leaves", 1, 1000),
        field("fill_latency", &P::fill_cycles, U::kCycles, "a fill until its data leaves", 1, 1000),
        field("sectors_per_cycle", &P::sectors_per_cycle, U::kRatio,
              "sectors of 32 B that a slice looks up a cycle", 0.1, 64),
        field("filled_per_cycle", &P::filled_per_cycle, U::kRatio,
              "sectors of 32 B that a slice takes in a cycle, from memory and from processors", 0.1,
              64),
        field("atomic_cycles", &P::atomic_cycles, U::kCycles,
              "an atomic unit is busy a sector and pass of an atomic", 0.1, 100),
        field("float_atomic_cycles", &P::float_atomic_cycles, U::kCycles,
              "from a pass of an atomic on floats to the next one over the same sector", 0.1, 100),
        field("atomic_units", &P::atomic_units, U::kCount,
              "units of a slice that perform atomics, each on 256 B of every so many", 1, 64)};
  }
};

/// Coalescers of reads between the SMs and the L2 (ReadCoalescer).
struct CoalescerParams {
  std::int64_t groups = 8;
  std::int64_t latency_cycles = 40, bytes_per_cycle = 600, readers = 3, cluster_pairs = 0;

  static constexpr auto schema() {
    using P = CoalescerParams;
    using config::field;
    using U = config::Unit;
    return std::tuple{
        field("groups", &P::groups, U::kCount,
              "groups of SMs with a coalescer each; 0: there is none", 0, 1024),
        field(
            "cluster_pairs", &P::cluster_pairs, U::kCount,
            "pairs of SMs in a cluster of a group; clusters may have the same under way, so SMs of "
            "small ones more than others; 0: all SMs alike",
            0, 1024),
        field("latency", &P::latency_cycles, U::kCycles,
              "for which others may join a read: its way to the L2, and part of its look-up there",
              1, 10000),
        field("bandwidth", &P::bytes_per_cycle, U::kBytesPerCycle, "what one group reads", 32,
              2047),
        field("readers", &P::readers, U::kCount, "of one read, at most", 1, 255)};
  }
};

/// The memory system of a GPU, below its SMs.
struct MemoryParams {
  HbmParams hbm;
  L2Params l2;
  CoalescerParams coalescer;
  network::CrossbarParams requests, replies, bridge{50, 64, 64, 8};

  static constexpr auto schema() {
    using P = MemoryParams;
    using config::group;
    return std::tuple{group("hbm", &P::hbm, "HBM stacks and controllers"),
                      group("l2", &P::l2, "second-level cache"),
                      group("coalescer", &P::coalescer, "coalescers of reads before the L2"),
                      group("requests", &P::requests, "network from the SMs to the slices"),
                      group("replies", &P::replies, "network from the slices to the SMs"),
                      group("bridge", &P::bridge, "network between the halves of the L2")};
  }
};

/// The same memory system in cycles of an SM clock of `hz`: its parameters count cycles of
/// `nominal_hz`, at which they were measured, and L2 and networks keep their own clock when the
/// SMs' changes. Only rates, up to the most that a port can have; what one SM sends and takes, and
/// latencies, stay as they are.
MemoryParams at_clock(const MemoryParams& params, double nominal_hz, double hz);

/// Says what the ranges of single fields cannot; also checks `hbm`.
void check(const MemoryParams& params, std::string_view path, Diagnostics& problems);

}  // namespace xpusim::memory
