#include "models/roofline/machine.h"

#include <cmath>

#include "sim/run/cost.h"

namespace xpusim::roofline {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kCyclesPerNs = 1;  // a roofline has no clock: one "cycle" is a nanosecond

/// Runs one block to its end; atomics, locks and the like take effect as soon as they are met,
/// block after block, so a block that waits for a later one never ends and is an error.
Expected<void> run_block(exec::Interpreter& block, const std::array<std::int64_t, 3>& id) {
  constexpr int kMostEffects = 1 << 24;
  block.start(id);
  for (int effects = 0; effects < kMostEffects; ++effects) {
    switch (block.advance()) {
      case exec::Interpreter::State::kDone:
        return {};
      case exec::Interpreter::State::kFailed:
        return fail(block.error().line, block.error().message);
      case exec::Interpreter::State::kAtEffect:
        block.perform();
        break;
    }
  }
  return fail({}, "a block waits for another one: roofline runs blocks one after another");
}

}  // namespace

Machine::Machine(std::string name, const RooflineParams& params,
                 std::optional<double> dollars_per_hour)
    : name_(std::move(name)), params_(params), dollars_per_hour_(dollars_per_hour) {}

run::Peaks Machine::peaks() const {
  return {params_.flops, params_.tensor_flops, params_.hbm_bandwidth, params_.hbm_capacity,
          dollars_per_hour_};
}

std::vector<std::string> Machine::unsupported(const kernel::Module& module) const {
  if (!module.kernel()) return {};
  auto prepared = exec::Prepared::make(std::shared_ptr<const kernel::Module>(&module, [](auto*) {}),
                                       *module.kernel());
  if (prepared) return {};
  std::vector<std::string> out;
  for (const auto& d : prepared.error().list()) out.push_back(d.message);
  return out;
}

Expected<run::LaunchReport> Machine::launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                            const run::LaunchOptions& options) {
  auto prepared = exec::Prepared::make(launch.module, *launch.function);
  if (!prepared) return fail(prepared.error());
  auto block = exec::Interpreter::make(*prepared, launch, memory, {options.values});
  for (std::int64_t z = 0; z < launch.grid[2]; ++z)
    for (std::int64_t y = 0; y < launch.grid[1]; ++y)
      for (std::int64_t x = 0; x < launch.grid[0]; ++x)
        if (auto done = run_block(*block, {x, y, z}); !done) return fail(done.error());

  run::LaunchReport report;
  report.name = launch.name;
  const exec::WorkCounts& work = block->counts();
  report.flops = static_cast<double>(work.flops);
  report.tensor_flops = static_cast<double>(work.dot_flops);
  const auto bytes = work.compulsory(memory);
  report.hbm_read_bytes = static_cast<double>(bytes.loaded);
  report.hbm_write_bytes = static_cast<double>(bytes.stored);
  report.compulsory_bytes = report.hbm_read_bytes + report.hbm_write_bytes;
  for (const auto& [limit, ns] : bound(report, peaks()))
    report.duration_ns = std::max(report.duration_ns, ns);
  report.clock_mhz = 1e3 * kCyclesPerNs;
  report.cycles = static_cast<std::uint64_t>(std::ceil(report.duration_ns * kCyclesPerNs));
  report.ledger = {{"roofline", "busy", report.cycles}};
  report.notes = {"a roofline: no latency, caches, instructions, occupancy or energy"};
  return report;
}

std::map<std::string, double> bound(const run::LaunchReport& report, const run::Peaks& peaks) {
  std::map<std::string, double> limits;
  const auto add = [&](const char* name, double work, double per_second) {
    if (work > 0 && per_second > 0) limits[name] = work / per_second * kNsPerSecond;
  };
  add("vector flops", report.flops - report.tensor_flops, peaks.flops_per_s);
  add("matrix flops", report.tensor_flops / report.tensor_speed, peaks.tensor_flops_per_s);
  add("HBM bandwidth", report.compulsory_bytes, peaks.hbm_bytes_per_s);
  return limits;
}

namespace {

Expected<std::unique_ptr<run::Machine>> create(const config::Node& config,
                                               const std::string& name) {
  Diagnostics problems;
  RooflineParams params;
  run::CostParams cost;
  config::bind(config.find("roofline"), "roofline", params, problems);
  config::bind(config.find("cost"), "cost", cost, problems);
  if (problems.has_errors()) return fail(problems);
  return std::make_unique<Machine>(name, params, cost.per_hour);
}

std::vector<config::ParamDoc> params(const config::Node* config) {
  return run::machine_params<RooflineParams>("roofline", config);
}

}  // namespace

run::Family family() {
  run::Family f;
  f.name = "roofline";
  f.forms = {kernel::Form::kTtir, kernel::Form::kTtgir};
  f.create = create;
  f.params = params;
  f.bound = bound;
  return f;
}

}  // namespace xpusim::roofline
