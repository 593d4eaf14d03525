#include "models/system/link_trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::system {

LinkTrace::LinkTrace(const network::Topology& topology, const std::string& name,
                     const run::LaunchOptions& options)
    : topology_(topology), sink_(options.trace), start_(options.trace_start_fs) {
  if (!sink_) return;
  name_ = sink_->name(name);
  lanes_.resize(std::min<std::size_t>(kMostLanes, topology.wires().size()));
}

void LinkTrace::crossed(std::uint32_t wire, std::uint64_t, engine::Femto begin, engine::Femto end) {
  if (wire >= lanes_.size()) return;
  if (!lanes_[wire])
    lanes_[wire] = sink_->lane(fmt::format("network.{}", topology_.wire_name(wire)));
  sink_->slice(*lanes_[wire], name_, start_ + begin, start_ + end);
}

}  // namespace xpusim::system
