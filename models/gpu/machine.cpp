#include "models/gpu/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "models/gpu/compiler/compiler.h"
#include "models/gpu/compiler/passes/passes.h"
#include "models/gpu/compiler/warp_groups.h"
#include "models/gpu/core/block_execution.h"
#include "models/gpu/core/chip.h"
#include "models/gpu/core/recording.h"
#include "models/gpu/core/report.h"
#include "models/gpu/core/sm_tracer.h"
#include "models/gpu/listing.h"
#include "sim/kernel/op_info.h"
#include "sim/run/cost.h"

namespace xpusim::gpu {

namespace {

constexpr std::uint32_t kTracedSms = 4;  // of a big chip: the first ones

/// The tracers of a launch, and the note on what they left out.
class ChipTracer {
 public:
  ChipTracer(const run::LaunchOptions& options, const engine::Clock& clock, Chip& chip,
             std::size_t slots) {
    if (options.trace == nullptr) return;
    for (std::uint32_t i = 0; i < chip.sms().size() && i < kTracedSms; ++i) {
      tracers_.push_back(std::make_unique<SmTracer>(*options.trace, clock, options.trace_start_fs,
                                                    i, slots, budget_));
      chip.sms()[i]->trace_with(tracers_.back().get());
    }
    untraced_ = chip.sms().size() - tracers_.size();
  }
  void note(run::LaunchReport& report) const {
    if (untraced_ > 0) {
      report.notes.push_back(
          fmt::format("trace: the first {} SMs; {} are left out", kTracedSms, untraced_));
    }
    if (budget_.dropped > 0) {
      report.notes.push_back(fmt::format("trace: {} later slices are left out", budget_.dropped));
    }
  }

 private:
  TraceBudget budget_;
  std::vector<std::unique_ptr<SmTracer>> tracers_;
  std::size_t untraced_ = 0;
};

/// What `view` asks for, of a launch on an SM that there is.
std::unique_ptr<SmRecorder> start_recorder(const run::LaunchOptions& options, Chip& chip,
                                           std::size_t instructions) {
  if (!options.record) return nullptr;
  SmRecorder::Window window;
  window.first = options.record->first_cycle;
  window.cycles = options.record->cycles;
  auto recorder = std::make_unique<SmRecorder>(window, instructions);
  chip.sms()[options.record->core]->record_with(recorder.get());
  return recorder;
}

/// Whether there was anything to record.
Expected<void> check_recorded(const SmRecorder& recorder, const Sm& sm, std::uint32_t number,
                              std::uint64_t cycles) {
  if (sm.blocks_run() == 0)
    return fail({"--sm", 0, 0}, fmt::format("SM {} got no block of this launch", number));
  if (recorder.end() > recorder.first()) return {};
  return fail({"--at", 0, 0},
              fmt::format("SM {} does nothing at cycle {} or later (the launch takes {} cycles)",
                          number, recorder.first(), cycles));
}

std::uint64_t block_count(const exec::Launch& launch) {
  std::uint64_t n = 1;
  for (std::int64_t g : launch.grid) n *= static_cast<std::uint64_t>(g);
  return n;
}

Expected<void> check_fit(const exec::Launch& launch, const Program& program, const Occupancy& o) {
  if (o.blocks > 0) return {};
  return fail(launch.function->op->line(),
              fmt::format("a block of {} warps with {} registers a thread and {} bytes of shared "
                          "memory does not fit an SM (by warps {}, by registers {}, by shared "
                          "memory {})",
                          program.num_warps, program.registers_per_thread, program.shared_bytes,
                          o.by_warps, o.by_registers, o.by_shared));
}

/// What of each tensor the L2 holds.
std::vector<std::uint64_t> cached_bytes(const memory::MemorySystem& l2,
                                        const exec::DeviceMemory& memory) {
  std::vector<memory::MemorySystem::Range> ranges;
  for (const auto& tensor : memory.allocations()) ranges.emplace_back(tensor.address, tensor.bytes);
  return l2.cached_bytes(ranges);
}

/// What must cross the HBM: loads of what the L2 did not hold, stores that cannot stay dirty there.
double compulsory_bytes(const exec::WorkCounts& work, const exec::DeviceMemory& memory,
                        const std::vector<std::uint64_t>& cached, std::uint64_t most_dirty) {
  const auto beyond = [](std::uint64_t bytes, std::uint64_t held) {
    return bytes - std::min(bytes, held);
  };
  const auto& tensors = memory.allocations();
  std::uint64_t loaded = 0;
  for (std::size_t i = 0; i < tensors.size() && i < work.tensors.size(); ++i)
    loaded += beyond(std::min(work.tensors[i].loaded, tensors[i].bytes), cached[i]);
  return static_cast<double>(loaded + beyond(work.compulsory(memory).stored, most_dirty));
}

/// Calls `visit` with every op under `op`, in the order of the text.
template <class Visit>
void for_each_op(const kernel::Op& op, const Visit& visit) {
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& inner : block->ops) {
        visit(*inner);
        for_each_op(*inner, visit);
      }
    }
  }
}

/// What a simulated launch drew.
energy::Load load_of(const run::LaunchReport& report) {
  energy::Load load;
  load.clock_hz = report.clock_mhz * 1e6;
  const double watts_per_uj = 1e3 / report.duration_ns;
  for (const auto& e : report.energy) {
    load.watts += e.microjoules * watts_per_uj;
    if (e.component == energy::kClockComponent || e.component == energy::kIdleComponent)
      load.standing += e.microjoules * watts_per_uj;
  }
  return load;
}

/// Why the clock of a launch is what it is, for people.
std::string clock_reason(const GpuParams& params, double ceiling, const energy::Load& load) {
  const energy::ClockParams& rules = params.energy.clock;
  std::string why =
      ceiling < params.clock_hz ? "the ceiling with matrix work" : "the machine's own";
  if (load.clock_hz < ceiling)
    why =
        fmt::format("{} is {:.0f} MHz, less the sag at {:.0f} W", why, ceiling * 1e-6, load.watts);
  const double held = energy::sustained_clock(rules, params.energy.power, ceiling, load);
  if (held < load.clock_hz)
    why += fmt::format("; for long, {:.0f} W allow about {:.0f} MHz", rules.limit_w, held * 1e-6);
  return why;
}

}  // namespace

struct Machine::Code {
  std::shared_ptr<const exec::Prepared> prepared;
  Program program;
  KernelImage image;
  Occupancy fit;
};

struct Machine::Job {
  const exec::Launch& launch;
  exec::DeviceMemory& memory;
  run::LaunchOptions options;
  const Code& code;
};

struct Machine::Clocks {
  double hz;          ///< of the cycles
  double voltage_hz;  ///< that the voltage belongs to
};

Machine::Machine(std::string name, const GpuParams& params, std::optional<double> dollars_per_hour)
    : name_(std::move(name)), params_(params), dollars_per_hour_(dollars_per_hour) {}

Machine::~Machine() = default;

run::Peaks Machine::peaks() const {
  run::Peaks p;
  const double lanes = static_cast<double>(params_.sm.count) * kSubCores * kWarpLanes /
                       static_cast<double>(params_.sm.pipes.fma_interval);
  p.flops_per_s = 2 * lanes * params_.clock_hz;
  p.tensor_flops_per_s =
      params_.tensor_flops_per_cycle * static_cast<double>(params_.sm.count) * params_.clock_hz;
  p.hbm_bytes_per_s = params_.memory.hbm.bytes_per_second();
  p.hbm_bytes = static_cast<std::uint64_t>(params_.memory.hbm.capacity_bytes);
  p.dollars_per_hour = dollars_per_hour_;
  return p;
}

std::vector<std::string> Machine::unsupported(const kernel::Module& module) const {
  if (module.form == kernel::Form::kTtir) {
    const auto compiled = passes::to_ttgir(module, {});
    if (compiled) return unsupported(*compiled);
    std::vector<std::string> reasons;
    for (const auto& problem : compiled.error().list()) reasons.push_back(problem.str());
    return reasons;
  }
  const kernel::Function* kernel = module.kernel();
  if (kernel == nullptr) return {};
  if (auto groups = WarpGroups::make(module, *kernel); !groups)
    return {groups.error().list().front().str()};
  const auto not_lowered = unsupported_ops(module);
  const std::set<std::string> missing(not_lowered.begin(), not_lowered.end());
  std::set<std::string> seen;
  std::vector<std::string> out;
  for_each_op(*kernel->op, [&](const kernel::Op& op) {
    const std::string name(op.name());
    const bool runs = missing.count(name) == 0 && exec::has_handler(op.info->id);
    if (runs || !seen.insert(name).second) return;
    out.push_back(fmt::format("{} ({})", name, op.line().str()));
  });
  return out;
}

Expected<Machine::Code> Machine::code_of(const exec::Launch& launch) const {
  auto prepared = exec::Prepared::make(launch.module, *launch.function);
  if (!prepared) return fail(std::move(prepared.error()));
  const auto site_of = [&](const kernel::Op& op) { return (*prepared)->site(op); };
  auto program = compile(*launch.module, *launch.function, site_of, params_.compiler);
  if (!program) return fail(std::move(program.error()));
  auto image = decode(*program, params_.sm.tensor);
  if (!image) return fail(std::move(image.error()));
  const Occupancy fit = occupancy(params_.sm, *program);
  if (auto ok = check_fit(launch, *program, fit); !ok) return fail(std::move(ok.error()));
  return Code{std::move(*prepared), std::move(*program), std::move(*image), fit};
}

Expected<void> Machine::accepts(const exec::Launch& launch, exec::DeviceMemory&) const {
  auto code = code_of(launch);
  if (!code) return fail(std::move(code.error()));
  return {};
}

Expected<run::LaunchReport> Machine::launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                            const run::LaunchOptions& options) {
  auto code = code_of(launch);
  if (!code) return fail(std::move(code.error()));
  if (block_count(launch) == 0) return fail({}, "the grid has no blocks");
  const auto sms = static_cast<std::uint32_t>(params_.sm.count);
  if (options.record && options.record->core >= sms)
    return fail({"--sm", 0, 0}, fmt::format("there is no SM {}: {} has {}, from 0",
                                            options.record->core, name_, sms));

  const Job job{launch, memory, options, *code};
  return options.clock_hz ? simulate_at_given_clock(job) : simulate_at_own_clock(job);
}

double Machine::clock_ceiling(const Job& job) const {
  const double tensor = params_.energy.clock.tensor_clock_hz;
  if (tensor <= 0 || !has_tensor_work(job.code.program, job.code.image)) return params_.clock_hz;
  return std::min(params_.clock_hz, tensor);
}

/// A clock that is given is taken for one that is held for long: the voltage has followed it.
Expected<run::LaunchReport> Machine::simulate_at_given_clock(const Job& job) {
  const auto hz = static_cast<double>(*job.options.clock_hz);
  auto report =
      simulate(job, {hz, params_.energy.power.nominal_clock_hz * hz / clock_ceiling(job)});
  if (report) report->clock_reason = "as given";
  return report;
}

/// The clock depends on the power and the power on the clock: simulates at the ceiling and, where
/// the power lowers the clock, again, on the memory and caches as they were. Only the last
/// simulation is traced.
Expected<run::LaunchReport> Machine::simulate_at_own_clock(Job job) {
  constexpr int kMostRuns = 3;
  constexpr double kNear = 0.02;  // of the clock: less does not repay a run
  const energy::ClockParams& rules = params_.energy.clock;
  const double ceiling = clock_ceiling(job);
  const bool may_move = rules.sag_from_w > 0;
  trace::Sink* const trace =
      std::exchange(job.options.trace, may_move ? nullptr : job.options.trace);
  const auto contents = may_move ? job.memory.contents() : nullptr;
  const auto caches = caches_;
  double hz = ceiling;
  for (int runs = 1;; ++runs) {
    auto report = simulate(job, {hz, params_.energy.power.nominal_clock_hz});
    const energy::Load load = report ? load_of(*report) : energy::Load{};
    const double next = report ? energy::settled_clock(rules, ceiling, load) : hz;
    const bool settled = runs >= kMostRuns || std::abs(next - hz) <= kNear * hz;
    if (settled && job.options.trace == trace) {
      if (report) report->clock_reason = clock_reason(params_, ceiling, load);
      return report;
    }
    if (settled)
      job.options.trace = trace;
    else
      hz = next;
    job.memory.set_contents(*contents);
    caches_ = caches;
  }
}

Expected<run::LaunchReport> Machine::simulate(const Job& job, const Clocks& clocks) {
  const auto& [launch, memory, options, code] = job;
  const auto& [prepared, program, decoded, fit] = code;
  KernelImage image = decoded;  // a simulation changes its own
  const auto hz = static_cast<std::uint64_t>(std::llround(clocks.hz));
  LaunchProfile profile(image);
  BlockExecution blocks(prepared, launch, memory, {options.values});
  engine::fresh_simulation();
  engine::ClockDomain domain("core", engine::Clock(hz));
  GpuParams params = params_;
  params.memory = memory::at_clock(params_.memory, params_.clock_hz, clocks.hz);
  Chip chip("gpu", domain.scheduler(), params,
            {image, profile, blocks, block_count(launch), static_cast<std::uint32_t>(fit.blocks),
             params_.sm.l1_bytes - fit.carve_out_bytes});
  std::vector<std::uint64_t> cached(memory.allocations().size());  // bytes of each tensor
  if (options.warm_caches && caches_) {
    chip.memory().set_caches(std::move(*caches_));
    cached = cached_bytes(chip.memory(), memory);
  } else {
    chip.memory().cold_caches();
  }
  ChipTracer tracer(options, domain.scheduler().clock(), chip,
                    static_cast<std::size_t>(fit.blocks));
  const auto recorder = start_recorder(options, chip, program.code.size());
  engine::SystemRunner runner({&domain});
  auto ran = runner.run([&] { return chip.dispatcher().finished() || blocks.failed(); });
  if (blocks.error()) return fail(blocks.error()->line, blocks.error()->message);
  if (!ran) return fail(std::move(ran.error()));
  chip.finish();
  caches_ = chip.memory().caches();

  run::LaunchReport report;
  report.name = launch.name;
  report.cycles = chip.dispatcher().end();
  report.clock_mhz = static_cast<double>(hz) * 1e-6;
  report.duration_ns = static_cast<double>(domain.scheduler().clock().edge(report.cycles)) * 1e-6;
  const exec::WorkCounts work = blocks.counts();
  report.flops = static_cast<double>(work.flops);
  report.tensor_flops = static_cast<double>(work.dot_flops);
  report.compulsory_bytes =
      compulsory_bytes(work, memory, cached, chip.memory().most_dirty_bytes());
  fill_report(chip, params_, program, image, profile, fit, clocks.voltage_hz, report);
  tracer.note(report);
  if (options.listing != run::Listing::kNone) {
    report.listing = list_program(program, report, options.listing == run::Listing::kAll);
  }
  if (recorder) {
    recorder->finish();
    const std::uint32_t sm = options.record->core;
    if (auto ok = check_recorded(*recorder, *chip.sms()[sm], sm, report.cycles); !ok)
      return fail(std::move(ok.error()));
    report.recording = to_json(
        *recorder, {program, image, profile, fit, memory, *launch.module, sm, chip.sms().size()});
  }
  return report;
}

namespace {

Expected<std::unique_ptr<run::Machine>> create(const config::Node& config,
                                               const std::string& name) {
  Diagnostics problems;
  GpuParams params;
  run::CostParams cost;
  config::bind(config.find("gpu"), "gpu", params, problems);
  config::bind(config.find("cost"), "cost", cost, problems);
  if (problems.has_errors()) return fail(std::move(problems));
  memory::check(params.memory, "gpu.memory", problems);  // of values that are right by themselves
  if (problems.has_errors()) return fail(config::placed(config, problems));
  return std::make_unique<Machine>(name, params, cost.per_hour);
}

Expected<kernel::Module> compile_kernel(kernel::Module kernel, const run::Schedule& schedule) {
  if (kernel.form != kernel::Form::kTtir) return kernel;
  return passes::to_ttgir(kernel, {schedule.num_warps, schedule.num_stages});
}

std::vector<config::ParamDoc> document_params(const config::Node* config) {
  return run::machine_params<GpuParams>("gpu", config);
}

}  // namespace

run::Family family() {
  run::Family f;
  f.name = "gpu";
  f.forms = {kernel::Form::kTtgir, kernel::Form::kTtir};
  f.compile = compile_kernel;
  f.create = create;
  f.traces = true;
  f.records = true;
  f.lists = true;
  f.params = document_params;
  return f;
}

}  // namespace xpusim::gpu
