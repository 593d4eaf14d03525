#include "sim/run/runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

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

/// "ttgir", "mlir or ttir".
std::string endings(const std::vector<kernel::Form>& forms) {
  std::string out;
  for (auto f : forms) out += (out.empty() ? "" : " or ") + std::string(file_ending(f));
  return out;
}

/// The file of a kernel in whatever form there is, or "".
std::string other_form(const std::string& stem) {
  using kernel::Form;
  for (auto form : {Form::kTtgir, Form::kTtir, Form::kMosaic}) {
    const std::string file = stem + "." + std::string(file_ending(form));
    std::error_code ec;
    if (fs::is_regular_file(file, ec)) return file;
  }
  return "";
}

/// What a launch says its kernel is for a family of machines; null if it has none.
const std::string* kernel_of(const LaunchSpec& spec, const Family& family) {
  auto it = spec.kernel.find(family.name);
  if (it == spec.kernel.end()) it = spec.kernel.find("");
  return it == spec.kernel.end() ? nullptr : &it->second;
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

Expected<config::Node> load_config(const std::string& file,
                                   const std::vector<std::string>& overrides) {
  std::vector<std::string> folders;  // of the machines first, as --on looks for stems
  const fs::path configs = fs::path(home_directory()) / "configs";
  for (const auto& f : families()) folders.push_back((configs / f.name).string());
  for (const char* part : {"memory", "energy", "network"})
    folders.push_back((configs / part).string());
  return config::load(file, overrides, folders);
}

Expected<LoadedMachine> load_machine(const std::string& on,
                                     const std::vector<std::string>& overrides) {
  auto file = find_machine_file(on);
  if (!file) return fail(file.error());
  auto config = load_config(*file, overrides);
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
    problems.error({m.file, 1, 1},
                   "the machine has no family: expected a key 'gpu', 'tpu' or 'system'");
  const config::Node* name = m.config.find("name");
  if (name && (name->kind != config::Node::Kind::kScalar || name->scalar.empty()))
    problems.error(name->origin, "a machine's name is a text");
  if (problems.has_errors()) return fail(problems);
  auto machine = m.family->create(m.config, name ? name->scalar : fs::path(m.file).stem().string());
  if (!machine) return fail(machine.error());
  m.machine = std::move(*machine);
  if (m.family->params) m.parameters = m.family->params(&m.config);
  return m;
}

Expected<std::string> kernel_file(const Workload& w, const LaunchSpec& spec, const Family& family,
                                  const std::string& from) {
  const std::string* kernel = kernel_of(spec, family);
  if (!kernel)
    return fail(spec.kernel_place(),
                fmt::format("this launch has no kernel for the {} machines", family.name));
  auto forms = forms_for(family, from);
  if (!forms) return fail(forms.error());
  const std::string stem = relative_to(w.path, *kernel);
  auto file = find_kernel_file(stem, *forms, spec.kernel_place());
  if (file) return file;
  if (const auto other = other_form(stem); !other.empty())
    return fail(spec.kernel_place(),
                fmt::format("the {} machines take {}, but of '{}' there is {} only", family.name,
                            endings(*forms), stem, other));
  return file;
}

Expected<std::string> kernel_file_of_any_form(const Workload& w, const LaunchSpec& spec,
                                              const Family& family, const std::string& from) {
  const std::string* kernel = kernel_of(spec, family);
  if (!kernel) return "";
  if (auto forms = forms_for(family, from); !forms) return fail(forms.error());
  auto file = kernel_file(w, spec, family, from);
  if (file) return file;
  const std::string other = other_form(relative_to(w.path, *kernel));
  return other.empty() ? file : other;
}

Expected<std::shared_ptr<const kernel::Module>> read_kernel(const Workload& w,
                                                            const LaunchSpec& spec,
                                                            const Family& family,
                                                            const std::string& from) {
  auto file = kernel_file(w, spec, family, from);
  if (!file) return fail(file.error());
  auto module = kernel::read_module_file(*file);
  if (!module) return fail(module.error());
  const auto takes = [&](kernel::Form form) {
    return std::find(family.forms.begin(), family.forms.end(), form) != family.forms.end();
  };
  if (module->form == kernel::Form::kStableHlo && takes(kernel::Form::kTtir))
    return std::make_shared<const kernel::Module>(std::move(*module));  // still to be made kernels
  if (!takes(module->form))
    return fail(spec.kernel_place(), fmt::format("'{}' is {}, which the {} machines do not take",
                                                 *file, kernel::name(module->form), family.name));
  module = compile_kernel(std::move(*module), spec, family);
  if (!module) return fail(module.error());
  return std::make_shared<const kernel::Module>(std::move(*module));
}

Expected<kernel::Module> compile_kernel(kernel::Module module, const LaunchSpec& spec,
                                        const Family& family) {
  if (!family.compile) return module;
  Schedule schedule;
  schedule.num_warps = spec.num_warps.value_or(schedule.num_warps);
  schedule.num_stages = spec.num_stages.value_or(schedule.num_stages);
  return family.compile(std::move(module), schedule);
}

}  // namespace xpusim::run
