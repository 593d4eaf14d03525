#pragma once

#include <cstdint>
#include <tuple>

#include "sim/config/param.h"

namespace xpusim::network {

/// A crossbar; cycles are of the clock of its ends.
struct CrossbarParams {
  std::int64_t latency_cycles = 60;
  std::int64_t source_bytes_per_cycle = 64, destination_bytes_per_cycle = 64;
  std::int64_t header_bytes = 8;

  static constexpr auto schema() {
    using P = CrossbarParams;
    using config::field;
    using U = config::Unit;
    return std::tuple{
        field("latency", &P::latency_cycles, U::kCycles, "source to destination, empty", 1, 10000),
        field("source_bandwidth", &P::source_bytes_per_cycle, U::kBytesPerCycle,
              "what one source sends", 1, 2047),
        field("destination_bandwidth", &P::destination_bytes_per_cycle, U::kBytesPerCycle,
              "what one destination takes", 1, 2047),
        field("header", &P::header_bytes, U::kBytes, "of every message, beside its data", 1, 512)};
  }
};

}  // namespace xpusim::network
