#include "models/network/wire_trace.h"

#include <algorithm>
#include <utility>

namespace xpusim::network {

WireTrace::WireTrace(trace::Sink& sink, const Topology& topology, std::uint64_t start_fs,
                     Label label)
    : sink_(sink),
      topology_(topology),
      start_fs_(start_fs),
      label_(std::move(label)),
      lanes_(std::min(kMostLanes, topology.wires().size())) {}

void WireTrace::crossed(std::uint32_t wire, std::uint64_t tag, engine::Femto begin,
                        engine::Femto end) {
  if (wire >= lanes_.size()) return;
  if (!lanes_[wire]) lanes_[wire] = sink_.lane("network." + topology_.wire_name(wire));
  sink_.slice(*lanes_[wire], sink_.name(label_(tag)), start_fs_ + begin, start_fs_ + end);
}

}  // namespace xpusim::network
