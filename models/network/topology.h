#pragma once

// Which nodes a network has, which links join them, and which way a message goes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/network_params.h"
#include "sim/config/diagnostics.h"

namespace xpusim::network {

/// Virtual channels of a link. A torus needs two for closed axes: a packet changes to the second
/// where it crosses the end of the axis, so that no ring of full buffers can wait for itself. The
/// third is for packets that go round a link that was taken out.
inline constexpr std::uint32_t kChannels = 3;
inline constexpr std::uint8_t kDetourChannel = 2;

/// One direction of a link.
struct Wire {
  std::uint32_t from = 0, to = 0;  ///< nodes
  std::uint16_t kind = 0;          ///< index into Topology::kinds()
  std::uint16_t lanes = 1;
  bool up = true;
};

struct Hop {
  std::uint32_t wire = 0;
  std::uint8_t channel = 0;
};

/// One of the parallel ways from chip to chip; `lanes` is its weight among them.
struct Route {
  std::vector<Hop> hops;
  std::uint32_t lanes = 1;
};

/// A dimension of the mesh of chips, as collectives name it.
struct Axis {
  std::string name;
  std::uint32_t size = 1;
  std::uint32_t stride = 1;  ///< between device ids of neighbours
  bool direct = false;       ///< any two of it reach each other through a switch
  bool closed = false;       ///< neighbours in a line, and first and last are neighbours too
};

/// Nodes 0 .. chips()-1 are chips by device id, the others switches. Routes follow the dimensions
/// in order (torus) or go up and down the tree of switches; where a link of theirs is down they are
/// the shortest that go up to a spanning tree's root and down again, which cannot deadlock.
///
/// Not modelled: twisted tori, optical switches that rewire a slice, adaptive routing.
class Topology {
 public:
  virtual ~Topology() = default;

  std::uint32_t chips() const { return chips_; }
  std::uint32_t nodes() const { return nodes_; }
  const std::vector<Wire>& wires() const { return wires_; }
  const std::vector<LinkParams>& kinds() const { return kinds_; }
  const std::vector<Axis>& axes() const { return axes_; }
  const Axis* axis(const std::string& name) const;
  const LinkParams& kind_of(std::uint32_t wire) const { return kinds_[wires_[wire].kind]; }
  /// B/s of a wire, all its lanes.
  double bandwidth(std::uint32_t wire) const {
    return kind_of(wire).bandwidth * wires_[wire].lanes;
  }

  /// The ways from one chip to another one, together used by each message. There is at least one:
  /// make_topology has refused what falls apart.
  std::vector<Route> routes(std::uint32_t from, std::uint32_t to) const;

  virtual std::string node_name(std::uint32_t node) const = 0;
  /// "chip(1,0)->chip(2,0)"
  std::string wire_name(std::uint32_t wire) const;

 protected:
  /// The ways as if all links were up.
  virtual std::vector<Route> usual_routes(std::uint32_t from, std::uint32_t to) const = 0;
  std::uint16_t add_kind(const LinkParams& kind);
  void add_link(std::uint32_t a, std::uint32_t b, std::uint16_t kind, std::uint32_t lanes);
  /// The wire between two nodes that have one.
  std::uint32_t wire(std::uint32_t from, std::uint32_t to) const;

  std::uint32_t chips_ = 0, nodes_ = 0;
  std::vector<Axis> axes_;

 private:
  friend Expected<std::unique_ptr<Topology>> make_topology(const NetworkParams& params,
                                                           std::string_view path);
  /// Problems are named by the parameters' paths below NetworkParams.
  static Expected<std::unique_ptr<Topology>> make(const NetworkParams& params);
  Expected<void> take_down(const std::vector<std::string>& links);
  Expected<std::uint32_t> node_of(const std::string& text, std::uint32_t beside,
                                  const std::string& link) const;
  virtual std::int64_t switch_beside(std::uint32_t chip, std::uint32_t number) const;
  Expected<void> plan_detours();
  Route detour(std::uint32_t from, std::uint32_t to) const;

  std::vector<LinkParams> kinds_;
  std::vector<Wire> wires_;
  std::vector<std::vector<std::uint32_t>> leaving_;  ///< [node]: wires
  std::vector<std::uint32_t> depth_;  ///< [node]: in the spanning tree; empty: nothing is down
};

/// What does not fit together is a problem named by the parameter's path ("network.torus.x: ...");
/// `path` is that of `params`.
Expected<std::unique_ptr<Topology>> make_topology(const NetworkParams& params,
                                                  std::string_view path = "network");

std::unique_ptr<Topology> make_torus(const TorusParams& params);
std::unique_ptr<Topology> make_switched(const SwitchedParams& params);

}  // namespace xpusim::network
