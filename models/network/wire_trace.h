#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/network/fabric_state.h"
#include "models/network/topology.h"
#include "sim/trace/sink.h"

namespace xpusim::network {

/// A lane for each of the first links of a network that carry anything: a slice a chunk. Links of
/// lanes carry one chunk after another here, each on all lanes.
class WireTrace final : public CrossingObserver {
 public:
  /// What crosses, by the tag that it was sent with.
  using Label = std::function<std::string(std::uint64_t tag)>;

  WireTrace(trace::Sink& sink, const Topology& topology, std::uint64_t start_fs, Label label);
  void crossed(std::uint32_t wire, std::uint64_t tag, engine::Femto begin,
               engine::Femto end) override;

 private:
  static constexpr std::size_t kMostLanes = 256;
  trace::Sink& sink_;
  const Topology& topology_;
  std::uint64_t start_fs_;
  Label label_;
  std::vector<std::optional<trace::LaneId>> lanes_;
};

}  // namespace xpusim::network
