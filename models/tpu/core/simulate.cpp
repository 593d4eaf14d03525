#include "models/tpu/core/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/memory/hbm.h"
#include "models/tpu/core/recorder.h"
#include "models/tpu/core/tensor_core.h"
#include "sim/engine/system.h"

namespace xpusim::tpu {
namespace {

/// A core with its DMA engines and the links between them.
class CoreUnit : public sc_core::sc_module {
 public:
  CoreUnit(const sc_core::sc_module_name& name, std::string_view path, const TpuParams& params,
           engine::Scheduler& scheduler, memory::Hbm& hbm, const SimulationOptions& options)
      : sc_module(name),
        path_(path),
        core_("core", params.core, static_cast<std::uint32_t>(params.dma.engines), options.leap) {
    const auto hz = static_cast<double>(scheduler.clock().hz());
    const std::uint32_t core = scheduler.add(core_, path_);
    to_core_ = std::make_unique<engine::Link>("dma_done", scheduler, scheduler, core,
                                              to_cycles(params.dma.completion_ns, hz, 1));
    const Cycle issue = to_cycles(params.dma.issue_ns, hz, 1);
    const std::string dma_path = path_ == "tpu.core" ? "tpu.dma" : path_ + ".dma";
    for (std::int64_t e = 0; e < params.dma.engines; ++e) {
      const std::string own = fmt::format("{}[{}]", dma_path, e);
      auto dma = std::make_unique<DmaEngine>(fmt::format("dma{}", e).c_str(), params.dma, table_);
      const std::uint32_t id = scheduler.add(*dma, own);
      dma->set_id(id);
      dma->memory(hbm);
      dma->core(*to_core_);
      to_dma_.push_back(std::make_unique<engine::Link>(fmt::format("dma_start{}", e).c_str(),
                                                       scheduler, scheduler, id, issue));
      core_.dma[static_cast<std::size_t>(e)](*to_dma_.back());
      dma->set_trace(options.trace, scheduler.clock(), own, options.trace_start_fs);
      engines_.push_back(std::move(dma));
    }
    scheduler.wake(core, 0);
  }

  void start(const Program& program, const CoreWork& work, engine::Scheduler& scheduler,
             Cycle launch_cycles, const SimulationOptions& options) {
    core_.start({&program, work.windows, work.body, &table_, launch_cycles});
    core_.set_trace(options.trace, scheduler.clock(), path_, options.trace_start_fs);
  }

  void record_with(CoreRecorder* recorder) {
    core_.record_with(recorder);
    for (const auto& engine : engines_) engine->record_with(recorder);
  }
  TensorCore& core() { return core_; }
  const std::vector<std::unique_ptr<DmaEngine>>& engines() const { return engines_; }

 private:
  std::string path_;
  DescriptorTable table_;
  TensorCore core_;
  std::unique_ptr<engine::Link> to_core_;
  std::vector<std::unique_ptr<engine::Link>> to_dma_;
  std::vector<std::unique_ptr<DmaEngine>> engines_;
};

/// The chip in the SystemC hierarchy.
class Chip : public sc_core::sc_module {
 public:
  Chip(const sc_core::sc_module_name& name, const TpuParams& params, std::size_t cores,
       engine::Scheduler& scheduler, const SimulationOptions& options)
      : sc_module(name), map_(params.hbm, 1), hbm_("hbm", scheduler, params.hbm, map_) {
    for (std::size_t c = 0; c < cores; ++c) {
      const std::string path = params.core.count == 1 ? "tpu.core" : fmt::format("tpu.core[{}]", c);
      cores_.push_back(std::make_unique<CoreUnit>(fmt::format("core{}", c).c_str(), path, params,
                                                  scheduler, hbm_, options));
    }
  }

  const std::vector<std::unique_ptr<CoreUnit>>& cores() const { return cores_; }
  memory::Hbm& hbm() { return hbm_; }
  bool halted() const {
    return std::all_of(cores_.begin(), cores_.end(),
                       [](const auto& c) { return c->core().halted(); });
  }

 private:
  memory::AddressMap map_;
  memory::Hbm hbm_;
  std::vector<std::unique_ptr<CoreUnit>> cores_;
};

SimulationResult collect(Chip& chip, const engine::Scheduler& scheduler) {
  SimulationResult r;
  for (const auto& c : chip.cores()) r.cycles = std::max(r.cycles, c->core().cycles());
  for (const auto& c : chip.cores()) {
    c->core().idle_until(r.cycles);
    if (c == chip.cores().front()) {
      r.activity = c->core().activity();
    } else {
      r.activity.add(c->core().activity(), 1);
    }
    r.stepped_bundles += c->core().stepped_bundles();
    for (const auto& e : c->engines()) {
      r.dma_read_bytes += e->read_bytes();
      r.dma_write_bytes += e->write_bytes();
      r.dma_requests += e->requests();
      r.dma_busy_cycles += e->busy_cycles();
    }
  }
  chip.hbm().finish(r.cycles);
  r.hbm = chip.hbm().counters();
  for (std::size_t i = 0; i < r.hbm_cycles.size(); ++i) {
    r.hbm_cycles[i] = chip.hbm().cycles(static_cast<memory::HbmReason>(i));
  }
  r.messages = scheduler.messages();
  r.activations = scheduler.activations();
  return r;
}

}  // namespace

std::uint64_t to_cycles(double ns, double hz, std::uint64_t least) {
  const auto cycles = static_cast<std::uint64_t>(std::llround(ns * hz * 1e-9));
  return cycles > least ? cycles : least;
}

Expected<SimulationResult> simulate(const TpuParams& params, const Program& program,
                                    std::span<const CoreWork> work,
                                    const SimulationOptions& options) {
  engine::fresh_simulation();
  const std::uint64_t hz =
      options.clock_hz ? options.clock_hz : static_cast<std::uint64_t>(params.clock_hz);
  engine::ClockDomain domain("core_clock", engine::Clock(hz), options.mode);
  engine::Scheduler& scheduler = domain.scheduler();
  Chip chip("tpu", params, work.size(), scheduler, options);
  const Cycle launch = to_cycles(params.launch_ns, static_cast<double>(hz), 0);
  for (std::size_t c = 0; c < work.size(); ++c) {
    chip.cores()[c]->start(program, work[c], scheduler, launch, options);
  }
  if (options.recorder) chip.cores()[options.recorded_core]->record_with(options.recorder);
  engine::SystemRunner runner({&domain});
  Expected<void> done = runner.run([&] { return chip.halted(); });
  if (!done) return fail(done.error());
  for (const CoreWork& w : work) {
    if (w.body && w.body->error().message.empty() && !w.windows->failed()) w.body->finish();
    if (w.body && !w.body->error().message.empty()) {
      return fail(w.body->error().line, w.body->error().message);
    }
    if (w.windows->failed()) return fail({program.name, 0, 0}, "window " + w.windows->error());
  }
  SimulationResult result = collect(chip, scheduler);
  if (options.recorder) options.recorder->finish(result.cycles);
  return result;
}

}  // namespace xpusim::tpu
