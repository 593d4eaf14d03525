#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/prefetch.h"

namespace xpusim::engine {

/// Takes an element of a pool: one of the free ones, else a new one. The free ones are listed apart
/// from the pool, so that nobody waits for an element's memory to learn of the next.
template <class T>
std::uint32_t take_free(std::vector<T>& pool, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  if (!free.empty()) prefetch(&pool[free.back()]);  // the next one to be taken
  return index;
}

}  // namespace xpusim::engine
