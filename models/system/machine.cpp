#include "models/system/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/network/collectives/mesh.h"
#include "models/system/apart.h"
#include "models/system/collective_run.h"
#include "models/system/device_order.h"
#include "sim/run/cost.h"

namespace xpusim::system {
namespace {

network::Collective op_of(const std::string& name) {
  using network::Collective;
  for (const Collective op :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
        Collective::kAllToAll, Collective::kBroadcast, Collective::kPermute})
    if (name == network::name(op)) return op;
  return Collective::kAllReduce;
}

/// Problems that have no place yet get that of the launch.
Diagnostics placed_at(const Diagnostics& problems, const SourcePosition& where) {
  Diagnostics out;
  for (Diagnostic d : problems.list()) {
    if (d.where.file.empty()) d.where = where;
    out.add(std::move(d));
  }
  return out;
}

}  // namespace

Machine::Machine(std::string name, const SystemParams& params, run::LoadedMachine chip,
                 std::unique_ptr<network::Topology> topology, std::optional<double> chip_dollars)
    : name_(std::move(name)),
      params_(params),
      chip_(std::move(chip)),
      topology_(std::move(topology)),
      chip_of_(device_order(*topology_, params_.order)),
      device_of_(chip_of_.size()),
      chip_dollars_(chip_dollars) {
  for (std::uint32_t d = 0; d < chip_of_.size(); ++d) device_of_[chip_of_[d]] = d;
}

run::Peaks Machine::peaks() const {
  run::Peaks all = chip_.machine->peaks();
  if (chip_dollars_) all.dollars_per_hour = chip_dollars_;
  all.flops_per_s *= chips();
  all.tensor_flops_per_s *= chips();
  all.hbm_bytes_per_s *= chips();
  all.hbm_bytes *= chips();
  if (all.dollars_per_hour) *all.dollars_per_hour *= chips();
  return all;
}

Expected<run::LaunchReport> Machine::launch(const exec::Launch& launch, exec::DeviceMemory&,
                                            const run::LaunchOptions&) {
  return fail(launch.function->op->line(), "a system runs a kernel on all of its chips");
}

Expected<run::LaunchReport> Machine::launch_on_all(const exec::Launch& launch,
                                                   std::span<exec::DeviceMemory* const> memories,
                                                   const run::LaunchOptions& options) {
  if (!talks(*launch.module)) return launch_apart(launch, memories, options);
  return chip_.machine->launch_joined(launch, memories, {*topology_, params_.network, chip_of_},
                                      options);
}

bool Machine::chips_differ(const exec::Launch& launch) const {
  return !talks(*launch.module) && follows_data(*launch.module);
}

Expected<run::Machine*> Machine::machine_of(std::uint32_t chip) {
  if (chip == 0) return chip_.machine.get();
  while (others_.size() < chip) {
    auto other = run::load_machine(params_.chip, {});
    if (!other) return fail(other.error());
    others_.push_back(std::move(*other));
  }
  return others_[chip - 1].machine.get();
}

Expected<run::LaunchReport> Machine::launch_apart(const exec::Launch& launch,
                                                  std::span<exec::DeviceMemory* const> memories,
                                                  const run::LaunchOptions& options) {
  const bool alike = !options.values && !options.every_chip && !chips_differ(launch);
  std::vector<run::LaunchReport> apart;
  for (std::uint32_t chip = 0; chip < (alike ? 1 : memories.size()); ++chip) {
    auto machine = machine_of(chip);
    if (!machine) return fail(machine.error());
    run::LaunchOptions own = options;
    if (chip > 0) {
      own.trace = nullptr;
      own.listing = run::Listing::kNone;
    }
    auto done = (*machine)->launch(launch, *memories[chip], own);
    if (!done) return done;
    apart.push_back(std::move(*done));
  }
  return together(apart, chips(), chip_.family->name);
}

std::vector<std::string> Machine::unsupported(const kernel::Module& module) const {
  if (talks(module) && !chip_.family->joins)
    return {fmt::format("kernels that talk to other chips do not run on {} yet",
                        chip_.machine->name())};
  return chip_.machine->unsupported(module);
}

std::vector<std::vector<std::uint32_t>> Machine::groups(
    const std::vector<std::string>& axes) const {
  std::vector<network::Group> groups = network::Mesh(*topology_, axes).groups();
  for (network::Group& group : groups)
    for (std::uint32_t& member : group) member = device_of_[member];
  return groups;
}

Expected<network::CollectiveRequest> Machine::request(const run::CollectiveLaunch& launch) const {
  const run::CollectiveSpec& spec = launch.spec;
  for (const std::string& axis : spec.axes)
    if (!topology_->axis(axis)) {
      std::vector<std::string> known;
      for (const auto& a : topology_->axes()) known.push_back(a.name);
      return fail(spec.axes_where,
                  fmt::format("{} has no axis '{}'{}", name_, axis, did_you_mean(axis, known)));
    }
  network::CollectiveRequest r;
  r.op = op_of(spec.op);
  r.axes = spec.axes;
  r.algorithm = spec.algorithm;
  r.root = static_cast<std::uint32_t>(spec.root);
  r.shift = spec.shift;
  r.element = static_cast<std::uint32_t>(kernel::byte_size(launch.dtype));
  const network::EndpointParams& end = params_.network.endpoint;
  r.channels = static_cast<std::uint32_t>(std::max<std::int64_t>(1, end.channels));
  r.chunk = static_cast<std::uint64_t>(params_.network.chunk);
  r.step_seconds = (end.issue_ns + end.completion_ns) * 1e-9;
  r.bytes = std::max(launch.in_bytes, launch.out_bytes);
  const std::uint64_t n = network::Mesh(*topology_, r.axes).group_size();
  std::uint64_t in = r.bytes, out = r.bytes;
  if (r.op == network::Collective::kAllGather) in = r.bytes / n;
  if (r.op == network::Collective::kReduceScatter) out = r.bytes / n;
  if (in != launch.in_bytes || out != launch.out_bytes)
    return fail(
        spec.where,
        fmt::format("{} in groups of {} chips: '{}' has {} bytes and '{}' {}, which does "
                    "not go together",
                    spec.op, n, spec.tensor, launch.in_bytes, spec.output, launch.out_bytes));
  return r;
}

Expected<void> Machine::accepts_collective(const run::CollectiveLaunch& launch) const {
  const auto wanted = request(launch);
  if (!wanted) return fail(wanted.error());
  const auto fits = network::check_request(*topology_, *wanted);
  return fits ? fits : fail(placed_at(fits.error(), launch.spec.algorithm_where));
}

Expected<run::LaunchReport> Machine::collective(const run::CollectiveLaunch& launch,
                                                std::span<exec::DeviceMemory* const> memories,
                                                const run::LaunchOptions& options) {
  const auto wanted = request(launch);
  if (!wanted) return fail(wanted.error());
  auto plan = network::plan_collective(*topology_, *wanted);
  if (!plan) return fail(placed_at(plan.error(), launch.spec.algorithm_where));
  CollectiveRun one(*topology_, params_.network, chip_.machine->peaks().hbm_bytes_per_s, launch,
                    *wanted, *plan);
  std::vector<exec::DeviceMemory*> by_chip;
  for (std::size_t chip = 0; chip < memories.size(); ++chip)
    by_chip.push_back(memories[device_of_[chip]]);
  if (!by_chip.empty())
    if (auto ok = one.load(by_chip); !ok) return fail(ok.error());
  return one.simulate(by_chip, options);
}

namespace {

Expected<std::unique_ptr<run::Machine>> create(const config::Node& config,
                                               const std::string& name) {
  Diagnostics problems;
  SystemParams params;
  run::CostParams cost;
  config::bind(config.find("system"), "system", params, problems);
  config::bind(config.find("cost"), "cost", cost, problems);
  if (problems.has_errors()) return fail(problems);
  const config::Node* chip_node = config.at_path("system.chip");
  if (!chip_node) return fail(config.find("system")->origin, "a system needs a chip: chip: h200");
  auto chip = run::load_machine(params.chip, {});
  if (!chip) return fail(chip_node->origin, chip.error().list().front().message);
  if (chip->machine->chips() > 1) return fail(chip_node->origin, "a system of systems is none");
  auto topology = network::make_topology(params.network, "system.network");
  if (!topology) return fail(config::placed(config, topology.error()));
  if (auto fits = check_order(**topology, params.order); !fits)
    return fail(config::placed(config, fits.error()));
  return std::make_unique<Machine>(name, params, std::move(*chip), std::move(*topology),
                                   cost.per_hour);
}

std::vector<config::ParamDoc> params(const config::Node* config) {
  return run::machine_params<SystemParams>("system", config);
}

}  // namespace

run::Family family() {
  run::Family f;
  f.name = "system";
  f.create = create;
  f.params = params;
  f.traces = true;
  return f;
}

}  // namespace xpusim::system
