#include "models/gpu/compiler/warp_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/program/program.h"

namespace xpusim::gpu {
namespace {

constexpr int kReservedBarriers = 2;     // of the function's own warps, and of all
constexpr int kLeast = 24, kMost = 256;  // registers that setmaxnreg takes (PTX ISA)
constexpr int kIdle = 16;                // that partitions of nothing ask for
constexpr int kMostWarps = 32;           // of a block: 1,024 threads

int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }
int round_down(int n, int unit) { return n / unit * unit; }

std::vector<int> ints(const kernel::Attr attr) {
  std::vector<int> list;
  if (!attr) return list;
  for (const std::int64_t n : attr->int_list()) list.push_back(static_cast<int>(n));
  return list;
}

void find(const kernel::Region& region, std::vector<const kernel::Op*>& found) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      if (op->name() == "ttg.warp_specialize") found.push_back(op.get());
      for (const auto& inner : op->regions) find(*inner, found);
    }
  }
}

/// Groups for warps beyond the partitions' that make their warpgroup whole, in powers of two.
void fill_up(std::vector<WarpGroup>& groups, int further, std::vector<int>& registers) {
  int missing = round_up(further, kWarpsOfWarpgroup) - further;
  for (int size = kWarpsOfWarpgroup / 2; size > 0; size /= 2) {
    if (missing < size) continue;
    missing -= size;
    WarpGroup idle;
    idle.warps = size;
    idle.is_idle = true;
    groups.push_back(idle);
    if (!registers.empty()) registers.push_back(kIdle);
  }
}

/// Numbers of warps: the larger partitions first.
void number_warps(std::vector<WarpGroup>& groups) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin() + 1, order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].warps > groups[b].warps; });
  int next = 0;
  for (const std::size_t n : order) {
    groups[n].first = next;
    next += groups[n].warps;
  }
}

/// Gives each warpgroup what its partitions ask for at most, and the rest to the function's warps.
void share_registers(WarpGroups& all, const std::vector<int>& requested, int launch) {
  const int own = all.groups[0].warps;
  std::vector<int> of_warpgroup(static_cast<std::size_t>(all.warps / kWarpsOfWarpgroup + 1));
  const auto warpgroup = [&](const WarpGroup& g) -> int& {
    return of_warpgroup[static_cast<std::size_t>((g.first - own) / kWarpsOfWarpgroup)];
  };
  for (std::size_t n = 1; n < all.groups.size(); ++n) {
    int& most = warpgroup(all.groups[n]);
    most = std::max(most, round_up(requested[n - 1], kRegisterUnit));
  }
  int budget = launch * own;
  for (std::size_t n = 1; n < all.groups.size(); ++n) {
    budget += (launch - warpgroup(all.groups[n])) * all.groups[n].warps;
  }
  const int rest = round_down(budget / own, kRegisterUnit);
  if (budget <= 0 || rest < kLeast) return;
  for (std::size_t n = 1; n < all.groups.size(); ++n) {
    all.groups[n].registers = warpgroup(all.groups[n]);
  }
  all.groups[0].registers = std::min(rest, kMost);
  all.launch_registers = launch;
  const int further = all.warps - own;
  all.waiting_registers = kLeast;
  all.function_registers =
      round_down(launch + (launch - all.waiting_registers) * further / own, kRegisterUnit);
  if (all.function_registers <= kMost) return;
  all.function_registers = kMost;
  const int given = (kMost - launch) * own / further;
  all.waiting_registers = round_down(launch - given, kRegisterUnit);
}

}  // namespace

int WarpGroups::further_warps(const kernel::Op& specialize) {
  const std::vector<int> warps = ints(specialize.attr("partitionNumWarps"));
  return round_up(std::accumulate(warps.begin(), warps.end(), 0), kWarpsOfWarpgroup);
}

Expected<WarpGroups> WarpGroups::make(const kernel::Module& module,
                                      const kernel::Function& function) {
  if (const auto clustered = module.op->int_attr("ttg.num-ctas", 1); clustered > 1) {
    return fail(
        module.op->text,
        fmt::format("thread-block clusters (\"ttg.num-ctas\" = {}) are not modelled", clustered));
  }
  WarpGroups all;
  WarpGroup own;
  own.warps = static_cast<int>(module.op->int_attr("ttg.num-warps", 4));
  all.groups.push_back(own);
  all.warps = own.warps;
  std::vector<const kernel::Op*> found;
  const kernel::Region& body = *function.op->regions[0];
  find(body, found);
  if (found.empty()) return all;
  const kernel::Op& op = *found[0];
  if (found.size() > 1) {
    return fail(found[1]->text,
                "a kernel with more than one 'ttg.warp_specialize' is not modelled");
  }
  if (op.parent->parent != &body || body.blocks.size() != 1) {
    return fail(op.text, "'ttg.warp_specialize' in a loop or a branch is not modelled");
  }
  const std::vector<int> warps = ints(op.attr("partitionNumWarps"));
  if (warps.size() + kReservedBarriers > kBarriersOfBlock) {
    return fail(op.text, fmt::format("{} partitions, but a block has {} barriers", warps.size(),
                                     kBarriersOfBlock));
  }
  int further = 0;
  for (std::size_t n = 0; n < warps.size(); ++n) {
    WarpGroup& group = all.groups.emplace_back();
    group.region = op.regions[n + 1].get();
    group.warps = warps[n];
    group.barrier = static_cast<int>(n) + kReservedBarriers;
    further += warps[n];
  }
  std::vector<int> requested = ints(op.attr("requestedRegisters"));
  if (!requested.empty() && requested.size() != warps.size()) {
    return fail(op.text, "needs as many requestedRegisters as partitions");
  }
  fill_up(all.groups, further, requested);
  number_warps(all.groups);
  all.specialize = &op;
  all.warps = own.warps + further_warps(op);
  if (all.warps > kMostWarps) {
    return fail(op.text, fmt::format("a block of {} warps: at most {}", all.warps, kMostWarps));
  }
  if (requested.empty()) return all;
  const int fitting = round_down(kRegistersOfSm / (all.warps * kWarpLanes), kRegisterUnit);
  share_registers(all, requested, static_cast<int>(module.op->int_attr("ttg.maxnreg", fitting)));
  return all;
}

}  // namespace xpusim::gpu
