#include "models/tpu/machine.h"

#include <fmt/format.h>

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/launch.h"
#include "models/tpu/listing.h"
#include "models/tpu/recording.h"
#include "models/tpu/report.h"
#include "sim/run/cost.h"

namespace xpusim::tpu {
namespace {

Expected<std::unique_ptr<run::Machine>> create(const config::Node& config,
                                               const std::string& name) {
  Diagnostics problems;
  TpuParams params;
  run::CostParams cost;
  config::bind(config.find("tpu"), "tpu", params, problems);
  config::bind(config.find("cost"), "cost", cost, problems);
  if (problems.has_errors()) return fail(std::move(problems));
  check(params.core, "tpu.core", problems);  // of values that are right by themselves
  memory::check(params.hbm, "tpu.hbm", problems);
  if (problems.has_errors()) return fail(config::placed(config, problems));
  return std::make_unique<Machine>(name, params, cost.per_hour);
}

std::vector<config::ParamDoc> document_params(const config::Node* config) {
  return run::machine_params<TpuParams>("tpu", config);
}

void refuse_in(const kernel::Block& block, kernel::Form form, std::vector<std::string>& out) {
  for (const auto& op : block.ops) {
    const std::string why = form == kernel::Form::kMosaic ? refuse_mosaic(*op) : refuse_triton(*op);
    if (!why.empty()) out.push_back(fmt::format("{} ({}): {}", op->name(), op->line().str(), why));
    if (!why.empty()) continue;
    for (const auto& region : op->regions) {
      for (const auto& inner : region->blocks) refuse_in(*inner, form, out);
    }
  }
}

/// Whether there is such a core.
Expected<void> check_core(const run::RecordRequest& asked, std::size_t cores,
                          const std::string& machine) {
  if (asked.core < cores) return {};
  return fail({"--core", 0, 0},
              fmt::format("there is no core {}: {} runs this launch on {}, from 0", asked.core,
                          machine, cores));
}

/// Whether there was anything to record.
Expected<void> check_recorded(const CoreRecorder& recorder, std::uint64_t cycles) {
  if (recorder.end() > recorder.first()) return {};
  return fail({"--at", 0, 0}, fmt::format("the core does nothing at cycle {} or later: the launch "
                                          "takes {} cycles",
                                          recorder.first(), cycles));
}

Expected<PreparedLaunch> prepare(const exec::Launch& launch,
                                 std::span<exec::DeviceMemory* const> memories,
                                 const TpuParams& params, bool values) {
  return launch.module->form == kernel::Form::kMosaic
             ? prepare_mosaic(launch, memories, params, values)
             : prepare_triton(launch, memories, params, values);
}

}  // namespace

Machine::Machine(std::string name, const TpuParams& params, std::optional<double> dollars_per_hour)
    : name_(std::move(name)), params_(params), dollars_per_hour_(dollars_per_hour) {}

Expected<run::LaunchReport> Machine::launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                            const run::LaunchOptions& options) {
  exec::DeviceMemory* const alone = &memory;
  return execute(launch, {&alone, 1}, nullptr, options);
}

Expected<run::LaunchReport> Machine::launch_joined(const exec::Launch& launch,
                                                   std::span<exec::DeviceMemory* const> memories,
                                                   const run::Interconnect& joined,
                                                   const run::LaunchOptions& options) {
  return execute(launch, memories, &joined, options);
}

Expected<run::LaunchReport> Machine::execute(const exec::Launch& launch,
                                             std::span<exec::DeviceMemory* const> memories,
                                             const run::Interconnect* joined,
                                             const run::LaunchOptions& options) {
  Expected<PreparedLaunch> ready = prepare(launch, memories, params_, options.values);
  if (!ready) return fail(ready.error());
  SimulationOptions simulation;
  simulation.clock_hz = options.clock_hz.value_or(static_cast<std::uint64_t>(params_.clock_hz));
  simulation.trace = options.trace;
  simulation.trace_start_fs = options.trace_start_fs;
  std::vector<CoreWork> work;
  for (const auto& core : ready->cores) {
    work.push_back({core.windows.get(), core.body.get(), core.device});
  }
  std::optional<CoreRecorder> recorder;
  std::optional<ProductCapture> product;
  if (options.record) {
    if (auto ok = check_core(*options.record, work.size(), name_); !ok) return fail(ok.error());
    recorder.emplace(CoreRecorder::Window{options.record->first_cycle, options.record->cycles});
    product.emplace(*recorder, params_.core.mxu);
    work[options.record->core].body->listen(&*product);
    simulation.recorder = &*recorder;
    simulation.recorded_core = options.record->core;
  }
  Expected<SimulationResult> result = simulate(params_, ready->program, work, simulation, joined);
  if (!result) return fail(result.error());
  run::LaunchReport report =
      make_report(launch, params_, *ready, *result, simulation.clock_hz, joined);
  if (options.listing != run::Listing::kNone) {
    report.listing = list_bundles(ready->program, params_.core.slots, result->activity,
                                  options.listing == run::Listing::kAll);
  }
  if (recorder) {
    if (auto ok = check_recorded(*recorder, result->cycles); !ok) return fail(ok.error());
    report.recording = to_json(*recorder, {*ready, params_, *launch.module, *product,
                                           options.values, options.record->core});
  }
  return report;
}

Expected<void> Machine::accepts(const exec::Launch& launch, exec::DeviceMemory& memory) const {
  exec::DeviceMemory* const alone = &memory;
  auto ready = prepare(launch, {&alone, 1}, params_, false);
  if (!ready) return fail(ready.error());
  return {};
}

run::Peaks Machine::peaks() const {
  const auto cores = static_cast<double>(params_.core.count);
  const double f32 = cores * static_cast<double>(params_.core.slots.vector_alu) * kSublanes *
                     kLanes * params_.clock_hz;
  const auto& m = params_.core.mxu;
  const double bf16 = cores * 2.0 *
                      static_cast<double>(m.count * m.size * m.size * m.rows_per_cycle) *
                      params_.clock_hz;
  return {f32, bf16, params_.hbm.bytes_per_second(),
          static_cast<std::uint64_t>(params_.hbm.capacity_bytes), dollars_per_hour_};
}

std::vector<std::string> Machine::unsupported(const kernel::Module& module) const {
  std::vector<std::string> out;
  const kernel::Function* kernel = module.kernel();
  if (kernel) refuse_in(kernel->entry(), module.form, out);
  return out;
}

/// A TTIR text leaves open how many buffers the loads of its loops have.
Expected<kernel::Module> with_stages(kernel::Module module, const run::Schedule& schedule) {
  if (module.form != kernel::Form::kTtir) return module;
  kernel::Context& c = *module.context;
  module.op->attrs.emplace_back(kStagesAttribute,
                                c.integer(schedule.num_stages, c.scalar(kernel::DType::kI32)));
  return module;
}

run::Family family() {
  run::Family f;
  f.name = "tpu";
  f.forms = {kernel::Form::kMosaic, kernel::Form::kTtir};
  f.compile = with_stages;
  f.tiles = {131072, 512, 512, 512};  // a step's DMA latency needs as much to hide it
  f.create = create;
  f.traces = true;
  f.records = true;
  f.lists = true;
  f.joins = true;
  f.params = document_params;
  return f;
}

}  // namespace xpusim::tpu
