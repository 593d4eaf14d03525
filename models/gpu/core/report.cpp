#include "models/gpu/core/report.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "sim/stats/counters.h"

namespace xpusim::gpu {

namespace {

constexpr std::uint64_t kWavefrontBytes = 128;
constexpr std::size_t kStalls = static_cast<std::size_t>(Stall::kCount);

bool has(const Program& program, std::initializer_list<Opcode> ops) {
  return std::any_of(program.code.begin(), program.code.end(), [&](const Instruction& in) {
    return std::find(ops.begin(), ops.end(), in.op) != ops.end();
  });
}

/// What the matrix instructions of a launch amount to.
struct TensorWork {
  std::uint64_t core_cycles = 0;   ///< summed over the tensor cores
  std::uint64_t shared_bytes = 0;  ///< that wgmma read
  std::uint64_t macs_8bit = 0, macs_16bit = 0, macs_tf32 = 0, macs_f64 = 0;
};

TensorWork count_tensor_work(const Program& program, const KernelImage& image,
                             const LaunchProfile& profile) {
  TensorWork work;
  for (std::size_t pc = 0; pc < program.code.size(); ++pc) {
    const IssueWord& word = image.code[pc];
    if (word.action != Action::kMatrix && word.action != Action::kWgmma) continue;
    const std::uint64_t n = profile.executed[pc];
    const MmaShape& s = program.code[pc].mma;
    const std::uint64_t macs = n * s.m * s.n * s.k;
    const bool quarter = word.action == Action::kWgmma;
    work.core_cycles += n * word.vector;
    if (quarter) work.shared_bytes += n * word.target;
    std::uint64_t& sum = s.bits == 8    ? work.macs_8bit
                         : s.bits == 16 ? work.macs_16bit
                         : s.bits == 32 ? work.macs_tf32
                                        : work.macs_f64;
    sum += quarter ? macs / kWarpsOfWarpgroup : macs;
  }
  return work;
}

/// Warp instructions by the pipe that executes them.
using PipeTotals = std::array<std::uint64_t, static_cast<std::size_t>(Pipe::kCount)>;

PipeTotals count_executed(const Program& program, const LaunchProfile& profile) {
  PipeTotals by_pipe{};
  for (std::size_t pc = 0; pc < program.code.size(); ++pc) {
    by_pipe[static_cast<std::size_t>(pipe_of(program.code[pc].op))] += profile.executed[pc];
  }
  return by_pipe;
}

void put_instructions(stats::CounterSet& out, const PipeTotals& by_pipe) {
  std::uint64_t all = 0;
  for (std::uint64_t n : by_pipe) all += n;
  const auto pipe = [&](Pipe p) { return by_pipe[static_cast<std::size_t>(p)]; };
  out.put("warp_instructions", all);
  out.put("inst_alu", pipe(Pipe::kAlu));
  out.put("inst_fma", pipe(Pipe::kFma));
  out.put("inst_xu", pipe(Pipe::kXu));
  out.put("inst_lsu", pipe(Pipe::kLsu));
  out.put("inst_tensor", pipe(Pipe::kTensor));
}

/// Which banks the lanes meet in shared memory is not modelled: known only where nothing goes
/// there.
void put_bank_conflicts(stats::CounterSet& out, const Program& program) {
  if (has(program, {Opcode::kLds, Opcode::kSts, Opcode::kLdsm, Opcode::kStsm, Opcode::kLdgsts,
                    Opcode::kUtma})) {
    out.not_modelled("shared_bank_conflicts");
  } else {
    out.put("shared_bank_conflicts", std::uint64_t{0});
  }
}

void put_memory(stats::CounterSet& out, const LsuCounters& l1, const memory::MemoryCounters& m) {
  out.put("shared_wavefronts", l1.wavefronts);
  out.put("l1_requests_global_load", l1.load_requests);
  out.put("l1_requests_global_store", l1.store_requests);
  out.put("l1_sectors_global_load", l1.load_sectors);
  out.put("l1_sectors_global_load_hit", l1.load_sectors_hit);
  out.put("l1_sectors_global_store", l1.store_sectors);
  out.put("l2_sectors_read", m.l2_sectors_read);
  out.put("l2_sectors_write", m.l2_sectors_write);
  out.put("l2_sectors_atom", m.l2_sectors_atom);
  out.put("l2_sectors_red", m.l2_sectors_red);
  out.put("l2_sectors_hit", m.l2_sectors_hit);
  out.put("l2_sectors_miss", m.l2_sectors_miss);
  out.put("dram_read_bytes", m.dram_read_bytes);
  out.put("dram_write_bytes", m.dram_write_bytes);
  out.not_modelled("dram_clock_hz");
}

void put_activity(stats::CounterSet& out, const ChipTotals& t, const TensorWork& tensor,
                  double sms) {
  const auto issued = static_cast<double>(t.issued);
  const auto active = static_cast<double>(t.sub_core_active);
  out.put("sm_cycles_active_avg", static_cast<double>(t.sm_active) / sms);
  out.put("smsp_cycles_active_avg", active / (sms * kSubCores));
  out.ratio("warps_active_per_smsp", static_cast<double>(t.warp_cycles), active);
  out.ratio("issue_active_pct", issued, active, 100);
  for (Stall s : {Stall::kBarrier, Stall::kGmma, Stall::kLgThrottle, Stall::kLongScoreboard,
                  Stall::kMathPipe, Stall::kMioThrottle, Stall::kShortScoreboard, Stall::kWait}) {
    out.ratio("stall_" + std::string(name(s)),
              static_cast<double>(t.warp_stalls[static_cast<std::size_t>(s)]), issued);
  }
  out.ratio("tensor_active_pct", static_cast<double>(tensor.core_cycles),
            static_cast<double>(t.sm_active) * kSubCores, 100);
}

/// The profiler's limit by shared memory follows the carve-out that the driver chose, whose rule is
/// not modelled: known only without shared memory, and where all of it is needed.
void put_occupancy(stats::CounterSet& out, const Occupancy& o, const Program& program,
                   const SmParams& sm) {
  out.put("registers_per_thread", static_cast<double>(o.registers_per_thread));
  out.put("shared_bytes_per_block", static_cast<double>(o.shared_bytes_per_block));
  out.put("occupancy_limit_registers", static_cast<double>(o.by_registers));
  if (program.shared_bytes == 0 || o.carve_out_bytes >= sm.shared_bytes) {
    out.put("occupancy_limit_shared", static_cast<double>(o.by_shared));
  } else {
    out.not_modelled("occupancy_limit_shared");
  }
  out.ratio("theoretical_occupancy_pct", static_cast<double>(o.blocks * program.num_warps),
            static_cast<double>(sm.warps), 100);
}

void put_lines(const Program& program, const KernelImage& image, const LaunchProfile& profile,
               run::LaunchReport& report) {
  std::vector<std::uint64_t> executed(image.line_count);
  for (std::size_t pc = 0; pc < image.code.size(); ++pc) {
    executed[image.code[pc].line] += profile.executed[pc];
  }
  for (std::uint32_t line = 0; line < image.line_count; ++line) {
    const SourcePosition where =
        line < program.lines.size() ? program.lines[line] : SourcePosition{};
    for (std::size_t r = 0; r < kStalls; ++r) {
      const auto reason = static_cast<Stall>(r);
      const std::uint64_t cycles =
          reason == Stall::kIssued ? executed[line] : profile.line_cycles[line * kStalls + r];
      if (cycles == 0) continue;
      report.lines.push_back({where, "gpu.sm.sub", std::string(name(reason)), cycles,
                              reason == Stall::kIssued ? executed[line] : 0});
    }
  }
}

void put_energy(const GpuParams& params, const PipeTotals& by_pipe, const TensorWork& tensor,
                const LsuCounters& l1, const memory::MemoryCounters& m, double voltage_clock_hz,
                run::LaunchReport& report) {
  using energy::GpuEvent;
  energy::EnergyMeter<GpuEvent> meter(energy::event_table(params.energy), params.energy.power);
  static constexpr std::pair<Pipe, GpuEvent> kPipes[] = {
      {Pipe::kAlu, GpuEvent::kAlu},         {Pipe::kFma, GpuEvent::kFma},
      {Pipe::kXu, GpuEvent::kXu},           {Pipe::kLsu, GpuEvent::kLsu},
      {Pipe::kFp64, GpuEvent::kFp64},       {Pipe::kTensor, GpuEvent::kTensor},
      {Pipe::kUniform, GpuEvent::kUniform}, {Pipe::kControl, GpuEvent::kControl}};
  for (const auto& [pipe, event] : kPipes)
    meter.add(event, by_pipe[static_cast<std::size_t>(pipe)]);
  meter.add(GpuEvent::kMac8Bit, tensor.macs_8bit);
  meter.add(GpuEvent::kMac16Bit, tensor.macs_16bit);
  meter.add(GpuEvent::kMacTf32, tensor.macs_tf32);
  meter.add(GpuEvent::kMacF64, tensor.macs_f64);
  meter.add(GpuEvent::kL1Sector, l1.load_sectors + l1.store_sectors + l1.atomic_sectors);
  meter.add(GpuEvent::kSharedWavefront, l1.wavefronts);
  meter.add(GpuEvent::kNocSector, l1.sectors_done);
  meter.add(GpuEvent::kL2Sector,
            m.l2_sectors_read + m.l2_sectors_write + m.l2_sectors_atom + m.l2_sectors_red);
  meter.add(GpuEvent::kHbmReadByte, m.dram_read_bytes);
  meter.add(GpuEvent::kHbmWriteByte, m.dram_write_bytes);
  meter.add(GpuEvent::kHbmActivate, m.dram_activates);
  const energy::Operation operation{report.duration_ns, report.clock_mhz * 1e6, voltage_clock_hz};
  for (const auto& e : meter.report(operation).entries) {
    report.energy.push_back({e.component, e.microjoules});
  }
}

/// Whether code names registers beyond those that its warps have.
bool spills(const Program& program) {
  std::vector<WarpRange> groups = program.groups;
  if (groups.empty()) groups.push_back({0, program.num_warps, program.registers_per_thread, 0});
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::size_t group = 0;
  for (std::size_t pc = 0; pc < program.code.size(); ++pc) {
    while (group + 1 < groups.size() && static_cast<int>(pc) >= groups[group + 1].begin) ++group;
    const auto& to = program.code[pc].dst;
    const int has = groups[group].registers;
    if (std::any_of(to.begin(), to.end(), [&](auto r) { return r >= has; })) return true;
  }
  return false;
}

/// What this launch met and the model leaves out; the classes' comments say more.
void put_notes(const Program& program, run::LaunchReport& report) {
  auto& notes = report.notes;
  if (has(program, {Opcode::kLdg, Opcode::kStg, Opcode::kAtom, Opcode::kRed, Opcode::kLdgsts,
                    Opcode::kUtma})) {
    notes.emplace_back("misses of the TLBs");
    notes.emplace_back("a limit on L2 misses under way");
  }
  if (has(program, {Opcode::kUtma})) {
    notes.emplace_back("which TMA descriptors an SM holds, and bank conflicts of TMA");
  }
  if (spills(program)) notes.emplace_back("registers that spill to local memory");
  const bool unknown = std::any_of(program.code.begin(), program.code.end(), [](const auto& in) {
    const bool moves = in.op == Opcode::kLds || in.op == Opcode::kSts;
    return moves && in.width > 0 && in.shared_lanes == kNoLanes;
  });
  if (unknown) notes.emplace_back("bank conflicts of shared memory that an op uses for itself");
  if (program.shared_bytes > 0) notes.emplace_back("the driver's choice of the L1's carve-out");
  notes.emplace_back("constant-cache misses after an SM's first");
  notes.emplace_back("register bank conflicts");
}

}  // namespace

ChipTotals totals(const Chip& chip) {
  ChipTotals t;
  for (const auto& sm : chip.sms()) {
    t.sm_active += sm->active_cycles();
    stats::add_counters(t.lsu, sm->lsu());
    t.lsu.messages += sm->tma().messages();
    t.lsu.sectors_requested += sm->tma().sectors_requested();
    t.lsu.sectors_done += sm->tma().sectors_done();
    for (std::uint32_t s = 0; s < kSubCores; ++s) {
      const SubCore& sub = sm->sub_core(s);
      t.ledger.add(sub.ledger());
      t.issued += sub.issued();
      t.warp_cycles += sub.warp_cycles();
      t.sub_core_active += sub.active_cycles();
      for (std::size_t r = 0; r < kStalls; ++r) {
        t.warp_stalls[r] += sub.warp_stall(static_cast<Stall>(r));
      }
    }
  }
  return t;
}

bool has_tensor_work(const Program& program, const KernelImage& image) {
  for (std::size_t pc = 0; pc < program.code.size(); ++pc) {
    const Action action = image.code[pc].action;
    const bool is_product = action == Action::kMatrix || action == Action::kWgmma;
    if (is_product && program.code[pc].mma.bits < 64) return true;
  }
  return false;
}

void fill_report(Chip& chip, const GpuParams& params, const Program& program,
                 const KernelImage& image, const LaunchProfile& profile, const Occupancy& occupancy,
                 double voltage_clock_hz, run::LaunchReport& report) {
  ChipTotals t = totals(chip);
  const TensorWork tensor = count_tensor_work(program, image, profile);
  t.lsu.wavefronts += tensor.shared_bytes / kWavefrontBytes;
  const memory::MemoryCounters m = chip.memory().counters();
  stats::CounterSet out;
  out.put("cycles", report.cycles);
  out.put("duration_ns", report.duration_ns);
  const PipeTotals by_pipe = count_executed(program, profile);
  put_instructions(out, by_pipe);
  put_bank_conflicts(out, program);
  put_memory(out, t.lsu, m);
  put_activity(out, t, tensor, static_cast<double>(chip.sms().size()));
  put_occupancy(out, occupancy, program, params.sm);
  report.counters = out.entries();
  for (std::size_t r = 0; r < kStalls; ++r) {
    const auto reason = static_cast<Stall>(r);
    const std::uint64_t cycles = t.ledger.of(reason);
    if (cycles == 0) continue;
    report.ledger.push_back(
        {"gpu.sm.sub", std::string(name(reason)), cycles, std::string(meaning(reason))});
  }
  put_lines(program, image, profile, report);
  put_energy(params, by_pipe, tensor, t.lsu, m, voltage_clock_hz, report);
  put_notes(program, report);
  for (const memory::PartUse& part : chip.memory().use(report.cycles))
    report.memory.push_back({std::string(part.name), part.mean, part.busiest});
  report.hbm_read_bytes = static_cast<double>(m.dram_read_bytes);
  report.hbm_write_bytes = static_cast<double>(m.dram_write_bytes);
  report.simulated_instructions = t.issued;
  report.simulated_messages = t.lsu.messages;
}

}  // namespace xpusim::gpu
