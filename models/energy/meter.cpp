#include "models/energy/meter.h"

#include <algorithm>

namespace xpusim::energy {

namespace {

constexpr double kMicrojoulesPerPicojoule = 1e-6;
constexpr double kMicrojoulesPerWattNanosecond = 1e-3;

void charge(EnergyReport& report, std::string_view component, double microjoules) {
  const auto known =
      std::find_if(report.entries.begin(), report.entries.end(),
                   [&](const EnergyEntry& entry) { return entry.component == component; });
  if (known != report.entries.end()) {
    known->microjoules += microjoules;
  } else {
    report.entries.push_back({std::string(component), microjoules});
  }
  report.total_microjoules += microjoules;
}

}  // namespace

double voltage_ratio(const PowerParams& power, double clock_hz) {
  return 1 - power.voltage_slope * (1 - clock_hz / power.nominal_clock_hz);
}

EnergyReport account(std::span<const EventKind> kinds, std::span<const std::uint64_t> counts,
                     const PowerParams& power, const Operation& operation) {
  const auto [duration_ns, clock_hz, voltage_clock_hz, chips] = operation;
  const double voltage = voltage_ratio(power, voltage_clock_hz);
  const double core_scale = voltage * voltage;
  EnergyReport report;
  for (std::size_t i = 0; i < std::min(kinds.size(), counts.size()); ++i) {
    const double scale = kinds[i].domain == Domain::kCore ? core_scale : 1;
    charge(report, kinds[i].component,
           static_cast<double>(counts[i]) * kinds[i].picojoules * scale * kMicrojoulesPerPicojoule);
  }
  const double standing = duration_ns * chips * kMicrojoulesPerWattNanosecond;
  const double clocked_w = power.clocked_w * core_scale * clock_hz / power.nominal_clock_hz;
  charge(report, kClockComponent, clocked_w * standing);
  charge(report, kIdleComponent, power.idle_w * standing);
  if (duration_ns > 0) {
    report.mean_watts = report.total_microjoules / (duration_ns * kMicrojoulesPerWattNanosecond);
  }
  return report;
}

}  // namespace xpusim::energy
