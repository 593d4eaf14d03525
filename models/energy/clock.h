#pragma once

#include <tuple>

#include "models/energy/power.h"
#include "sim/config/param.h"

namespace xpusim::energy {

/// How a GPU's core clock follows what it does. A launch runs at the machine's own clock, or at
/// `tensor_clock` if it has matrix instructions, even in a few microseconds. Above `sag_from` the
/// supply sags and the clock with it, within microseconds: in a straight line with the power drawn.
/// The board's `limit` acts within milliseconds and lowers clock and voltage: it is for launches in
/// a steady loop, and only told, as a single launch is over before. 0 switches a part off. Leaves
/// out temperature, the clock's course inside a launch (one clock is taken for all of it, from the
/// mean power), and the steps in which a real chip moves.
struct ClockParams {
  double tensor_clock_hz = 0;
  double sag_from_w = 0;
  double sag_per_kw = 0;
  double limit_w = 0;

  static constexpr auto schema() {
    using P = ClockParams;
    using U = config::Unit;
    return std::tuple{
        config::field("tensor_clock", &P::tensor_clock_hz, U::kHertz,
                      "highest clock with matrix instructions; 0: as without", 0, 1e11),
        config::field("sag_from", &P::sag_from_w, U::kWatts,
                      "power of a launch above which its clock sags; 0: never", 0, 1e5),
        config::field("sag_per_kw", &P::sag_per_kw, U::kRatio,
                      "share of the clock lost by 1,000 W above that", 0, 100),
        config::field("limit", &P::limit_w, U::kWatts,
                      "power that the board allows for long; 0: any", 0, 1e5)};
  }
};

/// What a launch drew on the mean, at a clock and the nominal voltage.
struct Load {
  double clock_hz = 0;
  double watts = 0;     ///< in all
  double standing = 0;  ///< of them, chip and memory without events, the clock tree besides
};

/// Where the clock of a launch with this load settles. Events are taken to come as fast as the
/// clock, which for memory's is too much: ask again with the load at the clock returned.
double settled_clock(const ClockParams& clock, double ceiling_hz, const Load& load);

/// The same for launches back to back for seconds, whose voltage follows the clock.
double sustained_clock(const ClockParams& clock, const PowerParams& power, double ceiling_hz,
                       const Load& load);

}  // namespace xpusim::energy
