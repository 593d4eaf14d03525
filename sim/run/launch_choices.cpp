#include "sim/run/launch_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/run/launch_parameters.h"

namespace xpusim::run {
namespace {

using config::Node;

bool is_text(const Node& node) { return node.kind == Node::Kind::kScalar && !node.scalar.empty(); }

bool is_map_of_texts(const Node& node) {
  bool fits = node.kind == Node::Kind::kMap && !node.entries.empty();
  for (const auto& [key, value] : node.entries) fits &= is_text(value);
  return fits;
}

std::string joined(const Node& value) {
  if (value.kind == Node::Kind::kScalar) return value.scalar;
  std::string text;
  for (const auto& item : value.items) text += (text.empty() ? "" : "x") + joined(item);
  return text;
}

/// Checks `variants` and `sizes`, collecting every problem.
class Checker {
 public:
  Checker(const Node& file, Workload& workload, Diagnostics& problems)
      : file_(file), workload_(workload), problems_(problems) {
    for (const auto& l : workload.launches)
      for (const auto& [key, value] : l.constexprs) constexprs_.push_back(key);
  }

  void check() {
    const Node* variants = file_.find("variants");
    if (variants && variants->kind == Node::Kind::kMap) {
      for (const auto& [name, node] : variants->entries) by_constexpr(name, node);
    } else if (variants && variants->kind == Node::Kind::kList && !variants->items.empty()) {
      schedules(*variants);
    } else if (variants) {
      problems_.error(variants->origin,
                      "'variants' must be a map, {BLOCK: {256: ir/a}}, or a list of schedules, "
                      "[{kernel: ir/a, BLOCK: 256}]");
    }
    if (const Node* sizes = file_.find("sizes")) check_sizes(*sizes);
  }

 private:
  void by_constexpr(const std::string& name, const Node& node) {
    if (std::find(constexprs_.begin(), constexprs_.end(), name) == constexprs_.end())
      problems_.error(node.key_origin, fmt::format("no launch has a constexpr '{}'{}", name,
                                                   did_you_mean(name, constexprs_)));
    bool fits = node.kind == Node::Kind::kMap;
    for (const auto& [value, kernel] : node.entries) fits &= is_text(kernel);
    if (!fits)
      return problems_.error(
          node.origin, fmt::format("the variants of '{}' are a map from values to kernels", name));
    workload_.variants.insert(name);
    for (const auto& launch : workload_.launches) fits_variant(launch, name, node);
  }

  /// A launch of a variant's kernel has the variant's value.
  void fits_variant(const LaunchSpec& launch, const std::string& name, const Node& variants) {
    const auto kernel = launch.kernel.find("");
    const auto given = launch.constexprs.find(name);
    if (kernel == launch.kernel.end() || given == launch.constexprs.end()) return;
    std::string others;
    for (const auto& [value, text] : variants.entries) {
      if (text.scalar != kernel->second) continue;
      if (value == given->second) return;
      others = value;
    }
    if (!others.empty())
      problems_.error(launch.constexpr_place(name),
                      fmt::format("{} is {} here, but '{}' is the variant for {}", name,
                                  given->second, kernel->second, others));
  }

  void schedules(const Node& list) {
    std::map<std::string, int> names;
    for (const Node& item : list.items) {
      schedule(item);
      if (item.kind == Node::Kind::kMap && names[choice_name(item)]++)
        problems_.error(item.origin, fmt::format("another variant is '{}' too", choice_name(item)));
    }
    const Node* launches = file_.find("launches");
    bool used = false;
    if (launches)
      for (const Node& launch : launches->items) used |= fits_schedule(launch, list);
    if (!used && launches)
      problems_.error(list.origin, "no launch has one of the variants' kernels");
  }

  void schedule(const Node& item) {
    static const std::vector<std::string> kKeys = {"kernel", "name", "num_warps", "num_stages",
                                                   "grid"};
    const Node* kernel = item.find("kernel");
    if (item.kind != Node::Kind::kMap || !kernel || !(is_text(*kernel) || is_map_of_texts(*kernel)))
      return problems_.error(item.origin,
                             "a variant is a map with its kernel: {kernel: ir/a, BLOCK: 256}");
    std::vector<std::string> known = kKeys;
    known.insert(known.end(), constexprs_.begin(), constexprs_.end());
    for (const auto& [key, value] : item.entries) {
      const bool is_own = std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
      if (std::find(known.begin(), known.end(), key) == known.end())
        problems_.error(value.key_origin, fmt::format("no launch has a constexpr '{}'{}", key,
                                                      did_you_mean(key, known)));
      else if (key != "kernel" && key != "grid" && !is_text(value))
        problems_.error(value.origin, fmt::format("'{}' is a number or a text", key));
      if (!is_own) workload_.variants.insert(key);
    }
  }

  /// Whether the launch's kernel is one of the list; if it is, the launch has its values.
  bool fits_schedule(const Node& launch, const Node& list) {
    const Node* kernel = launch.find("kernel");
    const Node* given = launch.find("constexprs");
    const Node* wrong = nullptr;
    std::string key;
    bool listed = false;
    for (const Node& item : list.items) {
      const Node* other = item.find("kernel");
      if (!kernel || !other || !same_kernel(*kernel, *other)) continue;
      listed = true;
      const Node* differs = nullptr;
      for (const auto& [name, value] : item.entries) {
        const Node* mine = given ? given->find(name) : nullptr;
        if (mine && mine->scalar != value.scalar) differs = mine, key = name;
      }
      if (!differs) return true;
      wrong = differs;
    }
    if (wrong)
      problems_.error(wrong->key_origin, fmt::format("{} is {} here, but no variant of this kernel "
                                                     "has that",
                                                     key, wrong->scalar));
    return listed;
  }

  void check_sizes(const Node& sizes) {
    if (sizes.kind != Node::Kind::kList || sizes.items.empty())
      return problems_.error(sizes.origin, "'sizes' is a list of maps: [{n: 1024}, {n: 4096}]");
    std::map<std::string, int> names;
    for (const Node& size : sizes.items) {
      if (size.kind != Node::Kind::kMap || size.entries.empty()) {
        problems_.error(size.origin, "a size is a map of launch parameters: {n: 1024}");
        continue;
      }
      if (names[choice_name(size)]++)
        problems_.error(size.origin, fmt::format("another size is '{}' too", choice_name(size)));
      Node tried = file_;
      Node name;
      name.kind = Node::Kind::kScalar;
      name.scalar = choice_name(size);
      name.origin = name.key_origin = size.origin;
      if (auto done = set_launch_parameter(tried, "sizes", name); !done)
        problems_.append(done.error());
    }
  }

  const Node& file_;
  Workload& workload_;
  Diagnostics& problems_;
  std::vector<std::string> constexprs_;
};

}  // namespace

std::string choice_name(const Node& choice) {
  if (const Node* name = choice.find("name")) return name->scalar;
  std::string text;
  for (const auto& [key, value] : choice.entries) {
    if (key == "kernel" || key.starts_with("tensors.")) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, joined(value));
  }
  if (!text.empty()) return text;
  for (const auto& [key, value] : choice.entries)
    text += fmt::format("{}{}", text.empty() ? "" : " ",
                        key == "kernel" ? joined(value) : key + "=" + joined(value));
  return text;
}

std::vector<std::string> choice_names(const Node* list) {
  std::vector<std::string> names;
  if (list)
    for (const Node& item : list->items) names.push_back(choice_name(item));
  return names;
}

const Node* find_choice(const Node* list, std::string_view name) {
  if (list)
    for (const Node& item : list->items)
      if (choice_name(item) == name) return &item;
  return nullptr;
}

std::string size_path(const std::string& name) {
  const bool is_bare = name.find('.') == std::string::npos && name != "grid";
  return is_bare ? "args." + name : name;
}

bool same_kernel(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.scalar != b.scalar || a.entries.size() != b.entries.size())
    return false;
  for (const auto& [key, value] : a.entries) {
    const Node* other = b.find(key);
    if (!other || !same_kernel(value, *other)) return false;
  }
  return true;
}

void check_choices(const Node& launch_file, Workload& workload, Diagnostics& problems) {
  Checker(launch_file, workload, problems).check();
}

}  // namespace xpusim::run
