#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/energy/power.h"

namespace xpusim::energy {

/// What an event's energy follows: the core's voltage, or nothing (memory has its own supply).
enum class Domain : std::uint8_t { kCore, kFixed };

/// One kind of event: what it is charged to, and what one costs at the nominal clock.
struct EventKind {
  std::string_view component;  ///< "sm.fma", "l2", "hbm"; several kinds may share one
  double picojoules = 0;
  Domain domain = Domain::kCore;
};

struct EnergyEntry {
  std::string component;
  double microjoules = 0;
};

struct EnergyReport {
  std::vector<EnergyEntry> entries;  ///< in the order of the kinds; then "clock" and "idle"
  double total_microjoules = 0;
  double mean_watts = 0;  ///< 0 if no time passed
};

/// `counts[i]` events of `kinds[i]` and the chips' standing power over a time.
EnergyReport account(std::span<const EventKind> kinds, std::span<const std::uint64_t> counts,
                     const PowerParams& power, double duration_ns, double clock_hz,
                     unsigned chips = 1);

/// The kinds of a machine by its event enum, which ends in kCount.
template <class Event>
using EventTable = std::array<EventKind, static_cast<std::size_t>(Event::kCount)>;

/// Counts a machine's events by kind. Hot paths keep their own counters; what they counted is added
/// here at the end of a launch.
template <class Event>
class EnergyMeter {
 public:
  EnergyMeter(const EventTable<Event>& table, const PowerParams& power)
      : table_(table), power_(power) {}

  void add(Event event, std::uint64_t count = 1) {
    counts_[static_cast<std::size_t>(event)] += count;
  }
  std::uint64_t count(Event event) const { return counts_[static_cast<std::size_t>(event)]; }

  EnergyReport report(double duration_ns, double clock_hz, unsigned chips = 1) const {
    return account(table_, counts_, power_, duration_ns, clock_hz, chips);
  }

 private:
  EventTable<Event> table_;
  PowerParams power_;
  std::array<std::uint64_t, static_cast<std::size_t>(Event::kCount)> counts_{};
};

}  // namespace xpusim::energy
