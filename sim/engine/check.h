#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "sim/engine/time.h"

namespace xpusim::engine {

/// An invariant of ours is broken. The text names the component and the cycle. SystemRunner turns
/// it into a failed run, so that it never leaves the engine as a stack trace.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws BrokenInvariant: "gpu.sm[3] at cycle 17: credit count below zero".
[[noreturn]] void broken(std::string_view component, Cycle now, std::string_view what);

}  // namespace xpusim::engine
