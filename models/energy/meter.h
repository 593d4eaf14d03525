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

inline constexpr std::string_view kClockComponent = "clock", kIdleComponent = "idle";

struct EnergyReport {
  std::vector<EnergyEntry>
      entries;  ///< in the order of the kinds; then the clock's and the idle one
  double total_microjoules = 0;
  double mean_watts = 0;  ///< 0 if no time passed
};

/// When and how fast events happened. A chip whose clock is held back without lowering its voltage
/// (a ceiling for some work, a sag) has a clock below the one that its voltage belongs to.
struct Operation {
  double duration_ns = 0;
  double clock_hz = 0;
  double voltage_clock_hz = 0;
  unsigned chips = 1;
};

/// `counts[i]` events of `kinds[i]` and the chips' standing power over a time.
EnergyReport account(std::span<const EventKind> kinds, std::span<const std::uint64_t> counts,
                     const PowerParams& power, const Operation& operation);

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
    return report(Operation{duration_ns, clock_hz, clock_hz, chips});
  }
  EnergyReport report(const Operation& operation) const {
    return account(table_, counts_, power_, operation);
  }

 private:
  EventTable<Event> table_;
  PowerParams power_;
  std::array<std::uint64_t, static_cast<std::size_t>(Event::kCount)> counts_{};
};

}  // namespace xpusim::energy
