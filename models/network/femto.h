#pragma once

#include "sim/engine/time.h"

namespace xpusim::network {

inline constexpr double kFemtoPerSecond = 1e15, kFemtoPerNano = 1e6;

/// Femtoseconds >= 0, to the nearest.
inline engine::Femto femto(double value) { return static_cast<engine::Femto>(value + 0.5); }

}  // namespace xpusim::network
