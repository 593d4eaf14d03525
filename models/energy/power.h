#pragma once

#include <tuple>

#include "sim/config/param.h"

namespace xpusim::energy {

/// The power of a chip that does nothing, and how energies follow its clock. The core's voltage is
/// taken to fall in a straight line with the clock: V/V0 = 1 - slope * (1 - f/f0); energies in the
/// core's domain follow its square, and the clock tree f/f0 besides. Leaves out temperature, power
/// gating and the steps in which a real chip moves its voltage.
struct PowerParams {
  double idle_w = 0;
  double clocked_w = 0;
  double nominal_clock_hz = 1e9;
  double voltage_slope = 0;

  static constexpr auto schema() {
    using P = PowerParams;
    using U = config::Unit;
    return std::tuple{
        config::field("idle", &P::idle_w, U::kWatts, "chip and memory at rest, at any clock", 0,
                      1e4),
        config::field("clocked", &P::clocked_w, U::kWatts,
                      "on top while a kernel runs, at the nominal clock: clock tree, leakage", 0,
                      1e4),
        config::field("nominal_clock", &P::nominal_clock_hz, U::kHertz,
                      "clock to which the core's energies belong", 1e6, 1e11),
        config::field("voltage_slope", &P::voltage_slope, U::kRatio,
                      "how far the voltage follows the clock: 0 not at all, 1 in proportion", 0,
                      1)};
  }
};

/// V/V0 at a clock.
double voltage_ratio(const PowerParams& power, double clock_hz);

}  // namespace xpusim::energy
