// Any bytes read as a trace must give a trace or one problem, quickly and without a crash.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/trace/pftrace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = xpusim::trace::read_pftrace(
      std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.pftrace");
  if (!trace) return trace.error().list().size() == 1 ? 0 : (std::abort(), 0);
  for (const auto& lane : trace->lanes) {
    for (const auto& slice : lane.slices) {
      if (slice.end_fs < slice.begin_fs) std::abort();
    }
  }
  return 0;
}
