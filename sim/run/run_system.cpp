// Runs workloads on systems of several chips.

#include "sim/run/run_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "sim/run/bind.h"
#include "sim/run/bind_kernel.h"
#include "sim/run/launch_order.h"
#include "sim/run/system_check.h"

namespace xpusim::run {
namespace {

/// Of the memories' bandwidth, that which a launch takes on the mean.
double memory_share(const LaunchReport& l, const Peaks& peaks) {
  const double bytes = l.hbm_read_bytes + l.hbm_write_bytes;
  return l.duration_ns > 0 && peaks.hbm_bytes_per_s > 0
             ? bytes / (l.duration_ns * 1e-9) / peaks.hbm_bytes_per_s
             : 0;
}

/// Says of launches that run at the same time that they take nothing from each other, and how much
/// of the memories' bandwidth they would have to share.
void note_what_runs_beside(Report& report) {
  const auto end = [](const LaunchResult& l) { return l.start_ns + l.machine.duration_ns; };
  for (LaunchResult& l : report.launches) {
    std::map<std::string, double> beside;  // the most of each name
    for (const LaunchResult& other : report.launches) {
      const double both = std::min(end(l), end(other)) - std::max(l.start_ns, other.start_ns);
      if (&other == &l || both <= 1e-6 * l.machine.duration_ns) continue;
      const std::string& name = other.label.empty() ? other.machine.name : other.label;
      double& share = beside[name];
      share = std::max(share, memory_share(other.machine, report.peaks));
    }
    const double own = memory_share(l.machine, report.peaks);
    for (const auto& [name, share] : beside)
      l.machine.notes.push_back(fmt::format(
          "what {}, at the same time, takes of the memory's bandwidth ({:.0f} % of it, this {:.0f} "
          "%) and of the cores",
          name, 100 * share, 100 * own));
  }
}

class SystemRun {
 public:
  SystemRun(const Workload& workload, const LoadedMachine& machine, const RunSettings& settings)
      : workload_(workload), machine_(machine), settings_(settings) {}

  Expected<Report> run() {
    report_ = new_report(workload_, machine_);
    if (auto ok = bind(); !ok) return fail(ok.error());
    if (settings_.values && !workload_.expect.empty())
      if (auto ok = checker_.prepare(workload_, *machine_.machine, memories_); !ok)
        return fail(ok.error());
    report_.checked = settings_.values && !workload_.expect.empty();
    every_chip_ |= settings_.every_chip;
    if (auto ok = open_trace(); !ok) return fail(ok.error());
    const int unreported = settings_.warm_caches ? 1 : 0;
    for (int i = 0; i < unreported + settings_.loop; ++i) {
      if (!round(i >= unreported)) return std::move(report_);
      if (i == 0 && report_.checked) report_.checks = checker_.compare(memories_);
    }
    note_what_runs_beside(report_);
    if (sink_)
      if (auto done = sink_->finish(); !done) return fail(done.error());
    return std::move(report_);
  }

 private:
  /// A launch of a kernel, or a collective.
  struct Step {
    std::size_t number = 0;  ///< in the file
    std::optional<exec::Launch> kernel;
    CollectiveLaunch collective;
  };

  /// Reads and binds everything before anything runs, so that every problem is found first.
  Expected<void> bind() {
    Diagnostics problems;
    const bool kernels = std::any_of(workload_.launches.begin(), workload_.launches.end(),
                                     [](const LaunchSpec& l) { return !l.collective; });
    if (settings_.values || kernels)
      if (auto ok = allocate(); !ok) return ok;
    for (std::size_t n = 0; n < workload_.launches.size(); ++n) {
      if (workload_.launches[n].collective)
        bind_collective(n, problems);
      else
        bind_kernels(n, problems);
    }
    if (!settings_.dumps.empty())
      problems.error({"--dump", 0, 0}, "of one chip only, not of a system");
    if (settings_.record)
      problems.error({"--on", 0, 0}, "a system records nothing that can be viewed");
    if (settings_.listing != Listing::kNone && !machine_.runs_kernels().lists)
      problems.error({"--on", 0, 0},
                     fmt::format("the {} machines list no code", machine_.runs_kernels().name));
    if (settings_.listing != Listing::kNone && !kernels)
      problems.error(workload_.launches.front().where, "collectives have no code to list");
    if (settings_.clock_hz && !kernels)
      problems.error({"--clock", 0, 0}, "is that of kernels: collectives go by the network's own");
    if (problems.has_errors()) return fail(problems);
    return {};
  }

  void bind_kernels(std::size_t number, Diagnostics& problems) {
    auto launches = bind_kernel(workload_, workload_.launches[number], *machine_.machine,
                                machine_.runs_kernels(), settings_, *memories_.front());
    if (!launches) return problems.append(launches.error());
    share_allocations(problems);
    for (exec::Launch& launch : *launches) {
      every_chip_ |= machine_.machine->chips_differ(launch);
      steps_.push_back({number, std::move(launch), {}});
    }
  }

  /// Tensors that binding a kernel has made on the first chip are on the others too.
  void share_allocations(Diagnostics& problems) {
    const auto& first = memories_.front()->allocations();
    for (std::size_t chip = 1; chip < memories_.size(); ++chip)
      for (std::size_t t = memories_[chip]->allocations().size(); t < first.size(); ++t) {
        const exec::Allocation& a = first[t];
        auto done = memories_[chip]->allocate(a.name, a.dtype, a.shape, a.init);
        if (!done) return problems.append(done.error());
      }
  }

  void bind_collective(std::size_t number, Diagnostics& problems) {
    const CollectiveSpec& spec = *workload_.launches[number].collective;
    CollectiveLaunch launch;
    launch.spec = spec;
    launch.in_bytes = bytes_of(launch.spec.tensor, launch, problems);
    launch.out_bytes = spec.output == spec.tensor ? launch.in_bytes
                                                  : bytes_of(launch.spec.output, launch, problems);
    if (launch.in_bytes > 0 && launch.out_bytes > 0)
      if (auto fits = machine_.machine->accepts_collective(launch); !fits)
        problems.append(fits.error());
    check_room(launch, problems);
    steps_.push_back({number, std::nullopt, std::move(launch)});
  }

  /// What this host would have to hold to move the values of a collective.
  void check_room(const CollectiveLaunch& launch, Diagnostics& problems) const {
    constexpr double kMostBytes = 16e9;
    const double bytes = static_cast<double>(machine_.machine->chips()) *
                         static_cast<double>(launch.in_bytes + launch.out_bytes);
    if (settings_.values && bytes > kMostBytes)
      problems.error(launch.spec.where,
                     fmt::format("the values of {} chips take {:.0f} GB of this host: --values off",
                                 machine_.machine->chips(), bytes * 1e-9));
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
    auto own = on_device(*t, {0, machine_.machine->chips()});
    if (!own) {
      problems.append(own.error());
      return 0;
    }
    std::uint64_t bytes = static_cast<std::uint64_t>(kernel::byte_size(t->dtype));
    for (auto d : own->shape) bytes *= static_cast<std::uint64_t>(d);
    return bytes;
  }

  Expected<void> allocate() {
    const std::uint32_t chips = machine_.machine->chips();
    const std::uint64_t capacity = machine_.machine->peaks().hbm_bytes / chips;
    for (std::uint32_t chip = 0; chip < chips; ++chip) {
      owned_.push_back(std::make_unique<exec::DeviceMemory>(capacity));
      if (auto done = allocate_tensors(workload_, *owned_.back(), {chip, chips}); !done)
        return done;
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
  bool round(bool reported) {
    LaunchOptions options;
    options.values = settings_.values;
    options.clock_hz = settings_.clock_hz;
    options.listing = settings_.listing;
    options.every_chip = every_chip_;
    options.trace = reported ? sink_.get() : nullptr;
    const std::span<exec::DeviceMemory* const> held(memories_);
    for (const Step& step : steps_) {
      const auto start = std::chrono::steady_clock::now();
      options.warm_caches = warm_;
      const double begin = timeline_.begin(step.number);
      options.trace_start_fs = static_cast<std::uint64_t>(begin * 1e6);
      auto done = step.kernel
                      ? machine_.machine->launch_on_all(*step.kernel, held, options)
                      : machine_.machine->collective(
                            step.collective, settings_.values ? held : held.first(0), options);
      if (!done) {
        report_.failure = done.error();
        return false;
      }
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      warm_ = true;
      if (!reported) continue;
      timeline_.end(step.number, begin + done->duration_ns);
      report_.launches.push_back(
          step.kernel ? result_of(*step.kernel, std::move(*done), wall.count(), report_)
                      : collective_result(step.collective, std::move(*done), wall.count()));
      report_.launches.back().start_ns = begin;
      report_.launches.back().label = workload_.launches[step.number].label;
    }
    timeline_.next_round();
    return true;
  }

  static LaunchResult collective_result(const CollectiveLaunch& launch, LaunchReport done,
                                        double wall_s) {
    LaunchResult result;
    result.machine = std::move(done);
    result.host = host_stats(result.machine, wall_s);
    if (result.machine.network && result.machine.network->bound_ns > 0)
      result.bound = {{"link bandwidth", result.machine.network->bound_ns}};
    result.kind = launch.spec.op;
    return result;
  }

  const Workload& workload_;
  const LoadedMachine& machine_;
  const RunSettings& settings_;
  Report report_;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<exec::DeviceMemory>> owned_;
  std::vector<exec::DeviceMemory*> memories_;
  SystemChecker checker_;
  std::unique_ptr<trace::Sink> sink_;
  Timeline timeline_{workload_.launches};
  bool warm_ = false;        ///< something has run: caches keep what it left
  bool every_chip_ = false;  ///< chips differ, in some launch at least, so their caches may
};

}  // namespace

Expected<Report> run_on_system(const Workload& workload, const LoadedMachine& machine,
                               const RunSettings& settings) {
  return SystemRun(workload, machine, settings).run();
}

}  // namespace xpusim::run
