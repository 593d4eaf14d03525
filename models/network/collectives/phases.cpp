#include "models/network/collectives/phases.h"

namespace xpusim::network {

std::uint32_t size_of(const Mesh& mesh, const PhaseAxes& axes) {
  std::uint32_t size = 1;
  for (const std::size_t a : axes) size *= mesh.axes()[a].size;
  return size;
}

std::uint32_t place_in(const Mesh& mesh, std::uint32_t chip, const PhaseAxes& axes) {
  std::uint32_t place = 0, stride = 1;
  for (const std::size_t a : axes) {
    place += mesh.place(chip, a) * stride;
    stride *= mesh.axes()[a].size;
  }
  return place;
}

std::vector<Group> lines_of(const Mesh& mesh, const PhaseAxes& axes) {
  if (axes.size() == 1) return mesh.lines(axes[0]);
  std::vector<Group> out;
  const std::vector<std::uint32_t> walk = mesh.walk();
  for (const Group& group : mesh.groups()) {
    Group line;
    for (const std::uint32_t position : walk) line.push_back(group[position]);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace xpusim::network
