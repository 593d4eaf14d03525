// Resolves a configuration: `extends` chains, deep merge, overrides.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "sim/config/set_value.h"
#include "sim/config/tree.h"

namespace xpusim::config {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kExtends = "extends";
constexpr std::string_view kOverride = "--set";

Node* find_entry(Node& map, std::string_view key) {
  return const_cast<Node*>(std::as_const(map).find(key));
}

/// Lays `over` on `base`: maps entry by entry, all else replaced.
void merge(Node& base, Node&& over, const std::string& path, Diagnostics& problems) {
  if (over.kind != base.kind && (over.kind == Node::Kind::kMap || base.kind == Node::Kind::kMap)) {
    const bool was_map = base.kind == Node::Kind::kMap;
    problems.error(over.origin, fmt::format("'{}' is {} at {} and cannot become {} here", path,
                                            was_map ? "a map" : "a value", base.origin.str(),
                                            was_map ? "a value" : "a map"));
    return;
  }
  if (over.kind != Node::Kind::kMap) {
    base = std::move(over);
    return;
  }
  base.origin = over.origin;
  base.key_origin = over.key_origin;
  for (auto& [key, value] : over.entries) {
    if (Node* below = find_entry(base, key)) {
      merge(*below, std::move(value), detail::join_path(path, key), problems);
    } else {
      base.entries.emplace_back(key, std::move(value));
    }
  }
}

/// The file names (without ".yaml") in a folder, to say which one might be meant.
std::vector<std::string> stems_in(const fs::path& folder) {
  std::vector<std::string> stems;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".yaml") stems.push_back(it->path().stem().string());
  }
  std::sort(stems.begin(), stems.end());
  return stems;
}

class Loader {
 public:
  explicit Loader(const std::vector<std::string>& stem_folders) : stem_folders_(stem_folders) {}

  /// The map that a file holds, with all that it extends; nothing if it could not be read.
  std::optional<Node> file(const fs::path& path) {
    const std::string name = path.lexically_normal().string();
    if (const auto known = loaded_.find(name); known != loaded_.end()) return known->second;
    auto read = read_yaml_file(name);
    if (!read) {
      problems_.append(read.error());
      return loaded_[name] = std::nullopt;
    }
    if (read->kind != Node::Kind::kMap) {
      problems_.error(read->origin, "a configuration file holds a map of keys and values");
      return loaded_[name] = std::nullopt;
    }
    chain_.push_back(name);
    resolve(*read, path.parent_path(), "");
    chain_.pop_back();
    return loaded_[name] = std::move(*read);
  }

  Diagnostics& problems() { return problems_; }

 private:
  /// Replaces the `extends` of this map, and of every map in it, by what they name.
  void resolve(Node& node, const fs::path& folder, const std::string& path) {
    for (Node& item : node.items) resolve(item, folder, path);
    std::optional<Node> base;
    for (auto& [key, value] : node.entries) {
      if (key == kExtends) {
        base = bases(value, folder, path);
      } else {
        resolve(value, folder, detail::join_path(path, key));
      }
    }
    std::erase_if(node.entries, [](const auto& entry) { return entry.first == kExtends; });
    if (!base) return;
    merge(*base, std::move(node), path, problems_);
    node = std::move(*base);
  }

  /// What an `extends` names, one laid on the other; inside a map, a file's own `schema` and `name`
  /// say what the file is and do not belong to the map.
  std::optional<Node> bases(const Node& extends, const fs::path& folder, const std::string& path) {
    std::optional<Node> result;
    const std::vector<Node> single{extends};
    for (const Node& item : extends.kind == Node::Kind::kList ? extends.items : single) {
      if (item.kind != Node::Kind::kScalar || item.scalar.empty()) {
        problems_.error(item.origin, "'extends' takes a file's stem or path, or a list of them");
        continue;
      }
      std::optional<Node> base = extended_file(item, folder);
      if (!base) continue;
      if (!path.empty()) {
        std::erase_if(base->entries, [](const auto& entry) {
          return entry.first == "schema" || entry.first == "name";
        });
      }
      if (result) {
        merge(*result, std::move(*base), path, problems_);
      } else {
        result = std::move(base);
      }
    }
    return result;
  }

  std::optional<Node> extended_file(const Node& item, const fs::path& folder) {
    const fs::path path = path_of(item.scalar, folder);
    if (std::find(chain_.begin(), chain_.end(), path.string()) != chain_.end()) {
      problems_.error(item.origin, fmt::format("'extends' goes round in a circle: {} -> {}",
                                               fmt::join(chain_, " -> "), path.string()));
      return std::nullopt;
    }
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      problems_.error(item.origin,
                      fmt::format("cannot find '{}', which '{}' extends{}", path.string(),
                                  fmt::join(chain_, "' -> '"),
                                  did_you_mean(path.stem().string(), stems_beside(path))));
      return std::nullopt;
    }
    return file(path);
  }

  /// The file beside the one that extends it; or else, of a stem, that of the first of the stem
  /// folders that has it. A file does not extend itself: its own stem means one of these.
  fs::path path_of(const std::string& name, const fs::path& folder) const {
    const bool has_ending = std::string_view(name).ends_with(".yaml");
    const std::string file_name = has_ending ? name : name + ".yaml";
    const fs::path beside = (folder / file_name).lexically_normal();
    std::error_code error;
    const bool is_stem = !has_ending && name.find('/') == std::string::npos;
    const bool is_own = beside.string() == chain_.back();
    if (!is_stem || (fs::is_regular_file(beside, error) && !is_own)) return beside;
    for (const std::string& other : stem_folders_) {
      const fs::path path = (fs::path(other) / file_name).lexically_normal();
      if (fs::is_regular_file(path, error)) return path;
    }
    return beside;
  }

  std::vector<std::string> stems_beside(const fs::path& path) const {
    std::vector<std::string> stems = stems_in(path.parent_path());
    for (const std::string& other : stem_folders_) {
      for (std::string& stem : stems_in(other)) stems.push_back(std::move(stem));
    }
    return stems;
  }

  const std::vector<std::string>& stem_folders_;
  Diagnostics problems_;
  std::vector<std::string> chain_;  ///< files being read, from the first
  std::map<std::string, std::optional<Node>> loaded_;
};

void set_origin(Node& node) {
  node.origin = node.key_origin = {std::string(kOverride), 0, 0};
  for (Node& item : node.items) set_origin(item);
}

/// Applies "a.b=1" to the tree; the maps on the way are made where they are missing.
void apply_override(Node& root, const std::string& text, Diagnostics& problems) {
  const SourcePosition where{std::string(kOverride), 0, 0};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.error(where, fmt::format("'{}' is not of the form a.b=value", text));
    return;
  }
  auto value = read_yaml(std::string_view(text).substr(equals + 1), std::string(kOverride));
  if (!value || value->kind == Node::Kind::kMap || value->is_null()) {
    const std::string why =
        value ? "the value must be a single value or a list" : value.error().list().front().message;
    problems.error(where, fmt::format("'{}': {}", text, why));
    return;
  }
  set_origin(*value);
  auto done = set_value(root, std::string_view(text).substr(0, equals), std::move(*value));
  if (!done)
    problems.error(where, fmt::format("'{}': {}", text, done.error().list().front().message));
}

}  // namespace

Expected<Node> load(const std::string& path, const std::vector<std::string>& overrides,
                    const std::vector<std::string>& stem_folders) {
  Loader loader(stem_folders);
  std::optional<Node> root = loader.file(path);
  if (root) {
    for (const std::string& text : overrides) apply_override(*root, text, loader.problems());
  }
  if (loader.problems().has_errors()) return fail(std::move(loader.problems()));
  return std::move(*root);
}

}  // namespace xpusim::config
