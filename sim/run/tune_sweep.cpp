// From a launch file's variants and sizes to a sweep.

#include <fmt/format.h>

#include <filesystem>

#include "sim/run/launch_choices.h"
#include "sim/run/tune.h"

namespace xpusim::run {
namespace {

using config::Node;

const SourcePosition kSizeOption{"--size", 0, 0};

Node text_node(const std::string& text, const SourcePosition& where) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = text;
  node.origin = node.key_origin = where;
  return node;
}

Node list_node(const std::vector<std::string>& texts, const SourcePosition& where) {
  Node node;
  node.kind = Node::Kind::kList;
  node.origin = node.key_origin = where;
  for (const auto& text : texts) node.items.push_back(text_node(text, where));
  return node;
}

void place(Node& node, const SourcePosition& where) {
  node.origin = node.key_origin = where;
  for (Node& item : node.items) place(item, where);
  for (auto& [key, value] : node.entries) place(value, where);
}

/// Pieces between spaces that no bracket holds.
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  int depth = 0;
  bool inside = false;
  for (char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    const bool ends = (c == ' ' || c == '\t') && depth <= 0;
    if (!ends && !inside) out.emplace_back();
    if (!ends) out.back() += c;
    inside = !ends;
  }
  return out;
}

/// "n=1024,4096" as a path and its values: a list, or a range {from: 1024, to: 4096, factor: 2}.
Expected<Setting> read_parameter(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(kSizeOption, fmt::format("'{}' is not of the form n=1024,4096", text));
  const std::string list = text.substr(equals + 1);
  auto values = config::read_yaml(list.starts_with('{') ? list : "[" + list + "]", "--size");
  if (!values)
    return fail(kSizeOption, fmt::format("'{}': {}", text, values.error().list().front().message));
  place(*values, kSizeOption);
  const std::string path = size_path(text.substr(0, equals));
  if (path.starts_with("variants") || path.starts_with("sizes"))
    return fail(kSizeOption, fmt::format("'{}' is no parameter of a size", path));
  return Setting(path, std::move(*values));
}

/// The grid of a sweep over sizes and schedules.
class Grid {
 public:
  explicit Grid(const Node& launch_file) : file_(launch_file) {
    grid_.kind = Node::Kind::kMap;
    zips_.kind = Node::Kind::kList;
  }

  Expected<Node> make(const std::vector<std::string>& sizes) {
    const Node* own = file_.find("sizes");
    if (sizes.empty() && own) add("sizes", list_node(choice_names(own), own->origin));
    Diagnostics problems;
    for (const auto& text : sizes)
      if (auto done = size(text); !done) problems.append(done.error());
    if (problems.has_errors()) return fail(std::move(problems));
    if (!zips_.items.empty()) add("zip", std::move(zips_));
    if (auto done = variants(); !done) return fail(done.error());
    return std::move(grid_);
  }

 private:
  void add(const std::string& key, Node value) {
    grid_.origin = grid_.key_origin = value.origin;
    grid_.entries.emplace_back(key, std::move(value));
  }

  Expected<void> size(const std::string& text) {
    const auto pieces = words(text);
    if (pieces.empty()) return fail(kSizeOption, "is empty");
    Node zip;
    for (const auto& piece : pieces) {
      auto parameter = read_parameter(piece);
      if (!parameter) return fail(parameter.error());
      if (pieces.size() == 1)
        return add(parameter->first, std::move(parameter->second)), Expected<void>();
      zip.entries.emplace_back(parameter->first, std::move(parameter->second));
    }
    zip.kind = Node::Kind::kMap;
    zip.origin = zip.key_origin = kSizeOption;
    zips_.items.push_back(std::move(zip));
    zips_.origin = zips_.key_origin = kSizeOption;
    return {};
  }

  Expected<void> variants() {
    const Node* variants = file_.find("variants");
    if (!variants)
      return fail(file_.origin,
                  "this launch file has no 'variants', so there is nothing to choose from");
    if (variants->kind == Node::Kind::kList)
      return add("variants", list_node(choice_names(variants), variants->key_origin)),
             Expected<void>();
    for (const auto& [name, kernels] : variants->entries) {
      std::vector<std::string> values;
      for (const auto& [value, kernel] : kernels.entries) values.push_back(value);
      add("variants." + name, list_node(values, kernels.key_origin));
    }
    return {};
  }

  const Node& file_;
  Node grid_, zips_;
};

}  // namespace

Expected<Sweep> tuning_sweep(const TuneSettings& settings) {
  auto file = config::read_yaml_file(settings.workload);
  if (!file) return fail(file.error());
  auto workload = parse_workload(*file, settings.workload);
  if (!workload) return fail(workload.error());
  auto grid = Grid(*file).make(settings.sizes);
  if (!grid) return fail(grid.error());
  const SourcePosition on{"--on", 0, 0};
  const SourcePosition here{settings.workload, 0, 0};
  Node root;
  root.kind = Node::Kind::kMap;
  root.origin = {settings.workload, 1, 1};
  root.entries = {{"schema", text_node("xpusim.sweep/1", here)},
                  {"name", text_node(workload->name, here)},
                  {"workload", text_node(settings.workload, here)},
                  {"machines", list_node(settings.machines, on)},
                  {"grid", std::move(*grid)}};
  auto sweep = parse_sweep(root, "");
  if (!sweep) return fail(sweep.error());
  sweep->values = settings.values;
  sweep->warm_caches = settings.warm_caches;
  sweep->overrides = settings.overrides;
  sweep->clock_hz = settings.clock_hz;
  sweep->from = settings.from;
  sweep->from_where = {"--from", 0, 0};
  sweep->loop = settings.loop;
  return sweep;
}

}  // namespace xpusim::run
