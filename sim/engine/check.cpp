#include "sim/engine/check.h"

#include <fmt/format.h>

namespace xpusim::engine {

void broken(std::string_view component, Cycle now, std::string_view what) {
  throw BrokenInvariant(fmt::format("{} at cycle {}: {}", component, now, what));
}

}  // namespace xpusim::engine
