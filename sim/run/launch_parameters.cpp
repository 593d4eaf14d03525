#include "sim/run/launch_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/run/launch_choices.h"

namespace xpusim::run {
namespace {

using config::Node;

Node* find(Node& map, std::string_view key) {
  return const_cast<Node*>(std::as_const(map).find(key));
}

void put(Node& map, std::string_view key, const Node& value) {
  if (Node* there = find(map, key))
    *there = value;
  else
    map.entries.emplace_back(std::string(key), value);
}

std::vector<std::string> keys_of(const Node* map) {
  std::vector<std::string> keys;
  if (map)
    for (const auto& [key, value] : map->entries) keys.push_back(key);
  return keys;
}

/// The launches of a file; none if it has no such list, which the launch file's reader says.
std::vector<Node>& launches_of(Node& file) {
  static std::vector<Node> none;
  Node* list = find(file, "launches");
  return list ? list->items : (none.clear(), none);
}

/// Sets `args` or `constexprs` of every launch that has this name.
Expected<void> set_in_launches(Node& file, const std::string& part, const std::string& name,
                               const Node& value) {
  bool found = false;
  std::vector<std::string> known;
  for (Node& launch : launches_of(file)) {
    Node* map = find(launch, part);
    for (const auto& key : keys_of(map)) known.push_back(key);
    if (!map || !map->find(name)) continue;
    put(*map, name, value);
    found = true;
  }
  if (found) return {};
  return fail(value.key_origin,
              fmt::format("no launch has '{}' in its {}{}", name, part, did_you_mean(name, known)));
}

Expected<void> set_variant(Node& file, const std::string& name, const Node& value) {
  const Node* all = file.find("variants");
  if (all && all->kind == Node::Kind::kList)
    return fail(value.key_origin, "the launch file's variants are a list: write 'variants'");
  const Node* variants = all ? all->find(name) : nullptr;
  if (!variants)
    return fail(value.key_origin, fmt::format("the launch file has no variants of '{}'{}", name,
                                              did_you_mean(name, keys_of(all))));
  const Node* kernel = variants->find(value.scalar);
  if (!kernel)
    return fail(value.origin, fmt::format("no variant '{}' of '{}': there are {}", value.scalar,
                                          name, fmt::join(keys_of(variants), ", ")));
  const Node chosen = *kernel;
  for (Node& launch : launches_of(file)) {
    Node* constexprs = find(launch, "constexprs");
    if (!constexprs || !constexprs->find(name)) continue;
    put(*constexprs, name, value);
    put(launch, "kernel", chosen);
  }
  return {};
}

/// Whether a list of schedules sets this constexpr.
bool is_of_schedules(const Node& list, std::string_view name) {
  return std::any_of(list.items.begin(), list.items.end(),
                     [&](const Node& item) { return item.find(name) != nullptr; });
}

/// A whole schedule, in every launch whose kernel is one of the list's.
Expected<void> set_schedule(Node& file, const Node& value) {
  const Node* found = file.find("variants");
  if (!found || found->kind != Node::Kind::kList)
    return fail(value.key_origin,
                found ? "the launch file's variants are by constexpr: write 'variants.NAME'"
                      : "the launch file has no variants");
  const Node list = *found;
  const Node* schedule = find_choice(&list, value.scalar);
  if (!schedule)
    return fail(value.origin, fmt::format("no variant '{}'{}: there are {}", value.scalar,
                                          did_you_mean(value.scalar, choice_names(&list)),
                                          fmt::join(choice_names(&list), ", ")));
  const auto listed = [&](const Node& kernel) {
    return std::any_of(list.items.begin(), list.items.end(), [&](const Node& item) {
      const Node* other = item.find("kernel");
      return other && same_kernel(*other, kernel);
    });
  };
  for (Node& launch : launches_of(file)) {
    const Node* kernel = launch.find("kernel");
    if (!kernel || !listed(*kernel)) continue;
    for (const auto& [key, part] : schedule->entries) {
      if (key == "name") continue;
      if (key == "kernel" || key == "grid" || key == "num_warps" || key == "num_stages") {
        put(launch, key, part);
        continue;
      }
      if (!launch.find("constexprs")) put(launch, "constexprs", Node());
      put(*find(launch, "constexprs"), key, part);
    }
  }
  return {};
}

/// All parameters of a size.
Expected<void> set_size(Node& file, const Node& value) {
  const Node* sizes = file.find("sizes");
  const Node* found = find_choice(sizes, value.scalar);
  if (!found)
    return fail(value.origin, sizes ? fmt::format("no size '{}'{}: there are {}", value.scalar,
                                                  did_you_mean(value.scalar, choice_names(sizes)),
                                                  fmt::join(choice_names(sizes), ", "))
                                    : std::string("the launch file has no sizes"));
  Diagnostics problems;
  const Node size = *found;
  for (const auto& [name, part] : size.entries) {
    if (name == "name") continue;
    const std::string path = size_path(name);
    if (path.starts_with("variants") || path.starts_with("sizes"))
      problems.error(part.key_origin, fmt::format("a size does not set '{}'", name));
    else if (auto done = set_launch_parameter(file, path, part); !done)
      problems.append(done.error());
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

Expected<void> set_tensor(Node& file, const std::string& rest, const Node& value) {
  static const std::vector<std::string> kKeys = {"shape", "init", "seed", "dtype"};
  const std::string name = rest.substr(0, rest.find('.'));
  const std::string key = name.size() < rest.size() ? rest.substr(name.size() + 1) : "";
  Node* tensors = find(file, "tensors");
  Node* tensor = tensors ? find(*tensors, name) : nullptr;
  if (!tensor)
    return fail(value.key_origin,
                fmt::format("no tensor '{}'{}", name, did_you_mean(name, keys_of(tensors))));
  if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
    return fail(value.key_origin, fmt::format("a tensor's parameters are {}{}",
                                              fmt::join(kKeys, ", "), did_you_mean(key, kKeys)));
  put(*tensor, key, value);
  return {};
}

}  // namespace

Expected<void> set_launch_parameter(Node& file, std::string_view path, const Node& value) {
  const std::string part(path.substr(0, path.find('.')));
  const std::string rest(part.size() < path.size() ? path.substr(part.size() + 1) : "");
  if (part == "grid") {
    if (!rest.empty())
      return fail(value.key_origin, "'grid' is set as a whole: grid: [[64, 2], [32, 4]]");
    for (Node& launch : launches_of(file)) put(launch, "grid", value);
    return {};
  }
  if (path == "num_warps" || path == "num_stages") {
    for (Node& launch : launches_of(file)) put(launch, path, value);
    return {};
  }
  if (part == "sizes" && rest.empty()) return set_size(file, value);
  if (part == "variants" && rest.empty()) return set_schedule(file, value);
  if (rest.empty())
    return fail(value.key_origin, fmt::format("'{}' needs a name: {}.NAME", path, part));
  if (part == "tensors") return set_tensor(file, rest, value);
  if (part == "variants") return set_variant(file, rest, value);
  const Node* variants = file.find("variants");
  if (part == "constexprs" && variants && variants->find(rest))
    return fail(
        value.key_origin,
        fmt::format("'{}' has variants: write 'variants.{}', and the kernel changes with it", rest,
                    rest));
  if (part == "constexprs" && variants && is_of_schedules(*variants, rest))
    return fail(
        value.key_origin,
        fmt::format("'{}' has variants: write 'variants', and the kernel changes with it", rest));
  return set_in_launches(file, part, rest, value);
}

}  // namespace xpusim::run
