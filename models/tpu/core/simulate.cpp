#include "models/tpu/core/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "models/network/wire_trace.h"
#include "models/tpu/core/chip.h"
#include "models/tpu/core/recorder.h"
#include "sim/engine/system.h"

namespace xpusim::tpu {
namespace {

/// The chips of a launch, and the network between them.
class System {
 public:
  System(const TpuParams& params, std::span<const CoreWork> work, engine::Scheduler& scheduler,
         const SimulationOptions& options, const run::Interconnect* joined)
      : scheduler_(scheduler) {
    if (joined) {
      fabric_ =
          std::make_unique<network::Fabric>("network", scheduler, joined->topology, joined->params);
      neighbours_.emplace(Neighbours{*fabric_, transfers_, *joined});
      if (options.trace) {
        trace_.emplace(*options.trace, joined->topology, options.trace_start_fs,
                       [this](std::uint64_t tag) { return label(tag); });
        fabric_->observe(&*trace_);
      }
    }
    const std::uint32_t devices = joined ? static_cast<std::uint32_t>(joined->chip_of.size()) : 1;
    for (std::uint32_t d = 0; d < devices; ++d) {
      const auto cores = static_cast<std::size_t>(std::count_if(
          work.begin(), work.end(), [d](const CoreWork& w) { return w.device == d; }));
      const std::string name = joined ? fmt::format("tpu{}", d) : "tpu";
      chips_.push_back(std::make_unique<Chip>(name.c_str(), d, params, cores, scheduler,
                                              neighbours_ ? &*neighbours_ : nullptr, options));
    }
  }

  void start(const Program& program, std::span<const CoreWork> work, Cycle launch,
             const SimulationOptions& options) {
    std::vector<std::uint32_t> next(chips_.size(), 0);
    for (const CoreWork& w : work) {
      CoreJob job;
      job.program = &program;
      job.windows = w.windows;
      job.body = w.body;
      job.launch_cycles = launch;
      job.remote = neighbours_ ? &transfers_ : nullptr;
      job.device = w.device;
      job.core = next[w.device]++;
      chips_[w.device]->cores()[job.core]->start(job, scheduler_, options);
    }
  }

  /// Shows the recorder what a core of the first chip does.
  void record(const SimulationOptions& options) {
    chips_.front()->cores()[options.recorded_core]->record_with(options.recorder);
  }

  /// All cores are through, and nothing is on its way any more.
  bool is_over() const {
    return transfers_.empty() &&
           std::all_of(chips_.begin(), chips_.end(), [](const auto& c) { return c->halted(); });
  }

  SimulationResult collect() {
    Cycle end = 0;
    for (const auto& chip : chips_) {
      for (const auto& c : chip->cores()) end = std::max(end, c->core().cycles());
    }
    SimulationResult r;
    for (const auto& chip : chips_) r.chips.push_back(chip->result(end));
    static_cast<ChipResult&>(r) = r.chips.front();
    for (std::size_t c = 1; c < r.chips.size(); ++c) r.add(r.chips[c]);
    for (std::uint32_t w = 0; fabric_ && w < fabric_->topology().wires().size(); ++w) {
      r.wires.push_back(fabric_->counters(w));
    }
    r.messages = scheduler_.messages();
    r.activations = scheduler_.activations();
    return r;
  }

 private:
  /// A chunk between chips, for people.
  std::string label(std::uint64_t tag) {
    const RemoteTransfer& t = transfers_.at(static_cast<std::uint32_t>(tag >> 32));
    return fmt::format("{} {} to {}", t.what.copy ? "copy" : "signal", t.from, t.what.device);
  }

  engine::Scheduler& scheduler_;
  RemoteTable transfers_;
  std::unique_ptr<network::Fabric> fabric_;
  std::optional<Neighbours> neighbours_;
  std::optional<network::WireTrace> trace_;
  std::vector<std::unique_ptr<Chip>> chips_;
};

/// The first core's error; of several chips it tells which. `over`: all of them came to their end.
Expected<void> check(const Program& program, std::span<const CoreWork> work,
                     const run::Interconnect* joined, bool over) {
  for (const CoreWork& w : work) {
    const std::string chip = joined ? fmt::format("on device {}: ", w.device) : "";
    if (over && w.body && w.body->error().message.empty() && !w.windows->failed()) w.body->finish();
    if (w.body && !w.body->error().message.empty()) {
      return fail(w.body->error().line, chip + w.body->error().message);
    }
    if (w.windows->failed()) {
      return fail({program.name, 0, 0}, chip + "window " + w.windows->error());
    }
  }
  return {};
}

}  // namespace

std::uint64_t to_cycles(double ns, double hz, std::uint64_t least) {
  const auto cycles = static_cast<std::uint64_t>(std::llround(ns * hz * 1e-9));
  return cycles > least ? cycles : least;
}

void ChipResult::add(const ChipResult& other) {
  cycles = std::max(cycles, other.cycles);
  activity.add(other.activity, 1);
  dma_read_bytes += other.dma_read_bytes;
  dma_write_bytes += other.dma_write_bytes;
  dma_requests += other.dma_requests;
  dma_busy_cycles += other.dma_busy_cycles;
  hbm.read_bytes += other.hbm.read_bytes;
  hbm.write_bytes += other.hbm.write_bytes;
  hbm.requests += other.hbm.requests;
  hbm.activates += other.hbm.activates;
  hbm.precharges += other.hbm.precharges;
  hbm.refreshes += other.hbm.refreshes;
  hbm.row_hits += other.hbm.row_hits;
  for (std::size_t i = 0; i < hbm_cycles.size(); ++i) hbm_cycles[i] += other.hbm_cycles[i];
  stepped_bundles += other.stepped_bundles;
  sent_bytes += other.sent_bytes;
  received_bytes += other.received_bytes;
  remote_copies += other.remote_copies;
  remote_signals += other.remote_signals;
  hops += other.hops;
}

Expected<SimulationResult> simulate(const TpuParams& params, const Program& program,
                                    std::span<const CoreWork> work,
                                    const SimulationOptions& options,
                                    const run::Interconnect* joined) {
  engine::fresh_simulation();
  const std::uint64_t hz =
      options.clock_hz ? options.clock_hz : static_cast<std::uint64_t>(params.clock_hz);
  engine::ClockDomain domain("core_clock", engine::Clock(hz), options.mode);
  engine::Scheduler& scheduler = domain.scheduler();
  System system(params, work, scheduler, options, joined);
  system.start(program, work, to_cycles(params.launch_ns, static_cast<double>(hz), 0), options);
  if (options.recorder) system.record(options);
  engine::SystemRunner runner({&domain});
  Expected<void> done = runner.run([&] { return system.is_over(); });
  Expected<void> fine = check(program, work, joined, done.has_value());
  if (!done) return fail(joined && !fine ? fine.error() : done.error());
  if (!fine) return fail(fine.error());
  SimulationResult result = system.collect();
  if (options.recorder) options.recorder->finish(result.cycles);
  return result;
}

}  // namespace xpusim::tpu
