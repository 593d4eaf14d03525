// Runs the launches of a workload in this process, one after another.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "sim/run/bind.h"
#include "sim/run/bind_kernel.h"
#include "sim/run/run_system.h"
#include "sim/run/runner.h"
#include "sim/run/trust.h"

namespace xpusim::run {
namespace {

std::map<std::string, double> bound_of(const LaunchReport& report, const Peaks& peaks) {
  for (const auto& f : families())
    if (f.bound) return f.bound(report, peaks);
  return {};
}

/// A run from bound launches to the report.
class WorkloadRun {
 public:
  WorkloadRun(const Workload& workload, const LoadedMachine& machine, const RunSettings& settings)
      : workload_(workload),
        machine_(machine),
        settings_(settings),
        memory_(machine.machine->peaks().hbm_bytes ? machine.machine->peaks().hbm_bytes
                                                   : std::uint64_t{1} << 40) {}

  /// Reads and binds everything before anything runs, so that every problem is found first.
  Expected<void> prepare() {
    report_ = new_report(workload_, machine_);
    if (auto done = allocate_tensors(workload_, memory_); !done) return done;
    if (auto done = check_dumps(settings_.dumps, memory_, settings_.values); !done) return done;
    if (auto done = bind_launches(); !done) return done;
    report_.checked = settings_.values && !workload_.expect.empty();
    if (report_.checked)
      if (auto done = checker_.prepare(workload_, memory_); !done) return done;
    options_.values = settings_.values;
    options_.clock_hz = settings_.clock_hz;
    if (auto done = open_trace(); !done) return done;
    if (auto done = check_record(); !done) return done;
    if (settings_.listing != Listing::kNone && !machine_.family->lists)
      return fail({"--on", 0, 0},
                  fmt::format("the {} machines list no code", machine_.family->name));
    options_.listing = settings_.listing;
    return {};
  }

  /// Caches are empty before the first launch; what they hold then lives across the launches and
  /// rounds. Values are checked after the first round: `expect` says what one round leaves.
  Expected<Report> run() {
    const int unreported = settings_.warm_caches ? 1 : 0;
    for (int i = 0; i < unreported + settings_.loop; ++i) {
      if (!round(i >= unreported)) return std::move(report_);
      if (i == 0 && report_.checked) report_.checks = checker_.compare(memory_);
    }
    if (sink_)
      if (auto done = sink_->finish(); !done) return fail(done.error());
    if (auto done = write_dumps(settings_.dumps, memory_); !done) return fail(done.error());
    return std::move(report_);
  }

 private:
  Expected<void> open_trace() {
    if (settings_.trace.empty()) return {};
    if (!machine_.family->traces)
      return fail({"--trace", 0, 0},
                  fmt::format("the {} machines write no trace", machine_.family->name));
    auto opened = trace::open_sink(settings_.trace);
    if (!opened) return fail(opened.error());
    sink_ = std::move(*opened);
    return {};
  }

  Expected<void> check_record() const {
    if (!settings_.record) return {};
    if (!machine_.family->records)
      return fail({"--on", 0, 0}, fmt::format("the {} machines record nothing that can be viewed",
                                              machine_.family->name));
    const std::size_t count = workload_.launches.size();
    if (settings_.recorded < count) return {};
    return fail({"--launch", 0, 0}, fmt::format("there is no launch {}: {} has {}",
                                                settings_.recorded + 1, workload_.name, count));
  }

  Expected<void> bind_launches() {
    Diagnostics problems;
    for (LaunchSpec spec : workload_.launches) {
      if (spec.collective) {
        CollectiveLaunch refused;
        refused.spec = *spec.collective;
        problems.append(machine_.machine->accepts_collective(refused).error());
        continue;
      }
      auto launches = bind_kernel(workload_, std::move(spec), *machine_.machine, *machine_.family,
                                  settings_, memory_);
      if (!launches) {
        problems.append(launches.error());
        continue;
      }
      for (exec::Launch& launch : *launches) launches_.push_back(std::move(launch));
    }
    if (problems.has_errors()) return fail(std::move(problems));
    return {};
  }

  /// False if a launch failed.
  bool round(bool reported) {
    options_.trace = reported ? sink_.get() : nullptr;
    for (const auto& launch : launches_) {
      const bool recorded = reported && report_.launches.size() == settings_.recorded;
      options_.record = recorded ? settings_.record : std::nullopt;
      const auto start = std::chrono::steady_clock::now();
      auto done = machine_.machine->launch(launch, memory_, options_);
      if (!done) {
        report_.failure = done.error();
        report_.refused = !machine_.machine->accepts(launch, memory_);
        return false;
      }
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      options_.warm_caches = true;
      if (reported) add(launch, std::move(*done), wall.count());
    }
    return true;
  }

  void add(const exec::Launch& launch, LaunchReport done, double wall_s) {
    LaunchResult result = result_of(launch, std::move(done), wall_s, report_);
    if (!report_.launches.empty()) {
      const LaunchResult& last = report_.launches.back();
      result.start_ns = last.start_ns + last.machine.duration_ns;
    }
    options_.trace_start_fs += static_cast<std::uint64_t>(result.machine.duration_ns * 1e6);
    report_.launches.push_back(std::move(result));
  }

  const Workload& workload_;
  const LoadedMachine& machine_;
  const RunSettings& settings_;
  exec::DeviceMemory memory_;
  Checker checker_;
  LaunchOptions options_;
  std::unique_ptr<trace::Sink> sink_;
  std::vector<exec::Launch> launches_;
  Report report_;
};

}  // namespace

HostStats host_stats(const LaunchReport& report, double wall_s) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  HostStats host;
  host.wall_s = wall_s;
  host.cycles_per_s = static_cast<double>(report.cycles) / wall_s;
  host.instructions_per_s = static_cast<double>(report.simulated_instructions) / wall_s;
  host.peak_rss_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  return host;
}

LaunchResult result_of(const exec::Launch& launch, LaunchReport done, double wall_s,
                       const Report& report) {
  LaunchResult result;
  result.machine = std::move(done);
  result.host = host_stats(result.machine, wall_s);
  result.bound = bound_of(result.machine, report.peaks);
  if (report.kernel_error)
    result.never_compared = never_compared(*launch.module, *report.kernel_error);
  result.kind = kind_of_kernel(kinds_of_ops(*launch.module));
  result.bottlenecks = find_bottlenecks(result.machine, 3);
  return result;
}

Report new_report(const Workload& workload, const LoadedMachine& machine) {
  Report r;
  r.workload = workload.name;
  r.machine = machine.machine->name();
  r.machine_file = machine.file;
  r.config = machine.config;
  r.parameters = machine.parameters;
  r.peaks = machine.machine->peaks();
  r.kernel_error = expected_kernel_error(machine);
  if (machine.machine->chip()) r.collective_error = expected_error(machine);
  return r;
}

Expected<Report> run_workload(const Workload& workload, const RunSettings& settings) {
  auto loaded = load_machine(settings.machine, settings.overrides);
  if (!loaded) return fail(loaded.error());
  return run_workload(workload, *loaded, settings);
}

Expected<Report> run_workload(const Workload& workload, const LoadedMachine& machine,
                              const RunSettings& settings) {
  if (machine.machine->chip()) return run_on_system(workload, machine, settings);
  WorkloadRun run(workload, machine, settings);
  if (auto ready = run.prepare(); !ready) return fail(ready.error());
  return run.run();
}

}  // namespace xpusim::run
