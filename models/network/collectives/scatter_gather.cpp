// Reduce-scatter, all-gather and all-reduce over the axes of a mesh.

#include "models/network/collectives/algorithms.h"
#include "models/network/collectives/phases.h"

namespace xpusim::network {
namespace {

constexpr Layout kInPlace = {Space::kOutput, 0};

/// One part of the data on its way.
class Part {
 public:
  Part(const Task& task, std::size_t number, Layout scratch)
      : task_(task), way_(task.ways[number]), scratch_(scratch) {
    const CollectiveRequest& r = task.request;
    blocks_ = r.op != Collective::kAllReduce;
    block_ = blocks_ ? r.bytes / task.mesh.group_size() : r.bytes;
    slice_ = shard({0, block_, 1, 0}, static_cast<std::uint32_t>(number),
                   static_cast<std::uint32_t>(task.ways.size()), r.element);
  }

  void reduce_scatter() {
    hold([&](std::uint32_t chip) { return Holding{region(chip, 0), {}, {}, false}; });
    const auto phases = way_.phases.size();
    for (std::size_t k = 0; k < phases; ++k)
      for (const Group& line : lines_of(task_.mesh, way_.phases[k])) {
        const auto shards = shards_of(line, k);
        const auto last = [&](std::uint32_t chip) {
          if (!blocks_) return kInPlace;
          return k + 1 == phases ? own_block(chip, Space::kOutput) : scratch_;
        };
        if (way_.direct) {
          task_.builder.direct_reduce_scatter(line, shards, last);
        } else {
          task_.builder.ring_reduce_scatter(line, way_.rising, shards,
                                            blocks_ ? scratch_ : kInPlace, last);
        }
      }
  }

  void all_gather() {
    const auto phases = way_.phases.size();
    if (blocks_)
      hold([&](std::uint32_t chip) {
        return Holding{region(chip, phases), own_block(chip, Space::kInput), {}, false};
      });
    for (std::size_t k = phases; k-- > 0;)
      for (const Group& line : lines_of(task_.mesh, way_.phases[k])) {
        const auto shards = shards_of(line, k);
        const Region whole = region(line[0], k);
        if (way_.direct) {
          task_.builder.direct_all_gather(line, shards, whole, kInPlace);
        } else {
          task_.builder.ring_all_gather(line, way_.rising, shards, whole, kInPlace);
        }
      }
  }

 private:
  template <class F>
  void hold(F&& of) {
    for (const Group& group : task_.mesh.groups())
      for (const std::uint32_t chip : group) task_.builder.held(chip) = of(chip);
  }

  /// What a chip has to do with after `k` phases of reduce-scatter.
  Region region(std::uint32_t chip, std::size_t k) const {
    const Mesh& mesh = task_.mesh;
    if (!blocks_) {
      Run run = slice_;
      for (std::size_t j = 0; j < k; ++j)
        run = shard(run, place_in(mesh, chip, way_.phases[j]), size_of(mesh, way_.phases[j]),
                    task_.request.element);
      return {run};
    }
    std::vector<GridAxis> grid;
    for (const Axis& axis : mesh.axes()) grid.push_back({axis.size, 0, true});
    for (std::size_t j = 0; j < k; ++j)
      for (const std::size_t a : way_.phases[j])
        grid[a] = {grid[a].size, mesh.place(chip, a), false};
    return blocks(grid, block_, slice_);
  }
  std::vector<Region> shards_of(const Group& line, std::size_t k) const {
    std::vector<Region> out;
    for (const std::uint32_t chip : line) out.push_back(region(chip, k + 1));
    return out;
  }
  Layout own_block(std::uint32_t chip, Space space) const {
    return {space, -static_cast<std::int64_t>(task_.mesh.position(chip) * block_)};
  }

  const Task& task_;
  const PartWay& way_;
  Layout scratch_;
  bool blocks_ = false;  ///< a chip's share is its own block of the data
  std::uint64_t block_ = 0;
  Run slice_;  ///< of a block; of all the data if there are no blocks
};

}  // namespace

void scatter_and_gather(const Task& task) {
  const Collective op = task.request.op;
  const bool sums_apart = op == Collective::kReduceScatter;
  const Layout scratch = {
      Space::kScratch,
      static_cast<std::int64_t>(task.builder.scratch(sums_apart ? task.request.bytes : 0))};
  for (std::size_t p = 0; p < task.ways.size(); ++p) {
    task.builder.begin_part(static_cast<std::uint16_t>(p));
    Part part(task, p, scratch);
    if (op != Collective::kAllGather) part.reduce_scatter();
    if (op != Collective::kReduceScatter) part.all_gather();
  }
}

}  // namespace xpusim::network
