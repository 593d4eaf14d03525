#pragma once

// Collectives of a launch file: what chips of a system do together.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/kernel/ir.h"

namespace xpusim::run {

/// A launch that is a collective, as written.
struct CollectiveSpec {
  std::string op;                 ///< "all_reduce", "all_gather", ... (collective_names())
  std::string tensor;             ///< what each chip gives
  std::string output;             ///< what each chip gets; that tensor itself if not written
  std::vector<std::string> axes;  ///< of the mesh; empty: all
  std::string algorithm = "auto";
  std::int64_t root = 0;   ///< broadcast: position of the chip that gives, in its group
  std::int64_t shift = 1;  ///< permute: position i sends to i + shift
  SourcePosition where, axes_where, algorithm_where;
};

/// The same with what the tensors are.
struct CollectiveLaunch {
  CollectiveSpec spec;
  kernel::DType dtype = kernel::DType::kF32;
  std::uint64_t in_bytes = 0, out_bytes = 0;  ///< of a chip
};

const std::vector<std::string>& collective_names();
bool is_collective(std::string_view name);

/// What one direction of a link did during a launch.
struct LinkUse {
  std::string name;
  double bytes = 0;       ///< of data
  double wire_bytes = 0;  ///< with headers
  double busy = 0;        ///< share of the launch
  double waited_ns = 0;   ///< summed over chunks that were ready to cross it
  double microjoules = 0;
};

/// What the network did during a launch.
struct NetworkUse {
  std::string algorithm, reason;
  std::uint32_t chips = 0, group = 0;  ///< of all, and of those that do it together
  double bytes = 0;                    ///< of a chip: the larger of its input and output
  double hops = 0;                     ///< that a byte takes, on the mean
  double sent = 0;                     ///< bytes that all chips sent
  double bound_ns = 0;
  std::string bound;  ///< what limits it
  std::vector<LinkUse> links;
};

}  // namespace xpusim::run
