#include "sim/run/file_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace xpusim::run {

using config::Node;

bool is_text(const Node& node) { return node.kind == Node::Kind::kScalar && !node.scalar.empty(); }

void check_keys(const Node& map, const std::vector<std::string>& known, std::string_view what,
                Diagnostics& problems) {
  for (const auto& [key, node] : map.entries)
    if (std::find(known.begin(), known.end(), key) == known.end())
      problems.error(node.key_origin,
                     fmt::format("unknown key '{}' in {}{}", key, what, did_you_mean(key, known)));
}

std::string read_head(const Node& root, std::string_view schema, const std::string& path,
                      Diagnostics& problems) {
  const Node* found = root.find("schema");
  if (!found || found->scalar != schema)
    problems.error(found ? found->origin : root.origin,
                   fmt::format("expected 'schema: {}'", schema));
  const Node* name = root.find("name");
  if (name && !is_text(*name)) problems.error(name->origin, "a name is a text");
  if (name && !name->scalar.empty()) return name->scalar;
  return std::filesystem::path(path).stem().string();
}

}  // namespace xpusim::run
