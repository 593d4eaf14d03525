#include "sim/run/comparison/comparison_set.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "sim/run/file_parts.h"
#include "sim/run/machine.h"

namespace xpusim::run {
namespace {

using config::Node;

constexpr const char* kSchema = "xpusim.comparison_set/1";

std::string stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

/// Reads the parts of a comparison file, collecting every problem.
class Reader {
 public:
  Reader(const std::string& path, const std::vector<std::string>& families) : keys_{"name"} {
    out_.path = path;
    keys_.insert(keys_.end(), families.begin(), families.end());
  }

  Expected<ComparisonSet> read(const Node& root) {
    if (root.kind != Node::Kind::kMap) return fail(root.origin, "a comparison file is a map");
    check_keys(root, {"schema", "name", "kinds", "values", "caches"}, "a comparison file",
               problems_);
    out_.name = read_head(root, kSchema, out_.path, problems_);
    out_.values = choice(root, "values", "on", "off", true);
    out_.warm_caches = choice(root, "caches", "warm", "cold", false);
    const Node* kinds = root.find("kinds");
    if (!kinds || kinds->kind != Node::Kind::kMap || kinds->entries.empty())
      problems_.error(kinds ? kinds->origin : root.origin,
                      "expected 'kinds:', a map from kinds of work to lists of workloads");
    else
      for (const auto& [name, node] : kinds->entries) kind(name, node);
    if (problems_.has_errors()) return fail(std::move(problems_));
    return std::move(out_);
  }

 private:
  bool choice(const Node& root, const char* key, const char* yes, const char* no, bool otherwise) {
    const Node* node = root.find(key);
    if (!node) return otherwise;
    if (node->scalar != yes && node->scalar != no)
      problems_.error(node->origin, fmt::format("'{}' is '{}' or '{}'", key, yes, no));
    return node->scalar == yes;
  }

  void kind(const std::string& name, const Node& node) {
    if (name.empty()) problems_.error(node.key_origin, "a kind of work needs a name");
    if (node.kind != Node::Kind::kList || node.items.empty())
      return problems_.error(node.origin,
                             fmt::format("'{}' is a list of workloads with at least one", name));
    WorkKind kind{name, {}};
    std::set<std::string> names;
    for (const Node& item : node.items) {
      ComparedWorkload w = workload(item);
      if (!w.name.empty() && !names.insert(w.name).second)
        problems_.error(item.origin,
                        fmt::format("another workload of '{}' is named '{}' too: give it a 'name'",
                                    name, w.name));
      kind.workloads.push_back(std::move(w));
    }
    out_.kinds.push_back(std::move(kind));
  }

  /// `a.yaml`, or `{name: a, gpu: b.yaml, tpu: c.yaml}`.
  ComparedWorkload workload(const Node& node) {
    ComparedWorkload w;
    w.where = node.origin;
    if (is_text(node)) {
      w.files.emplace("", node);
      w.name = stem(node.scalar);
      return w;
    }
    if (node.kind != Node::Kind::kMap || node.entries.empty()) {
      problems_.error(node.origin,
                      "a workload is a launch file, or a map from families of machines to launch "
                      "files, such as {gpu: a.yaml, tpu: b.yaml}");
      return w;
    }
    check_keys(node, keys_, "a workload", problems_);
    for (const auto& [key, value] : node.entries) {
      if (!is_text(value))
        problems_.error(value.origin, fmt::format("'{}' is a text", key));
      else if (key == "name")
        w.name = value.scalar;
      else
        w.files.emplace(key, value);
    }
    if (w.files.empty())
      problems_.error(node.origin, "a workload needs a launch file for a family of machines");
    else if (w.name.empty())
      w.name = stem(w.files.begin()->second.scalar);
    return w;
  }

  ComparisonSet out_;
  std::vector<std::string> keys_;  ///< of a workload
  Diagnostics problems_;
};

/// "4096 f32": a tensor as far as it is the same in all forms, whose names and ranks may differ.
std::string extent(const TensorSpec& t) {
  return fmt::format("{} {}", t.count(), kernel::name(t.dtype));
}

std::multiset<std::string> extents(const Workload& w) {
  std::multiset<std::string> out;
  for (const auto& t : w.tensors) out.insert(extent(t));
  return out;
}

/// The first of `a` that `b` lacks, or "".
std::string missing(const std::multiset<std::string>& a, const std::multiset<std::string>& b) {
  std::vector<std::string> only;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
  return only.empty() ? "" : only.front();
}

void check_same_work(const ComparedWorkload& w, Diagnostics& problems) {
  const auto& [first_family, first] = *w.forms.begin();
  for (const auto& [family, other] : w.forms) {
    const auto a = extents(*first), b = extents(*other);
    if (a == b) continue;
    const std::string in_first = missing(a, b), in_other = missing(b, a);
    problems.error(w.where,
                   fmt::format("'{}' is not the same work in both forms: only '{}' has a tensor of "
                               "{} numbers",
                               w.name, w.files.at(in_first.empty() ? family : first_family).scalar,
                               in_first.empty() ? in_other : in_first));
  }
}

void read_forms(ComparedWorkload& w, const std::string& path, Diagnostics& problems) {
  bool all = true;
  for (const auto& [family, node] : w.files) {
    const std::string file = relative_to(path, node.scalar);
    std::error_code ec;
    if (!std::filesystem::is_regular_file(file, ec)) {
      problems.error(node.origin, fmt::format("cannot read the launch file '{}'", file));
      all = false;
      continue;
    }
    auto workload = load_workload(file);
    if (!workload) {
      problems.append(workload.error());
      all = false;
      continue;
    }
    w.forms.emplace(family, std::make_shared<const Workload>(std::move(*workload)));
  }
  if (all) check_same_work(w, problems);
}

}  // namespace

const Workload* ComparedWorkload::form(const std::string& family) const {
  auto it = forms.find(family);
  if (it == forms.end()) it = forms.find("");
  return it == forms.end() ? nullptr : it->second.get();
}

bool is_comparison_set(const Node& root) {
  const Node* schema = root.kind == Node::Kind::kMap ? root.find("schema") : nullptr;
  return schema && schema->scalar.starts_with("xpusim.comp");
}

Expected<ComparisonSet> parse_comparison_set(const Node& root, const std::string& path,
                                             const std::vector<std::string>& families) {
  return Reader(path, families).read(root);
}

Expected<ComparisonSet> load_comparison_set(const Node& root, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& f : families()) names.push_back(f.name);
  auto set = parse_comparison_set(root, path, names);
  if (!set) return set;
  Diagnostics problems;
  for (auto& kind : set->kinds)
    for (auto& w : kind.workloads) read_forms(w, path, problems);
  if (problems.has_errors()) return fail(std::move(problems));
  return set;
}

ComparisonSet set_of(Workload workload) {
  ComparisonSet set;
  set.name = workload.name;
  set.path = workload.path;
  ComparedWorkload w;
  w.name = workload.name;
  w.forms.emplace("", std::make_shared<const Workload>(std::move(workload)));
  set.kinds.push_back({set.name, {std::move(w)}});
  return set;
}

}  // namespace xpusim::run
