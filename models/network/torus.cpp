// Meshes of chips whose axes close into rings.

#include <fmt/format.h>

#include <array>

#include "models/network/topology.h"

namespace xpusim::network {
namespace {

/// Chips with two links an axis. Ways go along x, then y, then z, each the shorter way round; of
/// two equally short ones, chips at even coordinates take the rising one, so that both are used
/// alike.
class Torus final : public Topology {
 public:
  explicit Torus(const TorusParams& params) {
    const std::array<std::int64_t, 3> sizes = {params.x, params.y, params.z};
    std::uint32_t stride = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const auto size = static_cast<std::uint32_t>(sizes[d]);
      const bool closed = size >= 3 && sizes[d] % params.wrap_multiple == 0;
      axes_.push_back({std::string(1, "xyz"[d]), size, stride, false, closed});
      stride *= size;
    }
    chips_ = nodes_ = stride;
    const std::uint16_t kind = add_kind(params.link);
    for (std::uint32_t chip = 0; chip < chips_; ++chip)
      for (const Axis& a : axes_) add_neighbour(chip, a, kind, params.link.lanes);
  }

  std::string node_name(std::uint32_t node) const override {
    if (axes_[2].size == 1) return fmt::format("chip({},{})", place(node, 0), place(node, 1));
    return fmt::format("chip({},{},{})", place(node, 0), place(node, 1), place(node, 2));
  }

 protected:
  std::vector<Route> usual_routes(std::uint32_t from, std::uint32_t to) const override {
    Route route;
    std::uint32_t at = from;
    for (std::uint32_t d = 0; d < axes_.size(); ++d) {
      const Axis& a = axes_[d];
      const std::uint32_t goal = place(to, d);
      const bool rising = rises(a, place(at, d), goal);
      std::uint8_t channel = 0;
      while (place(at, d) != goal) {
        const std::uint32_t here = place(at, d);
        const bool end = here == (rising ? a.size - 1 : 0);
        const std::uint32_t there = end ? (rising ? 0 : a.size - 1) : rising ? here + 1 : here - 1;
        if (end) channel = 1;
        const std::uint32_t next = at - here * a.stride + there * a.stride;
        route.hops.push_back({wire(at, next), channel});
        at = next;
      }
    }
    return {route};
  }

 private:
  std::uint32_t place(std::uint32_t chip, std::uint32_t d) const {
    return chip / axes_[d].stride % axes_[d].size;
  }
  static bool rises(const Axis& a, std::uint32_t from, std::uint32_t to) {
    if (!a.closed) return to > from;
    const std::uint32_t up = (to + a.size - from) % a.size;
    return 2 * up < a.size || (2 * up == a.size && from % 2 == 0);
  }
  void add_neighbour(std::uint32_t chip, const Axis& a, std::uint16_t kind, std::int64_t lanes) {
    const std::uint32_t here = chip / a.stride % a.size;
    if (here + 1 < a.size) {
      add_link(chip, chip + a.stride, kind, static_cast<std::uint32_t>(lanes));
    } else if (a.closed) {
      add_link(chip, chip - here * a.stride, kind, static_cast<std::uint32_t>(lanes));
    }
  }
};

}  // namespace

std::unique_ptr<Topology> make_torus(const TorusParams& params) {
  return std::make_unique<Torus>(params);
}

}  // namespace xpusim::network
