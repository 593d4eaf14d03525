#pragma once

#include <cstddef>
#include <cstdint>

namespace xpusim::engine {

/// Brings what lies at `address` into the host's cache, to be written; changes nothing. The empty
/// asm is for GCC 12, which takes a function that does nothing but prefetch for one without effect
/// and leaves out the calls of it.
inline void prefetch(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}
/// The same of `bytes` bytes.
inline void prefetch(const void* first, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const auto* at = static_cast<const char*>(first);
  const std::size_t before = reinterpret_cast<std::uintptr_t>(at) % kLine;
  for (std::size_t i = 0; i < before + bytes; i += kLine) prefetch(at - before + i);
}

}  // namespace xpusim::engine
