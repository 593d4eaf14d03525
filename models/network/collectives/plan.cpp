#include "models/network/collectives/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/network/collectives/algorithms.h"
#include "models/network/collectives/bounds.h"
#include "models/network/collectives/estimate.h"

namespace xpusim::network {
namespace {

/// Schedules of more transfers are not made for the sake of a choice; those that go axis by axis
/// are made of equal steps on every ring and are worth more.
constexpr double kMostTransfers = 1e6;
constexpr double kMostTorusTransfers = 4e6;
/// Estimates that differ by less are alike: the algorithm that is listed first is taken.
constexpr double kAlike = 0.02;

std::vector<std::size_t> all_axes(const Mesh& mesh) {
  std::vector<std::size_t> out;
  for (std::size_t a = 0; a < mesh.axes().size(); ++a) out.push_back(a);
  return out;
}

/// Every axis is the first one of a part in each direction that it has, so that all links of a chip
/// work at once.
std::vector<PartWay> torus_ways(const Mesh& mesh) {
  std::vector<PartWay> ways;
  const std::size_t count = mesh.axes().size();
  for (std::size_t first = 0; first < count; ++first)
    for (const bool rising : {true, false}) {
      if (!rising && !mesh.axes()[first].closed) continue;
      PartWay way;
      way.rising = rising;
      for (std::size_t k = 0; k < count; ++k) way.phases.push_back({(first + k) % count});
      ways.push_back(std::move(way));
    }
  return ways;
}

std::vector<PartWay> ways_of(const std::string& algorithm, const Mesh& mesh,
                             const CollectiveRequest& request) {
  std::vector<PartWay> ways;
  if (algorithm == "torus") {
    ways = torus_ways(mesh);
    // Exchanges take the shorter way round by themselves: one direction is both.
    if (request.op == Collective::kAllToAll)
      std::erase_if(ways, [](const PartWay& w) { return !w.rising; });
  } else {
    ways.push_back({{all_axes(mesh)}, true, algorithm == "direct"});
    if (algorithm == "bidirectional_ring") ways.push_back({{all_axes(mesh)}, false, false});
    if (algorithm == "tree" && request.op == Collective::kAllReduce) ways.push_back(ways[0]);
  }
  std::vector<PartWay> out;
  for (std::uint32_t c = 0; c < request.channels; ++c)
    out.insert(out.end(), ways.begin(), ways.end());
  return out;
}

/// About how many transfers a schedule has.
double transfers(Collective op, const std::string& algorithm, const Mesh& mesh,
                 std::uint32_t chips) {
  const double n = mesh.group_size();
  if (op == Collective::kPermute) return chips;
  if (algorithm == "tree") return 2.0 * chips;
  if (algorithm != "torus") return 2 * chips * n;
  double steps = 0;
  for (const Axis& a : mesh.axes()) steps += a.size;
  return 2 * chips * steps * 2 * static_cast<double>(mesh.axes().size());
}

void broadcast(const std::string& algorithm, const Task& task) {
  const auto& axes = task.mesh.axes();
  const bool closed = std::all_of(axes.begin(), axes.end(), [](const Axis& a) { return a.closed; });
  if (algorithm == "tree") return broadcast_tree(task);
  if (algorithm == "torus" && closed) return broadcast_torus(task);
  broadcast_chain(task);
}

Schedule schedule_of(const std::string& algorithm, const Topology& topology, const Mesh& mesh,
                     const CollectiveRequest& request) {
  ScheduleBuilder builder(topology.chips());
  const std::vector<PartWay> ways = ways_of(algorithm, mesh, request);
  const Task task = {request, mesh, ways, builder};
  switch (request.op) {
    case Collective::kAllReduce:
      if (algorithm == "tree") {
        all_reduce_tree(task);
        break;
      }
      [[fallthrough]];
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      scatter_and_gather(task);
      break;
    case Collective::kAllToAll:
      all_to_all(task);
      break;
    case Collective::kBroadcast:
      broadcast(algorithm, task);
      break;
    case Collective::kPermute:
      permute(task);
      break;
  }
  return builder.take();
}

/// Whether an algorithm makes sense on these axes.
bool fits(const std::string& algorithm, const Mesh& mesh) {
  if (algorithm == "torus") return mesh.axes().size() > 1 || mesh.axes()[0].closed;
  return true;
}

/// Makes the schedules of all algorithms and keeps the one with the least estimate; a problem if
/// all of them have too many transfers.
Expected<void> choose(const Topology& topology, const Mesh& mesh, const CollectiveRequest& request,
                      CollectivePlan& plan) {
  double least = 0;
  for (const std::string& algorithm : algorithms(request.op)) {
    if (!fits(algorithm, mesh)) continue;
    const double count =
        transfers(request.op, algorithm, mesh, topology.chips()) * request.channels;
    if (count > (algorithm == "torus" ? kMostTorusTransfers : kMostTransfers)) {
      plan.reason +=
          fmt::format("{}{}: too many steps", plan.reason.empty() ? "" : ", ", algorithm);
      continue;
    }
    Schedule schedule = schedule_of(algorithm, topology, mesh, request);
    const double seconds =
        estimate_seconds(topology, schedule, request.chunk, request.step_seconds);
    plan.reason +=
        fmt::format("{}{} {:.4g} us", plan.reason.empty() ? "" : ", ", algorithm, seconds * 1e6);
    if (!plan.algorithm.empty() && seconds >= least * (1 - kAlike)) continue;
    least = seconds;
    plan.algorithm = algorithm;
    plan.schedule = std::move(schedule);
  }
  if (plan.algorithm.empty())
    return fail(
        {}, fmt::format("{} of groups of {} chips: {}; name an algorithm to run it all the same",
                        name(request.op), plan.group, plan.reason));
  plan.reason = "the least estimate: " + plan.reason;
  return {};
}

}  // namespace

const char* name(Collective op) {
  switch (op) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kAllToAll:
      return "all_to_all";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kPermute:
      return "permute";
  }
  return "?";
}

std::vector<std::string> algorithms(Collective op) {
  switch (op) {
    case Collective::kAllReduce:
      return {"torus", "ring", "bidirectional_ring", "tree", "direct"};
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return {"torus", "ring", "bidirectional_ring", "direct"};
    case Collective::kAllToAll:
      return {"torus", "direct"};
    case Collective::kBroadcast:
      return {"torus", "ring", "bidirectional_ring", "tree", "direct"};
    case Collective::kPermute:
      return {"direct"};
  }
  return {};
}

Expected<void> check_request(const Topology& topology, const CollectiveRequest& request) {
  for (const std::string& axis : request.axes) {
    std::vector<std::string> known;
    for (const Axis& a : topology.axes()) known.push_back(a.name);
    if (!topology.axis(axis))
      return fail({}, fmt::format("no axis '{}'{}", axis, did_you_mean(axis, known)));
    if (std::count(request.axes.begin(), request.axes.end(), axis) > 1)
      return fail({}, fmt::format("axis '{}' twice", axis));
  }
  const Mesh mesh(topology, request.axes);
  const std::uint64_t n = mesh.group_size();
  const bool blocks = request.op == Collective::kAllGather ||
                      request.op == Collective::kReduceScatter ||
                      request.op == Collective::kAllToAll;
  if (request.bytes % request.element != 0 ||
      (blocks && request.bytes % (n * request.element) != 0))
    return fail({}, fmt::format("{} elements do not divide by the {} chips of a group",
                                request.bytes / request.element, n));
  if (request.root >= n)
    return fail({}, fmt::format("root {} of a group of {} chips", request.root, n));
  const auto known = algorithms(request.op);
  if (request.algorithm != "auto" &&
      std::find(known.begin(), known.end(), request.algorithm) == known.end())
    return fail({}, fmt::format(
                        "no algorithm '{}' for {}: auto{}{}", request.algorithm, name(request.op),
                        [&] {
                          std::string all;
                          for (const auto& a : known) all += ", " + a;
                          return all;
                        }(),
                        did_you_mean(request.algorithm, known)));
  return {};
}

Expected<CollectivePlan> plan_collective(const Topology& topology,
                                         const CollectiveRequest& request) {
  if (auto ok = check_request(topology, request); !ok) return fail(ok.error());
  const Mesh mesh(topology, request.axes);
  CollectivePlan plan;
  plan.group = mesh.group_size();
  const Bound bound = bandwidth_bound(topology, mesh, request);
  plan.bound_seconds = bound.seconds;
  plan.bound = bound.limit;
  if (plan.group < 2) {
    plan.algorithm = "none";
    plan.reason = "a group of one chip";
    return plan;
  }
  if (request.algorithm == "auto") {
    if (auto chosen = choose(topology, mesh, request, plan); !chosen) return fail(chosen.error());
  } else {
    plan.algorithm = request.algorithm;
    plan.reason = "named";
    plan.schedule = schedule_of(request.algorithm, topology, mesh, request);
  }
  return plan;
}

}  // namespace xpusim::network
