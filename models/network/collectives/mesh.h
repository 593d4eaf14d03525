#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/collectives/builder.h"
#include "models/network/topology.h"

namespace xpusim::network {

/// The axes that a collective goes over, those of one chip left out: its groups are the chips that
/// differ in these axes only.
class Mesh {
 public:
  Mesh(const Topology& topology, const std::vector<std::string>& names);

  const std::vector<Axis>& axes() const { return axes_; }
  std::uint32_t group_size() const { return size_; }
  /// A chip's place along axis `a` of the mesh.
  std::uint32_t place(std::uint32_t chip, std::size_t a) const {
    return chip / axes_[a].stride % axes_[a].size;
  }
  /// Its position in its group: the first axis counts fastest.
  std::uint32_t position(std::uint32_t chip) const;
  /// The chips of each group by position.
  std::vector<Group> groups() const;
  /// The same along one axis only.
  std::vector<Group> lines(std::size_t axis) const;
  /// Positions in the order of a walk from neighbour to neighbour, there and back along the axes.
  std::vector<std::uint32_t> walk() const;

 private:
  std::vector<Axis> axes_;
  std::uint32_t chips_ = 0, size_ = 1;
};

}  // namespace xpusim::network
