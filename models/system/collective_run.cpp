#include "models/system/collective_run.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "models/network/collectives/channel_run.h"
#include "models/network/collectives/schedule_run.h"
#include "models/network/femto.h"
#include "models/network/wire_trace.h"
#include "sim/engine/system.h"

namespace xpusim::system {
namespace {

constexpr double kMostHostBytes = 16e9;

/// sum[i] += addend[i] in the tensors' type, each sum rounded as it is stored.
network::AddBytes adder(kernel::DType dtype) {
  if (dtype == kernel::DType::kF32)
    return [](std::span<std::byte> sum, std::span<const std::byte> addend) {
      for (std::size_t i = 0; i + sizeof(float) <= sum.size(); i += sizeof(float)) {
        float a = 0, b = 0;
        std::memcpy(&a, sum.data() + i, sizeof a);
        std::memcpy(&b, addend.data() + i, sizeof b);
        a += b;
        std::memcpy(sum.data() + i, &a, sizeof a);
      }
    };
  const auto size = static_cast<std::size_t>(kernel::byte_size(dtype));
  return [dtype, size](std::span<std::byte> sum, std::span<const std::byte> addend) {
    for (std::size_t i = 0; i + size <= sum.size(); i += size) {
      std::uint64_t a = 0, b = 0;
      std::memcpy(&a, sum.data() + i, size);
      std::memcpy(&b, addend.data() + i, size);
      const double both = exec::decode(dtype, a) + exec::decode(dtype, b);
      const std::uint64_t rounded = exec::encode(dtype, both);
      std::memcpy(sum.data() + i, &rounded, size);
    }
  };
}

/// Time that a launch takes beside its transfers, in cycles.
engine::Cycle cycles_of(double ns, double hz) {
  return static_cast<engine::Cycle>(std::llround(ns * hz * 1e-9));
}

}  // namespace

CollectiveRun::CollectiveRun(const network::Topology& topology,
                             const network::NetworkParams& params, double chip_memory,
                             const run::CollectiveLaunch& launch,
                             const network::CollectiveRequest& request,
                             const network::CollectivePlan& plan)
    : topology_(topology),
      params_(params),
      chip_memory_(chip_memory),
      launch_(launch),
      request_(request),
      plan_(plan) {}

Expected<void> CollectiveRun::load(std::span<exec::DeviceMemory* const> memories) {
  const double bytes =
      static_cast<double>(memories.size()) *
      static_cast<double>(launch_.in_bytes + launch_.out_bytes + plan_.schedule.scratch_bytes);
  if (bytes > kMostHostBytes)
    return fail(launch_.spec.where,
                fmt::format("the values of {} chips take {:.0f} GB of this host: --values off",
                            memories.size(), bytes * 1e-9));
  values_.resize(memories.size());
  for (std::size_t chip = 0; chip < memories.size(); ++chip) {
    network::ChipMemory& m = values_[chip];
    m.input.resize(launch_.in_bytes);
    m.output.resize(launch_.out_bytes);
    m.scratch.resize(plan_.schedule.scratch_bytes);
    const exec::Allocation* in = memories[chip]->find(std::string_view(launch_.spec.tensor));
    memories[chip]->read(in->address, m.input);
  }
  return {};
}

void CollectiveRun::store(std::span<exec::DeviceMemory* const> memories) const {
  for (std::size_t chip = 0; chip < memories.size(); ++chip) {
    const exec::Allocation* out = memories[chip]->find(std::string_view(launch_.spec.output));
    memories[chip]->write(out->address, plan_.schedule.transfers.empty() ? values_[chip].input
                                                                         : values_[chip].output);
  }
}

Expected<run::LaunchReport> CollectiveRun::simulate(std::span<exec::DeviceMemory* const> memories,
                                                    const run::LaunchOptions& options) {
  engine::fresh_simulation();
  engine::ClockDomain domain("network_clock",
                             engine::Clock(static_cast<std::uint64_t>(params_.clock_hz)));
  network::Fabric fabric("network", domain.scheduler(), topology_, params_);
  std::optional<network::WireTrace> trace;
  if (options.trace) {
    trace.emplace(*options.trace, topology_, options.trace_start_fs,
                  [this](std::uint64_t) { return launch_.spec.op; });
    fabric.observe(&*trace);
  }
  auto done = params_.endpoint.channels > 0 ? by_channels(domain, fabric) : by_dma(domain, fabric);
  if (!done) return fail(done.error());
  if (!values_.empty()) store(memories);
  run::LaunchReport r = report(fabric, *done);
  r.simulated_messages = domain.scheduler().messages();
  return r;
}

Expected<CollectiveRun::Outcome> CollectiveRun::by_dma(engine::ClockDomain& domain,
                                                       network::Fabric& fabric) {
  const network::AddBytes add = adder(launch_.dtype);
  network::ScheduleRun::Delivered move;
  if (!values_.empty())
    move = [&](std::uint32_t transfer, std::uint64_t begin, std::uint64_t end) {
      network::move_bytes(plan_.schedule.transfers[transfer], begin, end, values_, add);
    };
  network::ScheduleRun schedule(fabric, domain.scheduler(), plan_.schedule,
                                network::DmaTiming::from(params_.endpoint, chip_memory_), move);
  engine::SystemRunner runner({&domain});
  schedule.start();
  if (auto done = runner.run([&] { return schedule.done(); }); !done) return fail(done.error());
  Outcome out = {schedule.end(), 0, 0, 0};
  for (const network::Transfer& t : plan_.schedule.transfers)
    if (t.src != t.dst) out.sent_bytes += static_cast<double>(t.bytes);
  for (const auto& chip : schedule.chips()) {
    out.read_bytes += static_cast<double>(chip->read_bytes());
    out.written_bytes += static_cast<double>(chip->written_bytes());
  }
  return out;
}

/// The values move at the end, at once: what is sent between cores passes through buffers that the
/// schedule does not name.
Expected<CollectiveRun::Outcome> CollectiveRun::by_channels(engine::ClockDomain& domain,
                                                            network::Fabric& fabric) {
  using Kind = network::ChannelTiming::Kind;
  const bool broadcast = request_.op == network::Collective::kBroadcast;
  const Kind kind = exchanges() ? Kind::kExchange : broadcast ? Kind::kChain : Kind::kRing;
  network::ChannelRun channels(
      fabric, domain.scheduler(), plan_.schedule,
      network::ChannelTiming::from(params_.endpoint, chip_memory_, kind, request_.bytes),
      exchanges());
  engine::SystemRunner runner({&domain});
  channels.start();
  if (auto done = runner.run([&] { return channels.done(); }); !done) return fail(done.error());
  if (!values_.empty()) network::interpret(plan_.schedule, values_, adder(launch_.dtype));
  return Outcome{channels.end(), static_cast<double>(channels.read_bytes()),
                 static_cast<double>(channels.written_bytes()),
                 static_cast<double>(channels.sent_bytes())};
}

/// Everybody sends to others than a neighbour: sends and receives go apart.
bool CollectiveRun::exchanges() const {
  return request_.op == network::Collective::kAllToAll ||
         request_.op == network::Collective::kPermute ||
         (plan_.algorithm == "direct" && request_.op != network::Collective::kBroadcast);
}

run::NetworkUse CollectiveRun::use_of(const network::Fabric& fabric, double seconds,
                                      double sent) const {
  run::NetworkUse use;
  use.algorithm = plan_.algorithm;
  use.reason = plan_.reason;
  use.chips = topology_.chips();
  use.group = plan_.group;
  use.bytes = static_cast<double>(request_.bytes);
  use.bound_ns = plan_.bound_seconds * 1e9;
  use.bound = plan_.bound;
  use.sent = sent;
  double crossed = 0;
  for (std::uint32_t w = 0; w < topology_.wires().size(); ++w) {
    const network::WireCounters& c = fabric.counters(w);
    run::LinkUse link;
    link.name = topology_.wire_name(w);
    link.bytes = static_cast<double>(c.bytes);
    link.wire_bytes = static_cast<double>(c.wire_bytes);
    link.busy = seconds > 0 ? static_cast<double>(c.busy) / network::kFemtoPerSecond / seconds : 0;
    link.waited_ns = static_cast<double>(c.waited) / network::kFemtoPerNano;
    link.microjoules = link.wire_bytes * 8 * topology_.kind_of(w).picojoules_per_bit * 1e-6;
    crossed += link.bytes;
    use.links.push_back(std::move(link));
  }
  use.hops = use.sent > 0 ? crossed / use.sent : 0;
  return use;
}

run::LaunchReport CollectiveRun::report(const network::Fabric& fabric,
                                        const Outcome& outcome) const {
  run::LaunchReport r;
  r.name = launch_.spec.op;
  const network::EndpointParams& ends = params_.endpoint;
  const double beside = ends.start_ns + ends.finish_ns + (exchanges() ? ends.exchange_start_ns : 0);
  r.cycles = outcome.end + cycles_of(beside, params_.clock_hz);
  r.duration_ns = static_cast<double>(r.cycles) / params_.clock_hz * 1e9;
  r.clock_mhz = params_.clock_hz * 1e-6;
  r.hbm_read_bytes = outcome.read_bytes;
  r.hbm_write_bytes = outcome.written_bytes;
  r.network = use_of(fabric, r.duration_ns * 1e-9, outcome.sent_bytes);
  double microjoules = 0;
  for (const run::LinkUse& link : r.network->links) microjoules += link.microjoules;
  r.energy = {{"links", microjoules}};
  r.notes = {"energy of chips (links only)", "other work of the chips",
             "chips that start at different times", "errors and retries on links"};
  return r;
}

}  // namespace xpusim::system
