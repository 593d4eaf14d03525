#include "sim/run/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "sim/run/file_parts.h"
#include "sim/run/machine.h"
#include "sim/run/sweep_range.h"

namespace xpusim::run {
namespace {

using config::Node;

constexpr const char* kSchema = "xpusim.sweep/1";
constexpr int kMaxLoop = 1'000'000;

const std::vector<std::string>& launch_parts() {
  static const std::vector<std::string> kParts = {"args",  "constexprs", "grid",
                                                  "sizes", "tensors",    "variants"};
  return kParts;
}

std::string first_part(std::string_view path) {
  return std::string(path.substr(0, path.find('.')));
}

/// Reads the parts of a sweep file, collecting every problem.
class Reader {
 public:
  explicit Reader(const std::string& path) { out_.path = path; }

  Expected<Sweep> read(const Node& root) {
    static const std::vector<std::string> kKeys = {"schema",  "name",     "workload", "workloads",
                                                   "machine", "machines", "set",      "grid",
                                                   "values",  "caches",   "from",     "loop"};
    if (root.kind != Node::Kind::kMap) return fail(root.origin, "a sweep file is a map");
    check_keys(root, kKeys, "a sweep file", problems_);
    out_.name = read_head(root, kSchema, out_.path, problems_);
    names(root, "workload", "workloads", out_.workloads);
    names(root, "machine", "machines", out_.machines);
    fixed(root);
    grid(root);
    settings(root);
    if (problems_.has_errors()) return fail(std::move(problems_));
    check_size();
    if (problems_.has_errors()) return fail(std::move(problems_));
    return std::move(out_);
  }

 private:
  /// `workload: a.yaml`, or `workloads: [a.yaml, b.yaml]`.
  void names(const Node& root, const char* one, const char* many, std::vector<Node>& out) {
    const Node *single = root.find(one), *list = root.find(many);
    if (!single == !list)
      return problems_.error(root.origin,
                             fmt::format("a sweep has either '{}' or '{}'", one, many));
    if (list && (list->kind != Node::Kind::kList || list->items.empty()))
      return problems_.error(list->origin, fmt::format("'{}' is a list with at least one", many));
    out = list ? list->items : std::vector<Node>{*single};
    std::map<std::string, int> seen;
    for (const auto& item : out) {
      if (!is_text(item))
        problems_.error(item.origin, fmt::format("a {} is a text", one));
      else if (seen[item.scalar]++)
        problems_.error(item.origin, fmt::format("'{}' is listed twice", item.scalar));
    }
  }

  void fixed(const Node& root) {
    const Node* set = root.find("set");
    if (!set) return;
    if (set->kind != Node::Kind::kMap) return problems_.error(set->origin, "'set' must be a map");
    for (const auto& [path, node] : set->entries) {
      check_path(path, node.key_origin);
      if (node.kind == Node::Kind::kMap || node.is_null())
        problems_.error(node.origin, fmt::format("'{}' is set to a value or a list", path));
      out_.fixed.emplace_back(path, node);
    }
  }

  void grid(const Node& root) {
    const Node* grid = root.find("grid");
    out_.grid_where = grid ? grid->key_origin : root.origin;
    if (!grid || grid->kind != Node::Kind::kMap || grid->entries.empty())
      return problems_.error(
          grid ? grid->origin : root.origin,
          "the grid is empty: expected 'grid:', a map from parameters to values");
    for (const auto& [key, node] : grid->entries) {
      if (key == "zip")
        zips(node);
      else
        axis({{&key, &node}}, node.key_origin);
    }
  }

  /// `zip: {a: [1, 2], b: [3, 4]}`, or a list of such maps.
  void zips(const Node& node) {
    const bool is_list = node.kind == Node::Kind::kList && !node.items.empty();
    for (const Node& zip : is_list ? node.items : std::vector<Node>{node}) {
      if (zip.kind != Node::Kind::kMap || zip.entries.empty()) {
        problems_.error(zip.origin, "a zip is a map from parameters to lists of one length");
        continue;
      }
      std::vector<std::pair<const std::string*, const Node*>> members;
      for (const auto& [key, value] : zip.entries) members.emplace_back(&key, &value);
      axis(members, zip.origin);
    }
  }

  void axis(const std::vector<std::pair<const std::string*, const Node*>>& members,
            const SourcePosition& where) {
    SweepAxis axis;
    bool fits = true;
    for (const auto& [path, node] : members) {
      check_path(*path, node->key_origin);
      auto list = values(*path, *node);
      if (list.empty()) {
        fits = false;
        continue;
      }
      if (axis.steps.empty()) axis.steps.resize(list.size());
      if (axis.steps.size() != list.size()) {
        problems_.error(node->key_origin,
                        fmt::format("'{}' has {} values, but '{}' in this zip has {}", *path,
                                    list.size(), *members.front().first, axis.steps.size()));
        fits = false;
        continue;
      }
      for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].key_origin = node->key_origin;
        axis.steps[i].emplace_back(*path, std::move(list[i]));
      }
    }
    if (fits && axis.steps.empty()) problems_.error(where, "the grid is empty here");
    out_.axes.push_back(std::move(axis));
  }

  /// A list, a range, or one value; empty after a complaint.
  std::vector<Node> values(const std::string& path, const Node& node) {
    if (node.kind == Node::Kind::kMap) {
      auto range = expand_range(node);
      if (range) return std::move(*range);
      problems_.append(range.error());
      return {};
    }
    std::vector<Node> list = node.kind == Node::Kind::kList ? node.items : std::vector<Node>{node};
    if (list.empty())
      problems_.error(node.origin, fmt::format("the grid is empty: '{}' has no values", path));
    for (const Node& v : list) {
      if (v.kind != Node::Kind::kMap && !v.is_null()) continue;
      problems_.error(v.origin, fmt::format("a value of '{}' is a number, a text or a list", path));
      return {};
    }
    return list;
  }

  /// The first part of a path must be known, and no path may be given twice.
  void check_path(const std::string& path, const SourcePosition& where) {
    if (auto [it, is_new] = seen_.emplace(path, where); !is_new)
      problems_.error(where, fmt::format("'{}' is also at {}", path, it->second.str()));
    std::vector<std::string> known = launch_parts();
    known.push_back("cost");
    for (const auto& f : families()) known.push_back(f.name);
    const std::string first = first_part(path);
    if (!families().empty() && std::find(known.begin(), known.end(), first) == known.end())
      problems_.error(where, fmt::format("no parameter '{}': a path begins with {}{}", path,
                                         fmt::join(known, ", "), did_you_mean(first, known)));
  }

  void settings(const Node& root) {
    out_.values = choice(root, "values", "on", "off");
    out_.warm_caches = choice(root, "caches", "warm", "cold", false);
    if (const Node* from = root.find("from")) {
      if (!is_text(*from)) problems_.error(from->origin, "'from' is ttir, ttgir or mlir");
      out_.from = from->scalar;
      out_.from_where = from->origin;
    }
    if (const Node* loop = root.find("loop")) {
      const char* last = loop->scalar.data() + loop->scalar.size();
      auto [end, ec] = std::from_chars(loop->scalar.data(), last, out_.loop);
      if (ec != std::errc() || end != last || out_.loop < 1 || out_.loop > kMaxLoop)
        problems_.error(loop->origin, fmt::format("'loop' is a whole number, 1 to {}", kMaxLoop));
    }
  }

  bool choice(const Node& root, const char* key, const char* yes, const char* no,
              bool otherwise = true) {
    const Node* node = root.find(key);
    if (!node) return otherwise;
    if (node->scalar != yes && node->scalar != no)
      problems_.error(node->origin, fmt::format("'{}' is '{}' or '{}'", key, yes, no));
    return node->scalar == yes;
  }

  void check_size() {
    double points = static_cast<double>(out_.workloads.size() * out_.machines.size());
    for (const auto& axis : out_.axes) points *= static_cast<double>(axis.steps.size());
    if (points > static_cast<double>(kMaxSweepPoints))
      problems_.error(out_.grid_where,
                      fmt::format("a grid of {:.6g} points: at most {}", points, kMaxSweepPoints));
  }

  Sweep out_;
  std::map<std::string, SourcePosition> seen_;
  Diagnostics problems_;
};

}  // namespace

bool is_launch_parameter(std::string_view path) {
  const auto& parts = launch_parts();
  return std::find(parts.begin(), parts.end(), first_part(path)) != parts.end();
}

std::size_t Sweep::size() const {
  std::size_t n = workloads.size() * machines.size();
  for (const auto& axis : axes) n *= axis.steps.size();
  return n;
}

SweepPoint Sweep::point(std::size_t index) const {
  SweepPoint p;
  std::vector<const std::vector<Setting>*> steps(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    steps[a] = &axes[a].steps[index % axes[a].steps.size()];
    index /= axes[a].steps.size();
  }
  p.machine = index % machines.size();
  p.workload = index / machines.size();
  for (const auto* step : steps) p.settings.insert(p.settings.end(), step->begin(), step->end());
  return p;
}

std::vector<std::string> Sweep::parameters() const {
  std::vector<std::string> paths;
  for (const auto& axis : axes)
    for (const auto& setting : axis.steps.front()) paths.push_back(setting.first);
  return paths;
}

Expected<Sweep> parse_sweep(const Node& root, const std::string& path) {
  return Reader(path).read(root);
}

Expected<Sweep> load_sweep(const std::string& path) {
  auto root = config::read_yaml_file(path);
  if (!root) return fail(root.error());
  return parse_sweep(*root, path);
}

}  // namespace xpusim::run
