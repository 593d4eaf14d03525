#include "models/energy/clock.h"

#include <algorithm>

namespace xpusim::energy {

double settled_clock(const ClockParams& clock, double ceiling_hz, const Load& load) {
  if (clock.sag_from_w <= 0 || load.clock_hz <= 0) return ceiling_hz;
  // f = ceiling * (1 - sag * (standing + slope * f - from)), a straight line in f.
  const double sag = clock.sag_per_kw * 1e-3;
  const double slope = (load.watts - load.standing) / load.clock_hz;
  const double hz =
      ceiling_hz * (1 - sag * (load.standing - clock.sag_from_w)) / (1 + ceiling_hz * sag * slope);
  return std::min(ceiling_hz, hz);
}

double sustained_clock(const ClockParams& clock, const PowerParams& power, double ceiling_hz,
                       const Load& load) {
  if (clock.limit_w <= 0 || load.clock_hz <= 0) return ceiling_hz;
  const auto watts = [&](double share) {  // at this share of the ceiling
    const double voltage = voltage_ratio(power, power.nominal_clock_hz * share);
    const double events = (load.watts - load.standing) * share * ceiling_hz / load.clock_hz;
    return power.idle_w + (power.clocked_w * share + events) * voltage * voltage;
  };
  constexpr double kLowest = 0.1, kStep = 0.001;
  double share = 1;
  while (share > kLowest && watts(share) > clock.limit_w) share -= kStep;
  return share * ceiling_hz;
}

}  // namespace xpusim::energy
