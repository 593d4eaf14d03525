#pragma once

#include <vector>

#include "sim/config/tree.h"

namespace xpusim::run {

/// A sweep has at most this many values a parameter, and points in all.
inline constexpr std::size_t kMaxSweepPoints = 100'000;

/// The values of {from: 16, to: 128, step: 16} or {from: 0.4 GHz, to: 1.6 GHz, factor: 2}, both
/// ends included where the steps meet them. They are written in the unit of `from`; each has the
/// position of the range.
Expected<std::vector<config::Node>> expand_range(const config::Node& range);

}  // namespace xpusim::run
