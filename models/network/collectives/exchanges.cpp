// All-to-all and permute.

#include "models/network/collectives/algorithms.h"
#include "models/network/collectives/phases.h"

namespace xpusim::network {
namespace {

/// Bytes from the blocks of one member of a line to those of the next, where places count over the
/// axes of the phase.
std::uint64_t stride_of(const Mesh& mesh, const PhaseAxes& phase, std::uint64_t block) {
  std::uint64_t stride = block;
  for (std::size_t a = 0; a < phase[0]; ++a) stride *= mesh.axes()[a].size;
  return stride;
}

}  // namespace

void all_to_all(const Task& task) {
  const Mesh& mesh = task.mesh;
  const std::uint64_t bytes = task.request.bytes, block = bytes / mesh.group_size();
  const std::size_t between = task.ways[0].phases.size() - 1;
  std::vector<Layout> scratch;
  for (std::size_t k = 0; k < between; ++k)
    scratch.push_back({Space::kScratch, static_cast<std::int64_t>(task.builder.scratch(bytes))});
  for (std::size_t p = 0; p < task.ways.size(); ++p) {
    task.builder.begin_part(static_cast<std::uint16_t>(p));
    const Run slice = shard({0, block, 1, 0}, static_cast<std::uint32_t>(p),
                            static_cast<std::uint32_t>(task.ways.size()), task.request.element);
    std::vector<GridAxis> grid;
    for (const Axis& axis : mesh.axes()) grid.push_back({axis.size, 0, true});
    const Region all = blocks(grid, block, slice);
    for (const Group& group : mesh.groups())
      for (const std::uint32_t chip : group) task.builder.held(chip) = {all, {}, {}, false};
    const auto& phases = task.ways[p].phases;
    for (std::size_t k = 0; k < phases.size(); ++k) {
      const Layout to = k < between ? scratch[k] : Layout{Space::kOutput, 0};
      const auto region_of = [&](std::uint32_t member) {
        std::vector<GridAxis> chosen = grid;
        std::uint32_t rest = member;
        for (const std::size_t a : phases[k]) {
          chosen[a] = {grid[a].size, rest % grid[a].size, false};
          rest /= grid[a].size;
        }
        return blocks(chosen, block, slice);
      };
      const auto stride = static_cast<std::int64_t>(stride_of(mesh, phases[k], block));
      for (const Group& line : phases[k].size() == 1 ? mesh.lines(phases[k][0]) : mesh.groups())
        task.builder.exchange(line, region_of, stride, to);
    }
  }
}

void permute(const Task& task) {
  const auto parts = static_cast<std::uint32_t>(task.ways.size());
  for (std::uint32_t p = 0; p < parts; ++p) {
    task.builder.begin_part(static_cast<std::uint16_t>(p));
    const Region slice = {shard({0, task.request.bytes, 1, 0}, p, parts, task.request.element)};
    for (const Group& group : task.mesh.groups()) {
      for (const std::uint32_t chip : group) task.builder.held(chip) = {slice, {}, {}, false};
      task.builder.rotate(group, task.request.shift, {Space::kOutput, 0});
    }
  }
}

}  // namespace xpusim::network
