#pragma once

// Semaphores: counters of a core. Those of DMAs count the bytes that have arrived.

#include <string_view>

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// Tells semaphores apart: the argument (or allocation) that they come from, and the element.
inline std::int64_t semaphore_key(const View& v) {
  return (static_cast<std::int64_t>(v.argument) << 32) | v.offset;
}
/// The name that the kernel's source gives a semaphore, or the array that it is one of.
std::string_view semaphore_name(const kernel::Value& semaphore);
/// The counter of a semaphore, zero at first.
std::int64_t& semaphore_count(Frame& f, std::int64_t key);
/// Semaphores of a new allocation begin at zero.
void forget_semaphores(Frame& f, std::uint32_t argument);

}  // namespace xpusim::exec
