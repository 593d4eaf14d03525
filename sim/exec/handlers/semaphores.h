#pragma once

// Semaphores: counters of a core. Those of DMAs count the bytes that have arrived.

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// The counter of a semaphore, zero at first.
std::int64_t& semaphore_count(Frame& f, std::int64_t key);
/// Semaphores of a new allocation begin at zero.
void forget_semaphores(Frame& f, std::uint32_t argument);

}  // namespace xpusim::exec
