#include "sim/run/runner.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/run/bind.h"

namespace xpusim::run {
namespace fs = std::filesystem;
namespace {

bool is_home(const fs::path& p) {
  std::error_code ec;
  return fs::is_directory(p / "configs", ec) && fs::is_directory(p / "workloads", ec);
}

std::string search_upwards(fs::path p) {
  for (; !p.empty(); p = p.parent_path()) {
    if (is_home(p)) return p.string();
    if (p == p.root_path()) break;
  }
  return "";
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::optional<ExpectedError> load_expected_error(const std::string& machine) {
  const std::string relative = "traces/correlation/" + machine + ".json";
  std::ifstream in(fs::path(home_directory()) / relative);
  if (!in) return std::nullopt;
  const auto j = nlohmann::json::parse(in, nullptr, false);
  if (!j.is_object() || !j.contains("summary")) return std::nullopt;
  const auto& s = j["summary"];
  ExpectedError e;
  e.mean_abs_pct = s.value("mean_abs_error_pct", 0.0);
  e.worst_abs_pct = s.value("worst_abs_error_pct", 0.0);
  e.cases = s.value("counted", 0);
  e.source = relative;
  return e;
}

/// The forms in which a launch's kernel may come, the wanted one first.
Expected<std::vector<kernel::Form>> forms_for(const Family& family, const std::string& from) {
  if (from.empty()) return family.forms;
  std::vector<kernel::Form> forms;
  for (auto f : family.forms)
    if (file_ending(f) == from) forms.push_back(f);
  if (forms.empty())
    return fail({"--from", 0, 0}, fmt::format("the {} machines do not take {}", family.name, from));
  return forms;
}

/// Reads the kernel of a launch for a family.
Expected<std::shared_ptr<const kernel::Module>> read_kernel(const Workload& w,
                                                            const LaunchSpec& spec,
                                                            const Family& family,
                                                            const std::string& from) {
  auto file = kernel_file(w, spec, family, from);
  if (!file) return fail(file.error());
  auto module = kernel::read_module_file(*file);
  if (!module) return fail(module.error());
  if (std::find(family.forms.begin(), family.forms.end(), module->form) == family.forms.end())
    return fail(spec.kernel_place(), fmt::format("'{}' is {}, which the {} machines do not take",
                                                 *file, kernel::name(module->form), family.name));
  return std::make_shared<const kernel::Module>(std::move(*module));
}

std::map<std::string, double> bound_of(const LaunchReport& report, const Peaks& peaks) {
  for (const auto& f : families())
    if (f.bound) return f.bound(report, peaks);
  return {};
}

}  // namespace

std::string home_directory() {
  if (const char* home = std::getenv("XPUSIM_HOME"); home && is_home(home)) return home;
  std::error_code ec;
  const auto self = fs::read_symlink("/proc/self/exe", ec);
  if (auto found = search_upwards(self.parent_path()); !found.empty()) return found;
  return search_upwards(fs::current_path(ec));
}

std::vector<std::string> machine_names() {
  std::vector<std::string> stems;
  const fs::path configs = fs::path(home_directory()) / "configs";
  for (const auto& f : families()) {
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(configs / f.name, ec))
      if (entry.path().extension() == ".yaml") stems.push_back(entry.path().stem().string());
  }
  std::sort(stems.begin(), stems.end());
  return stems;
}

Expected<std::string> find_machine_file(const std::string& on) {
  std::error_code ec;
  if (on.find('/') != std::string::npos || fs::path(on).extension() == ".yaml") {
    if (fs::is_regular_file(on, ec)) return on;
    return fail({on, 0, 0}, "cannot read this file");
  }
  const std::string home = home_directory();
  if (home.empty())
    return fail(
        {"--on", 0, 0},
        fmt::format("cannot find the project's folder 'configs' for '{}': set XPUSIM_HOME to "
                    "the folder that holds it, or give a path",
                    on));
  for (const auto& f : families()) {
    const fs::path file = fs::path(home) / "configs" / f.name / (on + ".yaml");
    if (fs::is_regular_file(file, ec)) return file.string();
  }
  return fail({"--on", 0, 0},
              fmt::format("no machine '{}' in configs/{}", on, did_you_mean(on, machine_names())));
}

Expected<LoadedMachine> load_machine(const std::string& on,
                                     const std::vector<std::string>& overrides) {
  auto file = find_machine_file(on);
  if (!file) return fail(file.error());
  auto config = config::load(*file, overrides);
  if (!config) return fail(config.error());
  return make_machine(std::move(*config), *file);
}

Expected<LoadedMachine> make_machine(config::Node config, const std::string& file) {
  LoadedMachine m;
  m.file = file;
  m.config = std::move(config);
  Diagnostics problems;
  std::vector<std::string> known = {"schema", "name", "cost"};
  for (const auto& f : families()) known.push_back(f.name);
  for (const auto& [key, node] : m.config.entries) {
    const Family* f = find_family(key);
    if (f && m.family)
      problems.error(node.key_origin, fmt::format("both '{}' and '{}': a machine has one family",
                                                  key, m.family->name));
    else if (f)
      m.family = f;
    if (std::find(known.begin(), known.end(), key) == known.end())
      problems.error(node.key_origin,
                     fmt::format("unknown key '{}' in a machine{}", key, did_you_mean(key, known)));
  }
  const config::Node* schema = m.config.find("schema");
  if (!schema || schema->scalar != "xpusim.machine/1")
    problems.error(schema ? schema->origin : SourcePosition{m.file, 1, 1},
                   "expected 'schema: xpusim.machine/1'");
  if (!m.family)
    problems.error({m.file, 1, 1}, "the machine has no family: expected a key 'gpu' or 'tpu'");
  const config::Node* name = m.config.find("name");
  if (name && (name->kind != config::Node::Kind::kScalar || name->scalar.empty()))
    problems.error(name->origin, "a machine's name is a text");
  if (problems.has_errors()) return fail(problems);
  auto machine = m.family->create(m.config, name ? name->scalar : fs::path(m.file).stem().string());
  if (!machine) return fail(machine.error());
  m.machine = std::move(*machine);
  return m;
}

Expected<std::string> kernel_file(const Workload& w, const LaunchSpec& spec, const Family& family,
                                  const std::string& from) {
  auto it = spec.kernel.find(family.name);
  if (it == spec.kernel.end()) it = spec.kernel.find("");
  if (it == spec.kernel.end())
    return fail(spec.kernel_place(),
                fmt::format("this launch has no kernel for the {} machines", family.name));
  auto forms = forms_for(family, from);
  if (!forms) return fail(forms.error());
  return find_kernel_file(relative_to(w.path, it->second), *forms, spec.kernel_place());
}

Expected<Report> run_workload(const Workload& workload, const RunSettings& settings) {
  auto loaded = load_machine(settings.machine, settings.overrides);
  if (!loaded) return fail(loaded.error());
  return run_workload(workload, *loaded, settings);
}

Expected<Report> run_workload(const Workload& workload, const LoadedMachine& loaded,
                              const RunSettings& settings) {
  Report report;
  report.workload = workload.name;
  report.machine = loaded.machine->name();
  report.machine_file = loaded.file;
  report.config = loaded.config;
  report.peaks = loaded.machine->peaks();
  report.expected_error = load_expected_error(report.machine);

  exec::DeviceMemory memory(report.peaks.hbm_bytes ? report.peaks.hbm_bytes
                                                   : std::uint64_t{1} << 40);
  if (auto done = allocate_tensors(workload, memory); !done) return fail(done.error());
  Checker checker;
  report.checked = settings.values && !workload.expect.empty();
  if (report.checked)
    if (auto done = checker.prepare(workload, memory); !done) return fail(done.error());

  LaunchOptions options;
  options.values = settings.values;
  options.clock_hz = settings.clock_hz;
  std::unique_ptr<trace::Sink> sink;
  if (!settings.trace.empty()) {
    auto opened = trace::open_sink(settings.trace);
    if (!opened) return fail(opened.error());
    sink = std::move(*opened);
    options.trace = sink.get();
  }
  // Everything is read and bound before anything runs, so that every problem is found first.
  std::vector<exec::Launch> launches;
  Diagnostics problems;
  for (const auto& spec : workload.launches) {
    auto module = read_kernel(workload, spec, *loaded.family, settings.from);
    if (!module) {
      problems.append(module.error());
      continue;
    }
    auto launch =
        bind_launch(spec, *module, memory, (*module)->kernel() ? (*module)->kernel()->name : "");
    if (!launch) {
      problems.append(launch.error());
      continue;
    }
    for (const auto& op : loaded.machine->unsupported(**module))
      problems.error({(*module)->file, 0, 0},
                     fmt::format("{} cannot run this kernel: {}", report.machine, op));
    launches.push_back(std::move(*launch));
  }
  if (problems.has_errors()) return fail(problems);

  for (int i = 0; i < settings.loop; ++i) {
    for (const auto& launch : launches) {
      LaunchResult result;
      options.warm_caches = settings.warm_caches || i > 0;
      const auto start = std::chrono::steady_clock::now();
      auto r = loaded.machine->launch(launch, memory, options);
      if (!r) {
        report.failure = r.error();
        return report;
      }
      result.machine = std::move(*r);
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      result.host.wall_s = wall.count();
      result.host.cycles_per_s = static_cast<double>(result.machine.cycles) / wall.count();
      result.host.instructions_per_s =
          static_cast<double>(result.machine.simulated_instructions) / wall.count();
      result.host.peak_rss_mb = peak_rss_mb();
      options.trace_start_fs += static_cast<std::uint64_t>(result.machine.duration_ns * 1e6);
      result.bound = bound_of(result.machine, report.peaks);
      result.bottlenecks = find_bottlenecks(result.machine, 3);
      report.launches.push_back(std::move(result));
    }
  }
  if (sink)
    if (auto done = sink->finish(); !done) return fail(done.error());
  if (report.checked) report.checks = checker.compare(memory);
  return report;
}

}  // namespace xpusim::run
