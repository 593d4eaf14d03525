#include "models/tpu/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/network/femto.h"

namespace xpusim::tpu {
namespace {

constexpr const char* kCoreUnit = "tpu.core.issue";

/// A figure of each core, summed.
template <class F>
std::uint64_t sum(const PreparedLaunch& ready, F&& of) {
  std::uint64_t n = 0;
  for (const PreparedLaunch::Core& core : ready.cores) n += of(core);
  return n;
}

/// Those of the chip that took longest.
void add_counters(run::LaunchReport& report, const PreparedLaunch& ready,
                  const SimulationResult& result) {
  const auto longest =
      std::max_element(result.chips.begin(), result.chips.end(),
                       [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  const ChipResult& r = *longest;
  const auto device = static_cast<std::uint32_t>(longest - result.chips.begin());
  const auto own = [&](auto of) {
    return sum(ready, [&](const auto& core) { return core.device == device ? of(core) : 0; });
  };
  const auto add = [&](const char* name, std::uint64_t value) {
    report.counters.emplace_back(name, static_cast<double>(value));
  };
  const Activity& a = r.activity;
  add("bundles", a.all_bundles());
  add("scalar_ops", a.instructions(Slot::kScalar));
  add("vector_alu_ops", a.instructions(Slot::kVectorAlu));
  add("vector_loads", a.instructions(Slot::kVectorLoad));
  add("vector_stores", a.instructions(Slot::kVectorStore));
  add("eup_ops", a.instructions(Slot::kEup));
  add("xlu_ops", a.instructions(Slot::kXlu));
  add("dma_read_bytes", r.dma_read_bytes);
  add("dma_write_bytes", r.dma_write_bytes);
  add("dma_bytes", r.dma_read_bytes + r.dma_write_bytes);
  add("dma_requests", r.dma_requests);
  add("dma_busy_cycles", r.dma_busy_cycles);
  add("grid_steps", own([](const auto& core) { return core.windows->steps(); }));
  add("window_fetches", own([](const auto& core) { return core.windows->fetches(); }));
  add("window_fetches_skipped",
      own([](const auto& core) { return core.windows->skipped_fetches(); }));
  add("window_write_backs", own([](const auto& core) { return core.windows->write_backs(); }));
  add("vmem_bytes", static_cast<std::uint64_t>(ready.program.vmem_bytes()));
  add("dram_activates", r.hbm.activates);
  add("dram_row_hits", r.hbm.row_hits);
  add("dram_refreshes", r.hbm.refreshes);
  add("mxu_ops", a.instructions(Slot::kMatrix));
  add("mxu_busy_cycles", a.matrix(MatrixWork::kBusyCycles));
  add("mxu_pops", a.instructions(Slot::kMatrixPop));
}

/// The cores' cycles by reason: the sum is the launch's cycles for each core that has work. (The
/// HBM's are in CK of its own.)
void add_ledger(run::LaunchReport& report, const SimulationResult& r) {
  for (std::size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (const std::uint64_t cycles = r.activity.cycles(reason)) {
      report.ledger.push_back(
          {kCoreUnit, std::string(name(reason)), cycles, std::string(meaning(reason))});
    }
  }
}

void add_lines(run::LaunchReport& report, const Program& program, const Activity& a) {
  for (std::uint32_t line = 0; line < program.lines.size(); ++line) {
    for (std::size_t i = 0; i < kReasons; ++i) {
      const auto reason = static_cast<Reason>(i);
      const std::uint64_t cycles = a.cycles(line, reason);
      if (cycles == 0) continue;
      run::LineEntry e{program.lines[line], kCoreUnit, std::string(name(reason)), cycles, 0};
      if (reason == Reason::kIssued) e.executed = a.bundles(line);
      report.lines.push_back(std::move(e));
    }
  }
}

void add_energy(run::LaunchReport& report, const TpuParams& params, const SimulationResult& r,
                std::uint64_t clock_hz) {
  using energy::TpuEvent;
  energy::EnergyMeter<TpuEvent> meter(energy::event_table(params.energy), params.energy.power);
  const Activity& a = r.activity;
  meter.add(TpuEvent::kBundle, a.all_bundles());
  meter.add(TpuEvent::kVectorAlu, a.instructions(Slot::kVectorAlu));
  meter.add(TpuEvent::kEup, a.instructions(Slot::kEup));
  meter.add(TpuEvent::kXlu, a.instructions(Slot::kXlu));
  const auto& mxu = params.core.mxu;  // an event is of 8 rows and 128 x 128 weights
  const auto arrays = static_cast<std::uint64_t>(mxu.size * mxu.size / (kLanes * kLanes));
  meter.add(TpuEvent::kMxuPassBf16, a.matrix(MatrixWork::kRows) * arrays);
  meter.add(TpuEvent::kMxuPassInt8, a.matrix(MatrixWork::kRows8Bit) * arrays * 4);
  meter.add(TpuEvent::kMxuPassF8, a.matrix(MatrixWork::kRowsF8) * arrays * 4);
  meter.add(TpuEvent::kVmemLoad, a.instructions(Slot::kVectorLoad));
  meter.add(TpuEvent::kVmemStore, a.instructions(Slot::kVectorStore));
  meter.add(TpuEvent::kDmaByte, r.dma_read_bytes + r.dma_write_bytes);
  meter.add(TpuEvent::kHbmReadByte, r.hbm.read_bytes);
  meter.add(TpuEvent::kHbmWriteByte, r.hbm.write_bytes);
  meter.add(TpuEvent::kHbmActivate, r.hbm.activates);
  const auto spent = meter.report(report.duration_ns, static_cast<double>(clock_hz),
                                  static_cast<unsigned>(r.chips.size()));
  for (const auto& e : spent.entries) {
    report.energy.push_back({e.component, e.microjoules});
  }
}

/// Chip by chip, and wire by wire.
void add_chips(run::LaunchReport& report, const SimulationResult& r,
               const run::Interconnect& joined) {
  for (std::size_t d = 0; d < r.chips.size(); ++d) {
    const ChipResult& chip = r.chips[d];
    report.chips.push_back(
        {fmt::format("tpu[{}]", d), chip.cycles, chip.activity.cycles(Reason::kSyncWaitRemote),
         static_cast<double>(chip.hbm.read_bytes + chip.hbm.write_bytes),
         static_cast<double>(chip.sent_bytes), static_cast<double>(chip.received_bytes),
         chip.remote_copies, chip.remote_signals, chip.hops});
  }
  run::NetworkUse use;
  use.chips = use.group = static_cast<std::uint32_t>(r.chips.size());
  use.sent = static_cast<double>(r.sent_bytes);
  double crossed = 0, microjoules = 0;
  for (std::uint32_t w = 0; w < r.wires.size(); ++w) {
    const network::WireCounters& c = r.wires[w];
    run::LinkUse link;
    link.name = joined.topology.wire_name(w);
    link.bytes = static_cast<double>(c.bytes);
    link.wire_bytes = static_cast<double>(c.wire_bytes);
    link.busy = static_cast<double>(c.busy) / network::kFemtoPerNano / report.duration_ns;
    link.waited_ns = static_cast<double>(c.waited) / network::kFemtoPerNano;
    link.microjoules = link.wire_bytes * 8 * joined.topology.kind_of(w).picojoules_per_bit * 1e-6;
    crossed += link.bytes;
    microjoules += link.microjoules;
    use.links.push_back(std::move(link));
  }
  use.hops = use.sent > 0 ? crossed / use.sent : 0;
  report.network = std::move(use);
  report.energy.push_back({"links", microjoules});
}

/// The rows that went in at once, against as many of bf16.
double tensor_speed(const MatrixParams& mxu, const Activity& a) {
  double rows = 0, slow = 0;  // and how long they take, in rows of bf16
  const auto add = [&](MatrixWork work, std::int64_t in_register, std::int64_t a_cycle) {
    const auto n = static_cast<double>(a.matrix(work)) * static_cast<double>(in_register);
    if (n == 0) return;
    rows += n;
    slow += n * static_cast<double>(mxu.rows_per_cycle) / static_cast<double>(a_cycle);
  };
  add(MatrixWork::kRows, kSublanes, mxu.rows_per_cycle);
  add(MatrixWork::kRows8Bit, 4 * kSublanes, mxu.rows_per_cycle_8bit);
  add(MatrixWork::kRowsF8, 4 * kSublanes, mxu.rows_per_cycle_f8);
  return rows == 0 ? 1 : rows / slow;
}

}  // namespace

run::LaunchReport make_report(const exec::Launch& launch, const TpuParams& params,
                              const PreparedLaunch& ready, const SimulationResult& r,
                              std::uint64_t clock_hz, const run::Interconnect* joined) {
  run::LaunchReport report;
  report.name = launch.name;
  report.cycles = r.cycles;
  report.duration_ns = static_cast<double>(r.cycles) * 1e9 / static_cast<double>(clock_hz);
  report.clock_mhz = static_cast<double>(clock_hz) * 1e-6;
  report.hbm_read_bytes = static_cast<double>(r.hbm.read_bytes);
  report.hbm_write_bytes = static_cast<double>(r.hbm.write_bytes);
  report.flops =
      static_cast<double>(sum(ready, [](const auto& core) { return core.body->counts().flops; }));
  report.tensor_flops = static_cast<double>(
      sum(ready, [](const auto& core) { return core.body->counts().dot_flops; }));
  report.tensor_speed = tensor_speed(params.core.mxu, r.activity);
  WindowSet::TensorTraffic tensors;
  for (const auto& core : ready.cores) core.windows->add_traffic(tensors);
  report.compulsory_bytes = static_cast<double>(compulsory_bytes(tensors));
  report.simulated_instructions = r.activity.all_bundles();
  report.simulated_messages = r.messages;
  add_counters(report, ready, r);
  add_ledger(report, r);
  add_lines(report, ready.program, r.activity);
  add_energy(report, params, r, clock_hz);
  if (joined) add_chips(report, r, *joined);
  report.notes = {"VMEM conflicts between vector accesses and DMA: not modelled",
                  "instruction fetch: not modelled"};
  return report;
}

}  // namespace xpusim::tpu
