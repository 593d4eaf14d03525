// Runs workloads on systems of several chips.

#include "sim/run/run_system.h"

#include <fmt/format.h>

#include <chrono>

#include "sim/run/bind.h"
#include "sim/run/system_check.h"

namespace xpusim::run {
namespace {

constexpr std::uint64_t kSeedOfChip = std::uint64_t{1} << 32;

class SystemRun {
 public:
  SystemRun(const Workload& workload, const LoadedMachine& machine, const RunSettings& settings)
      : workload_(workload), machine_(machine), settings_(settings) {}

  Expected<Report> run() {
    report_ = new_report(workload_, machine_);
    if (auto ok = bind(); !ok) return fail(ok.error());
    if (settings_.values) {
      if (auto ok = allocate(); !ok) return fail(ok.error());
      if (auto ok = checker_.prepare(workload_, *machine_.machine, memories_); !ok)
        return fail(ok.error());
    }
    report_.checked = settings_.values && !workload_.expect.empty();
    if (auto ok = open_trace(); !ok) return fail(ok.error());
    for (int i = 0; i < settings_.loop; ++i) {
      if (!round()) return std::move(report_);
      if (i == 0 && report_.checked) report_.checks = checker_.compare(memories_);
    }
    if (sink_)
      if (auto done = sink_->finish(); !done) return fail(done.error());
    return std::move(report_);
  }

 private:
  Expected<void> bind() {
    Diagnostics problems;
    for (const LaunchSpec& spec : workload_.launches) {
      if (!spec.collective) {
        problems.error(
            spec.kernel_place(),
            fmt::format("{} has {} chips, on which kernels do not run yet: collectives do",
                        report_.machine, machine_.machine->chips()));
        continue;
      }
      CollectiveLaunch launch;
      launch.spec = *spec.collective;
      launch.in_bytes = bytes_of(launch.spec.tensor, launch, problems);
      launch.out_bytes = bytes_of(launch.spec.output, launch, problems);
      launches_.push_back(std::move(launch));
    }
    if (!settings_.dumps.empty())
      problems.error({"--dump", 0, 0}, "of one chip only, not of a system");
    if (problems.has_errors()) return fail(problems);
    return {};
  }

  std::uint64_t bytes_of(const std::string& tensor, CollectiveLaunch& launch,
                         Diagnostics& problems) const {
    const TensorSpec* t = workload_.tensor(tensor);
    if (!t) {
      std::vector<std::string> known;
      for (const auto& other : workload_.tensors) known.push_back(other.name);
      problems.error(launch.spec.where,
                     fmt::format("no tensor '{}'{}", tensor, did_you_mean(tensor, known)));
      return 0;
    }
    if (tensor != launch.spec.tensor && t->dtype != launch.dtype)
      problems.error(launch.spec.where, fmt::format("'{}' and '{}' differ in their dtype",
                                                    launch.spec.tensor, tensor));
    launch.dtype = t->dtype;
    return static_cast<std::uint64_t>(t->count()) * kernel::byte_size(t->dtype);
  }

  Expected<void> allocate() {
    for (std::uint32_t chip = 0; chip < machine_.machine->chips(); ++chip) {
      owned_.push_back(std::make_unique<exec::DeviceMemory>(report_.peaks.hbm_bytes));
      Workload own = workload_;
      for (TensorSpec& t : own.tensors) t.init.seed += chip * kSeedOfChip;
      if (auto done = allocate_tensors(own, *owned_.back()); !done) return done;
      memories_.push_back(owned_.back().get());
    }
    return {};
  }

  Expected<void> open_trace() {
    if (settings_.trace.empty()) return {};
    auto opened = trace::open_sink(settings_.trace);
    if (!opened) return fail(opened.error());
    sink_ = std::move(*opened);
    return {};
  }

  /// False if a launch failed.
  bool round() {
    LaunchOptions options;
    options.values = settings_.values;
    options.trace = sink_.get();
    options.trace_start_fs = trace_fs_;
    for (const CollectiveLaunch& launch : launches_) {
      const auto start = std::chrono::steady_clock::now();
      auto done = machine_.machine->collective(launch, memories_, options);
      if (!done) {
        report_.failure = done.error();
        return false;
      }
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      LaunchResult result;
      result.machine = std::move(*done);
      result.host = host_stats(result.machine, wall.count());
      if (result.machine.network && result.machine.network->bound_ns > 0)
        result.bound = {{"link bandwidth", result.machine.network->bound_ns}};
      result.kind = launch.spec.op;
      options.trace_start_fs += static_cast<std::uint64_t>(result.machine.duration_ns * 1e6);
      report_.launches.push_back(std::move(result));
    }
    trace_fs_ = options.trace_start_fs;
    return true;
  }

  const Workload& workload_;
  const LoadedMachine& machine_;
  const RunSettings& settings_;
  Report report_;
  std::vector<CollectiveLaunch> launches_;
  std::vector<std::unique_ptr<exec::DeviceMemory>> owned_;
  std::vector<exec::DeviceMemory*> memories_;
  SystemChecker checker_;
  std::unique_ptr<trace::Sink> sink_;
  std::uint64_t trace_fs_ = 0;
};

}  // namespace

Expected<Report> run_on_system(const Workload& workload, const LoadedMachine& machine,
                               const RunSettings& settings) {
  return SystemRun(workload, machine, settings).run();
}

}  // namespace xpusim::run
