#include "models/tpu/core/chip.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::tpu {
namespace {

std::vector<std::uint32_t> connections_of(std::uint32_t device, const Neighbours& n) {
  std::vector<std::uint32_t> connections;
  for (std::uint32_t to = 0; to < n.joined.chip_of.size(); ++to) {
    connections.push_back(
        to == device ? 0 : n.fabric.connect(n.joined.chip_of[device], n.joined.chip_of[to]));
  }
  return connections;
}

}  // namespace

CoreUnit::CoreUnit(const sc_core::sc_module_name& name, std::string_view path,
                   const TpuParams& params, engine::Scheduler& scheduler, memory::Hbm& hbm,
                   const SimulationOptions& options)
    : sc_module(name),
      path_(path),
      core_("core", params.core, static_cast<std::uint32_t>(params.dma.engines), options.leap) {
  const auto hz = static_cast<double>(scheduler.clock().hz());
  const std::uint32_t core = scheduler.add(core_, path_);
  to_core_ = std::make_unique<engine::Link>("dma_done", scheduler, scheduler, core,
                                            to_cycles(params.dma.completion_ns, hz, 1));
  const Cycle issue = to_cycles(params.dma.issue_ns, hz, 1);
  const std::string dma_path =
      path_.ends_with(".core") ? path_.substr(0, path_.size() - 4) + "dma" : path_ + ".dma";
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

void CoreUnit::start(CoreJob job, engine::Scheduler& scheduler, const SimulationOptions& options) {
  job.descriptors = &table_;
  core_.start(job);
  core_.set_trace(options.trace, scheduler.clock(), path_, options.trace_start_fs);
}

void CoreUnit::record_with(CoreRecorder* recorder) {
  core_.record_with(recorder);
  for (const auto& engine : engines_) engine->record_with(recorder);
}

IciUnit::IciUnit(const sc_core::sc_module_name& name, const std::string& path, std::uint32_t device,
                 const TpuParams& params, engine::Scheduler& scheduler, memory::Hbm& hbm,
                 const Neighbours& neighbours, const std::vector<std::unique_ptr<CoreUnit>>& cores,
                 const SimulationOptions& options)
    : sc_module(name),
      port_("port", scheduler, neighbours.fabric, connections_of(device, neighbours),
            neighbours.transfers, table_, static_cast<std::uint32_t>(cores.size())) {
  const auto hz = static_cast<double>(scheduler.clock().hz());
  const std::uint32_t port = scheduler.add(port_, path);
  neighbours.fabric.attach(neighbours.joined.chip_of[device], port);
  port_.set_trace(options.trace, path, options.trace_start_fs);
  const auto link = [&](const std::string& link_name, std::uint32_t to, double ns) {
    links_.push_back(std::make_unique<engine::Link>(link_name.c_str(), scheduler, scheduler, to,
                                                    to_cycles(ns, hz, 1)));
    return links_.back().get();
  };
  engine::Link& done = *link("done", port, 0);
  for (const char* what : {"read", "write"}) {
    const std::string own = fmt::format("{}.{}", path, what);
    auto dma = std::make_unique<DmaEngine>(what, params.dma, table_);
    const std::uint32_t id = scheduler.add(*dma, own);
    dma->set_id(id);
    dma->memory(hbm);
    dma->core(done);
    (engines_.empty() ? port_.reader : port_.writer)(*link(fmt::format("to_{}", what), id, 0));
    dma->set_trace(options.trace, scheduler.clock(), own, options.trace_start_fs);
    engines_.push_back(std::move(dma));
  }
  for (std::size_t c = 0; c < cores.size(); ++c) {
    port_.core[c](cores[c]->notices());
    cores[c]->core().ici(*link(fmt::format("from_core{}", c), port, params.dma.issue_ns));
  }
}

Chip::Chip(const sc_core::sc_module_name& name, std::uint32_t device, const TpuParams& params,
           std::size_t cores, engine::Scheduler& scheduler, const Neighbours* neighbours,
           const SimulationOptions& options)
    : sc_module(name), map_(params.hbm, 1), hbm_("hbm", scheduler, params.hbm, map_) {
  const std::string self = neighbours ? fmt::format("tpu[{}]", device) : "tpu";
  for (std::size_t c = 0; c < cores; ++c) {
    const std::string path =
        params.core.count == 1 ? self + ".core" : fmt::format("{}.core[{}]", self, c);
    cores_.push_back(std::make_unique<CoreUnit>(fmt::format("core{}", c).c_str(), path, params,
                                                scheduler, hbm_, options));
  }
  if (neighbours) {
    ici_ = std::make_unique<IciUnit>("ici", self + ".ici", device, params, scheduler, hbm_,
                                     *neighbours, cores_, options);
  }
}

bool Chip::halted() const {
  return std::all_of(cores_.begin(), cores_.end(),
                     [](const auto& c) { return c->core().halted(); });
}

ChipResult Chip::result(Cycle end) {
  ChipResult r;
  const auto add_engines = [&](const std::vector<std::unique_ptr<DmaEngine>>& engines) {
    for (const auto& e : engines) {
      r.dma_read_bytes += e->read_bytes();
      r.dma_write_bytes += e->write_bytes();
      r.dma_requests += e->requests();
      r.dma_busy_cycles += e->busy_cycles();
    }
  };
  for (const auto& c : cores_) {
    r.cycles = std::max(r.cycles, c->core().cycles());
    c->core().idle_until(end);
    if (c == cores_.front()) {
      r.activity = c->core().activity();
    } else {
      r.activity.add(c->core().activity(), 1);
    }
    r.stepped_bundles += c->core().stepped_bundles();
    add_engines(c->engines());
  }
  if (ici_) {
    const IciPort& port = ici_->port();
    add_engines(ici_->engines());
    r.sent_bytes = port.sent_bytes();
    r.received_bytes = port.received_bytes();
    r.remote_copies = port.copies();
    r.remote_signals = port.signals();
    r.hops = port.hops();
  }
  hbm_.finish(end);
  r.hbm = hbm_.counters();
  for (std::size_t i = 0; i < r.hbm_cycles.size(); ++i) {
    r.hbm_cycles[i] = hbm_.cycles(static_cast<memory::HbmReason>(i));
  }
  return r;
}

}  // namespace xpusim::tpu
