// Broadcasts, and the all-reduce over trees.

#include <algorithm>
#include <map>

#include "models/network/collectives/algorithms.h"
#include "models/network/collectives/phases.h"

namespace xpusim::network {
namespace {

constexpr Layout kOut = {Space::kOutput, 0};

Region part_of(const Task& task, std::size_t p) {
  return {shard({0, task.request.bytes, 1, 0}, static_cast<std::uint32_t>(p),
                static_cast<std::uint32_t>(task.ways.size()), task.request.element)};
}

/// From the member at `root` on to all of a line: round it if it is closed, else both ways.
void chain(ScheduleBuilder& builder, const Group& line, std::size_t root, bool closed,
           bool rising) {
  const std::size_t n = line.size();
  if (closed) {
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const auto at = [&](std::size_t k) { return line[(root + (rising ? k : n - k)) % n]; };
      builder.pass(at(i), at(i + 1), kOut);
    }
    return;
  }
  for (std::size_t i = root; i + 1 < n; ++i) builder.pass(line[i], line[i + 1], kOut);
  for (std::size_t i = root; i > 0; --i) builder.pass(line[i], line[i - 1], kOut);
}

/// The way into a chip in the tree of a part on closed axes: `behind` says how far the chip lies
/// behind the root along each axis. The trees of all parts together use each link into a chip once:
/// one whose first coordinate is the root's is reached over the end of the first axis, others along
/// the last axis in which they differ from the root, in the part's order.
std::size_t axis_into(const std::vector<std::uint32_t>& behind, const PartWay& way) {
  const std::size_t first = way.phases[0][0];
  std::size_t axis = first;
  if (behind[first] != 0)
    for (const PhaseAxes& phase : way.phases)
      if (behind[phase[0]] != 0) axis = phase[0];
  return axis;
}

/// The chip before `chip` in the tree of a part, or `chip` itself if it is the root.
std::uint32_t parent_of(const Mesh& mesh, std::uint32_t chip, std::uint32_t root,
                        const PartWay& way) {
  if (chip == root) return chip;
  std::vector<std::uint32_t> behind;
  for (std::size_t a = 0; a < mesh.axes().size(); ++a) {
    const std::uint32_t n = mesh.axes()[a].size, there = mesh.place(chip, a),
                        r = mesh.place(root, a);
    behind.push_back(way.rising ? (there + n - r) % n : (r + n - there) % n);
  }
  const std::size_t a = axis_into(behind, way);
  const Axis& axis = mesh.axes()[a];
  const std::uint32_t there = mesh.place(chip, a);
  const std::uint32_t before = (there + (way.rising ? axis.size - 1 : 1)) % axis.size;
  return chip - there * axis.stride + before * axis.stride;
}

/// Passes the data of a part down its tree, the chips nearest to the root first.
void spanning_tree(const Task& task, const Group& group, const PartWay& way) {
  const std::uint32_t root = group[task.request.root];
  std::map<std::uint32_t, std::vector<std::uint32_t>> children;
  for (const std::uint32_t chip : group)
    if (chip != root) children[parent_of(task.mesh, chip, root, way)].push_back(chip);
  std::vector<std::uint32_t> next = {root};
  for (std::size_t i = 0; i < next.size(); ++i)
    for (const std::uint32_t child : children[next[i]]) {
      task.builder.pass(next[i], child, kOut);
      next.push_back(child);
    }
}

}  // namespace

void broadcast_torus(const Task& task) {
  for (std::size_t p = 0; p < task.ways.size(); ++p) {
    task.builder.begin_part(static_cast<std::uint16_t>(p));
    for (const Group& group : task.mesh.groups()) {
      task.builder.held(group[task.request.root]) = {part_of(task, p), {}, {}, false};
      spanning_tree(task, group, task.ways[p]);
      task.builder.copy(group[task.request.root], kOut);
    }
  }
}

void broadcast_chain(const Task& task) {
  const Mesh& mesh = task.mesh;
  for (std::size_t p = 0; p < task.ways.size(); ++p) {
    const PartWay& way = task.ways[p];
    task.builder.begin_part(static_cast<std::uint16_t>(p));
    const Region region = part_of(task, p);
    for (const Group& group : mesh.groups()) {
      const std::uint32_t root = group[task.request.root];
      task.builder.held(root) = {region, {}, {}, false};
    }
    std::vector<bool> has(mesh.groups().size() * mesh.group_size());
    for (const Group& group : mesh.groups()) has[group[task.request.root]] = true;
    for (const PhaseAxes& phase : way.phases) {
      const Axis& axis = mesh.axes()[phase[0]];
      const bool closed = phase.size() > 1 || axis.closed || axis.direct;
      for (const Group& line : lines_of(mesh, phase)) {
        const auto holder =
            std::find_if(line.begin(), line.end(), [&](std::uint32_t c) { return has[c]; });
        if (holder == line.end()) continue;
        const std::uint32_t from = *holder;
        if (way.direct) {
          for (const std::uint32_t chip : line)
            if (chip != from) task.builder.pass(from, chip, kOut);
        } else {
          chain(task.builder, line, static_cast<std::size_t>(holder - line.begin()), closed,
                way.rising);
        }
        for (const std::uint32_t chip : line) has[chip] = true;
      }
    }
    for (const Group& group : mesh.groups()) task.builder.copy(group[task.request.root], kOut);
  }
}

void broadcast_tree(const Task& task) {
  const std::uint32_t n = task.mesh.group_size();
  for (std::size_t p = 0; p < task.ways.size(); ++p) {
    task.builder.begin_part(static_cast<std::uint16_t>(p));
    for (const Group& group : task.mesh.groups()) {
      const auto at = [&](std::uint32_t i) { return group[(task.request.root + i) % n]; };
      task.builder.held(at(0)) = {part_of(task, p), {}, {}, false};
      for (std::uint32_t i = 1; i < n; ++i) task.builder.pass(at((i - 1) / 2), at(i), kOut);
      task.builder.copy(at(0), kOut);
    }
  }
}

void all_reduce_tree(const Task& task) {
  const std::uint32_t n = task.mesh.group_size();
  for (std::size_t p = 0; p < task.ways.size(); ++p) {
    task.builder.begin_part(static_cast<std::uint16_t>(p));
    for (const Group& group : task.mesh.groups()) {
      // Who is a leaf in one tree is near the root of the other one.
      const auto at = [&](std::uint32_t i) { return group[p % 2 == 0 ? i : n - 1 - i]; };
      for (const std::uint32_t chip : group)
        task.builder.held(chip) = {part_of(task, p), {}, {}, false};
      for (std::uint32_t i = n - 1; i > 0; --i) task.builder.pass_sum(at(i), at((i - 1) / 2), kOut);
      for (std::uint32_t i = 1; i < n; ++i) task.builder.pass(at((i - 1) / 2), at(i), kOut);
    }
  }
}

}  // namespace xpusim::network
