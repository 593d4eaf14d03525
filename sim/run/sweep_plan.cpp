#include "sim/run/sweep_plan.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "sim/config/set_value.h"
#include "sim/run/digest.h"
#include "sim/run/launch_parameters.h"
#include "sim/run/runner.h"
#include "sim/run/tool.h"

namespace xpusim::run {
namespace {

using config::Node;

constexpr std::size_t kMostProblems = 20;  // a grid repeats one mistake over and over

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Digests of files, each read once.
class FileDigests {
 public:
  const std::string& of(const std::string& path) {
    auto [it, is_new] = known_.emplace(path, "");
    if (is_new) {
      Digest d;
      d.add(content_of(path));
      it->second = d.hex();
    }
    return it->second;
  }

 private:
  std::map<std::string, std::string> known_;
};

/// "16", "1.6 GHz", "[1024, 64]".
std::string text_of(const Node& node) {
  if (node.kind == Node::Kind::kScalar) return node.scalar;
  std::string text = "[";
  for (std::size_t i = 0; i < node.items.size(); ++i)
    text += (i > 0 ? ", " : "") + text_of(node.items[i]);
  return text + "]";
}

/// Problems of a file that the sweep names but that say no place in it.
Diagnostics placed_at(const SourcePosition& where, const Diagnostics& problems) {
  Diagnostics out;
  for (Diagnostic d : problems.list()) {
    if (d.where.line == 0) {
      const bool is_file = !d.where.file.empty() && !d.where.file.starts_with("--");
      if (is_file) d.message = fmt::format("{}: {}", d.where.file, d.message);
      d.where = where;
    }
    out.add(std::move(d));
  }
  return out;
}

/// A launch file without what a run does not look at: what there is to choose from, and, without
/// values, what they should be.
Node what_runs(Node launch_file, bool values) {
  std::erase_if(launch_file.entries, [&](const auto& entry) {
    return entry.first == "variants" || entry.first == "sizes" ||
           (entry.first == "expect" && !values);
  });
  return launch_file;
}

/// A name of the sweep file as a path: stems stay as they are.
std::string resolved(const std::string& sweep_file, const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".yaml");
  return is_path ? relative_to(sweep_file, name) : name;
}

/// Of the kernels and data files of a workload.
Expected<std::string> texts_digest(const Workload& workload, const Family& family,
                                   const std::string& from, FileDigests& files) {
  Digest digest;
  Diagnostics problems;
  for (const auto& launch : workload.launches) {
    if (launch.collective) continue;
    auto file = kernel_file(workload, launch, family, from);
    if (file)
      digest.add(files.of(*file));
    else
      problems.append(file.error());
  }
  if (problems.has_errors()) return fail(std::move(problems));
  for (const auto& tensor : workload.tensors)
    if (tensor.init.data)
      digest.add(
          {reinterpret_cast<const char*>(tensor.init.data->data()), tensor.init.data->size()});
  return digest.hex();
}

}  // namespace

Expected<SweepPlan> SweepPlan::make(Sweep sweep) {
  SweepPlan plan(std::move(sweep));
  if (auto done = plan.read_files(); !done) return fail(done.error());
  if (auto done = plan.check_points(); !done) return fail(done.error());
  if (auto done = plan.check_names(); !done) return fail(done.error());
  return plan;
}

Expected<void> SweepPlan::read_files() {
  Diagnostics problems;
  for (const Node& item : sweep_.machines) {
    auto file = find_machine_file(resolved(sweep_.path, item.scalar));
    auto config = file ? load_config(*file, sweep_.overrides) : Expected<Node>(fail(file.error()));
    if (config)
      machines_.push_back({*file, std::move(*config)});
    else
      problems.append(placed_at(item.origin, config.error()));
  }
  for (const Node& item : sweep_.workloads) {
    const std::string path = relative_to(sweep_.path, item.scalar);
    auto root = config::read_yaml_file(path);
    if (root)
      launch_files_.push_back({path, std::move(*root)});
    else
      problems.append(placed_at(item.origin, root.error()));
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

/// Rows are told apart by these names.
Expected<void> SweepPlan::check_names() const {
  std::map<std::string, std::size_t> workload_of, machine_of;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const SweepPoint p = sweep_.point(i);
    const auto clash = [](auto& known, const std::string& name, std::size_t index) {
      return known.emplace(name, index).first->second != index;
    };
    if (clash(workload_of, points_[i].workload, p.workload))
      return fail(sweep_.workloads[p.workload].origin,
                  fmt::format("another workload is named '{}' too", points_[i].workload));
    if (clash(machine_of, points_[i].machine, p.machine))
      return fail(sweep_.machines[p.machine].origin,
                  fmt::format("another machine is named '{}' too", points_[i].machine));
  }
  return {};
}

RunSettings SweepPlan::settings() const {
  RunSettings s;
  s.values = sweep_.values;
  s.warm_caches = sweep_.warm_caches;
  s.from = sweep_.from;
  s.loop = sweep_.loop;
  s.clock_hz = sweep_.clock_hz;
  return s;
}

Expected<SweepPlan::Ready> SweepPlan::ready(const SweepPoint& point, std::string* content) const {
  const MachineFile& machine_file = machines_[point.machine];
  const LaunchFile& launch_file = launch_files_[point.workload];
  Node config = machine_file.config, launch = launch_file.root;
  Diagnostics problems;
  const auto apply = [&](const std::vector<Setting>& settings) {
    for (const auto& [path, value] : settings) {
      auto done = is_launch_parameter(path) ? set_launch_parameter(launch, path, value)
                                            : config::set_value(config, path, value);
      if (!done) problems.append(done.error());
    }
  };
  apply(sweep_.fixed);
  apply(point.settings);
  if (problems.has_errors()) return fail(std::move(problems));
  if (content)
    *content = config::to_yaml(config) + '\0' + config::to_yaml(what_runs(launch, sweep_.values));
  auto machine = make_machine(std::move(config), machine_file.path);
  if (!machine) problems.append(machine.error());
  auto workload = parse_workload(launch, launch_file.path);
  if (!workload) problems.append(workload.error());
  if (problems.has_errors()) return fail(std::move(problems));
  return Ready{std::move(*machine), std::move(*workload)};
}

Expected<SweepPlan::Ready> SweepPlan::ready(std::size_t index) const {
  return ready(sweep_.point(index), nullptr);
}

Expected<void> SweepPlan::check_points() {
  FileDigests files;
  Diagnostics problems;
  std::set<std::string> said;
  std::map<std::string, std::size_t> seen;
  const auto say = [&](const Diagnostics& list) {
    for (const auto& d : list.list())
      if (said.insert(d.str()).second) problems.add(d);
  };
  const std::string run =
      fmt::format("{}\n{}\n{} {} {} {} {}", kTool, files.of("/proc/self/exe"), sweep_.values,
                  sweep_.warm_caches, sweep_.loop, sweep_.from, sweep_.clock_hz.value_or(0));
  for (std::size_t i = 0; i < sweep_.size() && said.size() < kMostProblems; ++i) {
    const SweepPoint point = sweep_.point(i);
    std::string content;
    auto made = ready(point, &content);
    if (!made) {
      say(made.error());
      continue;
    }
    auto texts = texts_digest(made->workload, made->machine.runs_kernels(), sweep_.from, files);
    if (!texts) {
      say(placed_at(sweep_.from_where, texts.error()));
      continue;
    }
    Digest digest;
    for (const std::string& piece : {run, content, *texts}) digest.add(piece);
    PlannedPoint p{digest.hex(), made->workload.name, made->machine.machine->name(), {}};
    for (const auto& [path, value] : point.settings) p.values.push_back(text_of(value));
    if (auto [it, is_new] = seen.emplace(p.id, i); !is_new)
      problems.error(sweep_.grid_where, fmt::format("points {} and {} of the grid are the same",
                                                    it->second + 1, i + 1));
    points_.push_back(std::move(p));
    if (problems.list().size() >= kMostProblems) break;
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

}  // namespace xpusim::run
