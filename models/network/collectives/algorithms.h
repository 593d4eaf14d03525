#pragma once

// The algorithms; each adds the transfers of all groups of chips to a schedule.

#include <vector>

#include "models/network/collectives/mesh.h"
#include "models/network/collectives/plan.h"

namespace xpusim::network {

/// How one part of the data goes through the mesh: phase after phase, each over some of its axes
/// (by number), as rings in a direction, or each chip to all others of the phase itself.
struct PartWay {
  std::vector<std::vector<std::size_t>> phases;
  bool rising = true;
  bool direct = false;
};

/// What all algorithms get.
struct Task {
  const CollectiveRequest& request;
  const Mesh& mesh;
  const std::vector<PartWay>& ways;  ///< one a part; the data is cut evenly
  ScheduleBuilder& builder;
};

/// All-reduce, reduce-scatter and all-gather: a reduce-scatter over phase after phase, an
/// all-gather over them in reverse order, or both.
void scatter_and_gather(const Task& task);
/// Each chip's blocks to their chips, phase after phase.
void all_to_all(const Task& task);
/// From the root along chains, phase after phase; a line that is not closed has two.
void broadcast_chain(const Task& task);
/// On closed axes: a tree a part, which together use each link into a chip once.
void broadcast_torus(const Task& task);
/// Over a binary tree.
void broadcast_tree(const Task& task);
/// All-reduce up and down two binary trees, half of the data each.
void all_reduce_tree(const Task& task);
void permute(const Task& task);

}  // namespace xpusim::network
