#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/network/fabric_state.h"
#include "models/network/topology.h"
#include "sim/run/machine.h"

namespace xpusim::system {

/// A lane for each of the first links of a system: a slice a chunk. Links of lanes carry one chunk
/// after another here, each on all lanes.
class LinkTrace final : public network::CrossingObserver {
 public:
  LinkTrace(const network::Topology& topology, const std::string& name,
            const run::LaunchOptions& options);
  void crossed(std::uint32_t wire, std::uint64_t tag, engine::Femto begin,
               engine::Femto end) override;

 private:
  static constexpr std::uint32_t kMostLanes = 256;
  const network::Topology& topology_;
  trace::Sink* sink_;
  std::uint64_t start_;
  trace::NameId name_ = 0;
  std::vector<std::optional<trace::LaneId>> lanes_;
};

}  // namespace xpusim::system
