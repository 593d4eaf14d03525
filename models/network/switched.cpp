// Nodes of chips behind parallel switches, joined by rails.

#include <fmt/format.h>

#include "models/network/topology.h"

namespace xpusim::network {
namespace {

/// Within a node a message takes all switches at once, each as many bytes as the chip has lanes to
/// it. Between nodes it takes the chip's own network adapter: over the leaf switch of its rail, and
/// over the spine if the other chip is on another rail.
///
/// Not modelled: forwarding over NVLink to a chip of the right rail (NCCL's PXN), several spines
/// (they are one here, as wide as all together), reductions inside a switch.
class Switched final : public Topology {
 public:
  explicit Switched(const SwitchedParams& params)
      : per_node_(static_cast<std::uint32_t>(params.chips)),
        node_count_(static_cast<std::uint32_t>(params.nodes)),
        switches_(static_cast<std::uint32_t>(params.switches)),
        lanes_(static_cast<std::uint32_t>(params.link.lanes)) {
    chips_ = per_node_ * node_count_;
    const bool joined = node_count_ > 1;
    nodes_ = chips_ + node_count_ * switches_ + (joined ? per_node_ + 1 : 0);
    axes_.push_back({"chip", per_node_, 1, true, false});
    axes_.push_back({"node", node_count_, per_node_, true, false});
    const std::uint16_t inside = add_kind(params.link);
    for (std::uint32_t chip = 0; chip < chips_; ++chip)
      for (std::uint32_t s = 0; s < switches_; ++s)
        add_link(chip, switch_node(chip, s), inside, lanes_to(s));
    if (!joined) return;
    const std::uint16_t rail = add_kind(params.rail), spine = add_kind(params.spine);
    for (std::uint32_t chip = 0; chip < chips_; ++chip)
      add_link(chip, leaf(chip), rail, static_cast<std::uint32_t>(params.rail.lanes));
    for (std::uint32_t r = 0; r < per_node_; ++r)
      add_link(leaf(r), nodes_ - 1, spine, static_cast<std::uint32_t>(params.spine.lanes));
  }

  std::string node_name(std::uint32_t node) const override {
    if (node < chips_) return fmt::format("chip{}", node);
    const std::uint32_t s = node - chips_;
    if (s < node_count_ * switches_)
      return fmt::format("node{}.switch{}", s / switches_, s % switches_);
    return node == nodes_ - 1 ? "spine" : fmt::format("leaf{}", s - node_count_ * switches_);
  }

 protected:
  std::vector<Route> usual_routes(std::uint32_t from, std::uint32_t to) const override {
    std::vector<Route> out;
    if (from / per_node_ == to / per_node_) {
      for (std::uint32_t s = 0; s < switches_; ++s)
        out.push_back(over({from, switch_node(from, s), to}, lanes_to(s)));
    } else if (leaf(from) == leaf(to)) {
      out.push_back(over({from, leaf(from), to}, 1));
    } else {
      out.push_back(over({from, leaf(from), nodes_ - 1, leaf(to), to}, 1));
    }
    return out;
  }

 private:
  std::uint32_t switch_node(std::uint32_t chip, std::uint32_t s) const {
    return chips_ + chip / per_node_ * switches_ + s;
  }
  std::uint32_t leaf(std::uint32_t chip) const {
    return chips_ + node_count_ * switches_ + chip % per_node_;
  }
  std::uint32_t lanes_to(std::uint32_t s) const {
    return lanes_ / switches_ + (s < lanes_ % switches_ ? 1 : 0);
  }
  std::int64_t switch_beside(std::uint32_t chip, std::uint32_t number) const override {
    return number < switches_ ? std::int64_t{switch_node(chip, number)} : -1;
  }
  Route over(const std::vector<std::uint32_t>& way, std::uint32_t lanes) const {
    Route route;
    route.lanes = lanes;
    for (std::size_t i = 0; i + 1 < way.size(); ++i)
      route.hops.push_back({wire(way[i], way[i + 1]), 0});
    return route;
  }

  std::uint32_t per_node_, node_count_, switches_, lanes_;
};

}  // namespace

std::unique_ptr<Topology> make_switched(const SwitchedParams& params) {
  return std::make_unique<Switched>(params);
}

}  // namespace xpusim::network
