#include "models/tpu/core/simulate.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "models/memory/hbm.h"
#include "models/tpu/core/tensor_core.h"
#include "sim/engine/system.h"

namespace xpusim::tpu {
namespace {

/// The chip in the SystemC hierarchy.
class Chip : public sc_core::sc_module {
 public:
  Chip(const sc_core::sc_module_name& name, const TpuParams& params, engine::Scheduler& scheduler,
       const SimulationOptions& options)
      : sc_module(name),
        map_(params.hbm, 1),
        hbm_("hbm", scheduler, params.hbm, map_),
        core_("core", params.core, static_cast<std::uint32_t>(params.dma.engines), options.leap) {
    const auto hz = static_cast<double>(scheduler.clock().hz());
    const std::uint32_t core = scheduler.add(core_, "tpu.core");
    to_core_ = std::make_unique<engine::Link>("dma_done", scheduler, scheduler, core,
                                              to_cycles(params.dma.completion_ns, hz, 1));
    for (std::int64_t e = 0; e < params.dma.engines; ++e) {
      auto dma = std::make_unique<DmaEngine>(fmt::format("dma{}", e).c_str(), params.dma, table_);
      const std::uint32_t id = scheduler.add(*dma, fmt::format("tpu.dma[{}]", e));
      dma->set_id(id);
      dma->memory(hbm_);
      dma->core(*to_core_);
      to_dma_.push_back(std::make_unique<engine::Link>(fmt::format("dma_start{}", e).c_str(),
                                                       scheduler, scheduler, id,
                                                       to_cycles(params.dma.issue_ns, hz, 1)));
      core_.dma[static_cast<std::size_t>(e)](*to_dma_.back());
      dma->set_trace(options.trace, scheduler.clock(), fmt::format("tpu.dma[{}]", e),
                     options.trace_start_fs);
      engines_.push_back(std::move(dma));
    }
    scheduler.wake(core, 0);
  }

  TensorCore& core() { return core_; }
  DescriptorTable& table() { return table_; }
  memory::Hbm& hbm() { return hbm_; }
  const std::vector<std::unique_ptr<DmaEngine>>& engines() const { return engines_; }

 private:
  memory::AddressMap map_;
  memory::Hbm hbm_;
  DescriptorTable table_;
  TensorCore core_;
  std::unique_ptr<engine::Link> to_core_;
  std::vector<std::unique_ptr<engine::Link>> to_dma_;
  std::vector<std::unique_ptr<DmaEngine>> engines_;
};

SimulationResult collect(Chip& chip, const engine::Scheduler& scheduler) {
  SimulationResult r;
  r.cycles = chip.core().cycles();
  r.activity = chip.core().activity();
  r.stepped_bundles = chip.core().stepped_bundles();
  for (const auto& e : chip.engines()) {
    r.dma_read_bytes += e->read_bytes();
    r.dma_write_bytes += e->write_bytes();
    r.dma_requests += e->requests();
    r.dma_busy_cycles += e->busy_cycles();
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
                                    WindowSet& windows, KernelBody* body,
                                    const SimulationOptions& options) {
  engine::fresh_simulation();
  const std::uint64_t hz =
      options.clock_hz ? options.clock_hz : static_cast<std::uint64_t>(params.clock_hz);
  engine::ClockDomain domain("core_clock", engine::Clock(hz), options.mode);
  Chip chip("tpu", params, domain.scheduler(), options);
  CoreJob job;
  job.program = &program;
  job.windows = &windows;
  job.body = body;
  job.descriptors = &chip.table();
  job.launch_cycles = to_cycles(params.launch_ns, static_cast<double>(hz), 0);
  chip.core().start(job);
  chip.core().set_trace(options.trace, domain.scheduler().clock(), "tpu.core",
                        options.trace_start_fs);
  engine::SystemRunner runner({&domain});
  Expected<void> done = runner.run([&] { return chip.core().halted(); });
  if (!done) return fail(done.error());
  if (windows.failed()) return fail({program.name, 0, 0}, "window " + windows.error());
  if (body && !body->error().message.empty()) {
    return fail(body->error().line, body->error().message);
  }
  return collect(chip, domain.scheduler());
}

}  // namespace xpusim::tpu
