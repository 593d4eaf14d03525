#include "models/network/collectives/mesh.h"

#include <algorithm>

namespace xpusim::network {

Mesh::Mesh(const Topology& topology, const std::vector<std::string>& names)
    : chips_(topology.chips()) {
  for (const Axis& axis : topology.axes()) {
    const bool named =
        names.empty() || std::find(names.begin(), names.end(), axis.name) != names.end();
    if (!named || axis.size == 1) continue;
    axes_.push_back(axis);
    size_ *= axis.size;
  }
}

std::uint32_t Mesh::position(std::uint32_t chip) const {
  std::uint32_t position = 0, stride = 1;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    position += place(chip, a) * stride;
    stride *= axes_[a].size;
  }
  return position;
}

std::vector<Group> Mesh::groups() const {
  std::vector<Group> out;
  for (std::uint32_t chip = 0; chip < chips_; ++chip) {
    if (position(chip) != 0) continue;
    Group group(size_);
    for (std::uint32_t p = 0; p < size_; ++p) {
      std::uint32_t rest = p, member = chip;
      for (const Axis& axis : axes_) {
        member += rest % axis.size * axis.stride;
        rest /= axis.size;
      }
      group[p] = member;
    }
    out.push_back(std::move(group));
  }
  return out;
}

std::vector<Group> Mesh::lines(std::size_t a) const {
  const Axis& axis = axes_[a];
  std::vector<Group> out;
  for (std::uint32_t chip = 0; chip < chips_; ++chip) {
    if (place(chip, a) != 0) continue;
    Group line(axis.size);
    for (std::uint32_t i = 0; i < axis.size; ++i) line[i] = chip + i * axis.stride;
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::uint32_t> Mesh::walk() const {
  std::vector<std::uint32_t> out = {0};
  std::uint32_t stride = 1;
  for (const Axis& axis : axes_) {
    const std::vector<std::uint32_t> before = out;
    for (std::uint32_t i = 1; i < axis.size; ++i)
      for (std::size_t k = 0; k < before.size(); ++k)
        out.push_back(i * stride + (i % 2 == 0 ? before[k] : before[before.size() - 1 - k]));
    stride *= axis.size;
  }
  return out;
}

}  // namespace xpusim::network
