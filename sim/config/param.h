#pragma once

// Typed parameters. A parameter struct has one constexpr schema; it drives binding from YAML,
// ranges, `xpusim params` and the docs:
//
//   struct DramParams {
//     std::int64_t channels = 192;
//     double latency_ns = 30;
//     static constexpr auto schema() {
//       return std::tuple{
//           field("channels", &DramParams::channels, Unit::kCount, "pseudo channels", 1, 4096),
//           field("latency", &DramParams::latency_ns, Unit::kNanoseconds, "controller pipeline", 0,
//           1e3)};
//     }
//   };

#include <cstdint>
#include <limits>
#include <string_view>

namespace xpusim::config {

/// The unit in which a field is held. In YAML a quantity is written with any unit of its dimension
/// ("1.755 GHz", "228 KiB", "4.8 TB/s", "30 ns"); counts, ratios and cycles are plain numbers.
enum class Unit : std::uint8_t {
  kNone,  ///< strings, enums, booleans
  kCount,
  kRatio,
  kCycles,
  kBytes,           ///< B KiB MiB GiB (binary), kB MB GB (decimal)
  kHertz,           ///< Hz kHz MHz GHz
  kBytesPerSecond,  ///< B/s kB/s MB/s GB/s TB/s
  kBytesPerCycle,   ///< plain number, or "64 B/cycle"
  kNanoseconds,     ///< ps ns us ms s
  kPicojoules,      ///< pJ nJ uJ
  kWatts,           ///< mW W kW
  kDollarsPerHour,  ///< "2.5 USD/h"
  kFlopsPerSecond,  ///< GFLOP/s TFLOP/s PFLOP/s
};

/// A leaf: one value of the owner struct (integers, double, bool, std::string).
template <class Owner, class T>
struct Field {
  std::string_view name;
  T Owner::*member;
  Unit unit;
  std::string_view doc;
  double low, high;  ///< allowed range, both ends included, in `unit`
};

/// A nested parameter struct under a key of its own.
template <class Owner, class T>
struct Group {
  std::string_view name;
  T Owner::*member;
  std::string_view doc;
};

template <class Owner, class T>
constexpr Field<Owner, T> field(std::string_view name, T Owner::*member, Unit unit,
                                std::string_view doc,
                                double low = -std::numeric_limits<double>::infinity(),
                                double high = std::numeric_limits<double>::infinity()) {
  return {name, member, unit, doc, low, high};
}
template <class Owner, class T>
constexpr Group<Owner, T> group(std::string_view name, T Owner::*member, std::string_view doc) {
  return {name, member, doc};
}

}  // namespace xpusim::config
