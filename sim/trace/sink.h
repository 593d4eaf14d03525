#pragma once

// The one place through which a run's events leave the models. A model asks for a lane once (its
// unit path) and then emits slices; with no trace file the sink is null and costs one branch.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"

namespace xpusim::trace {

using LaneId = std::uint32_t;
using NameId = std::uint32_t;

/// Receives events in simulated femtoseconds. Lanes are unit paths ("gpu.sm[3].sub[1]"); the parts
/// of the path make the tree that a viewer shows.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual LaneId lane(std::string_view unit_path) = 0;
  virtual NameId name(std::string_view text) = 0;  ///< interned event name
  /// Something that lasted from begin to end on a lane; slices of a lane nest or follow each other.
  virtual void slice(LaneId lane, NameId name, std::uint64_t begin_fs, std::uint64_t end_fs) = 0;
  /// A value that holds from `at` on (occupancy, bytes in flight).
  virtual void counter(LaneId lane, std::uint64_t at_fs, double value) = 0;
  virtual Expected<void> finish() = 0;  ///< writes the file; call once
};

/// A sink by the file's ending: .pftrace (Perfetto). Others are an error naming what is supported.
Expected<std::unique_ptr<Sink>> open_sink(const std::string& path);

}  // namespace xpusim::trace
