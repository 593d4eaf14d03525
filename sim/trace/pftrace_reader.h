#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"

namespace xpusim::trace {

/// Something that lasted, on one lane. `depth` counts the slices around it.
struct SliceRecord {
  std::string name;
  std::uint64_t begin_fs = 0, end_fs = 0;
  int depth = 0;
};

struct CounterRecord {
  std::uint64_t at_fs = 0;  ///< whole nanoseconds
  double value = 0;
};

struct LaneRecord {
  std::string path;                 ///< "gpu.sm[3].sub[1]"
  std::vector<SliceRecord> slices;  ///< in the order of their begins
  std::vector<CounterRecord> counters;
};

/// A trace as it was emitted. Lanes that only hold others are in it too.
struct TraceRecord {
  std::vector<LaneRecord> lanes;

  const LaneRecord* find(std::string_view path) const;
};

/// Decodes a Perfetto trace of ours. Strict where our writer is: names and tracks must be known
/// before they are used, ends must have begins, time does not run backwards. Unknown fields are
/// skipped. Without our exact annotations (a trace of another tool) times are those of Perfetto,
/// whole ns.
Expected<TraceRecord> read_pftrace(std::string_view bytes, const std::string& file);
Expected<TraceRecord> read_pftrace_file(const std::string& path);

}  // namespace xpusim::trace
