#pragma once

// Sweep files (schema xpusim.sweep/1): which points a sweep has.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/tree.h"

namespace xpusim::run {

/// A parameter with a value. Paths are those of configurations (gpu.sm.count), or of a launch file:
/// args.n and constexprs.BLOCK in every launch that has them, grid, num_warps and num_stages of
/// every launch, tensors.x.shape (also init, seed, dtype), variants.BLOCK, which changes the
/// constexpr and the kernel, and, by their names, variants and sizes (launch_choices.h). The
/// value's key_origin is where the path was written.
using Setting = std::pair<std::string, config::Node>;

/// One direction of the grid: a parameter, or several that change together (zip).
struct SweepAxis {
  std::vector<std::vector<Setting>> steps;
};

struct SweepPoint {
  std::size_t workload = 0, machine = 0;  ///< which of the sweep's
  std::vector<Setting> settings;          ///< of the grid, in written order
};

/// A sweep as written: every workload on every machine at every point of the grid.
struct Sweep {
  std::string name, path;
  std::vector<config::Node> workloads;  ///< launch files, relative to the sweep file's folder
  std::vector<config::Node> machines;   ///< stems of configs/, or files relative likewise
  std::vector<Setting> fixed;           ///< `set`: the same at all points
  std::vector<SweepAxis> axes;
  SourcePosition grid_where;
  bool values = true;
  bool warm_caches = false;
  std::string from;  ///< the kernels' form, as in RunSettings
  SourcePosition from_where;
  int loop = 1;
  // Not of the file; given on a command line:
  std::vector<std::string> overrides;     ///< of the configurations, as RunSettings::overrides
  std::optional<std::uint64_t> clock_hz;  ///< core clock, as RunSettings::clock_hz

  std::size_t size() const;
  SweepPoint point(std::size_t index) const;    ///< workloads slowest, the last axis fastest
  std::vector<std::string> parameters() const;  ///< paths of the grid, in written order
};

/// Whether a path is one of a launch file.
bool is_launch_parameter(std::string_view path);

Expected<Sweep> load_sweep(const std::string& path);
/// Says every problem of form: what needs no other file.
Expected<Sweep> parse_sweep(const config::Node& root, const std::string& path);

}  // namespace xpusim::run
