#pragma once

// A configuration, resolved: `extends` chains and overrides applied, each value with its origin.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/param.h"

namespace xpusim::config {

/// A node of the resolved tree: a scalar, a list, or a map (keys in written order).
struct Node {
  enum class Kind { kScalar, kList, kMap } kind = Kind::kMap;
  std::string scalar;
  bool quoted = false;
  std::vector<Node> items;
  std::vector<std::pair<std::string, Node>> entries;
  SourcePosition origin;              ///< where the value was written (a --set: file "--set", line 0)
  SourcePosition key_origin;          ///< where its key was written

  const Node* find(std::string_view key) const;
  const Node* at_path(std::string_view dotted) const;   ///< "gpu.sm.count"
};

/// Reads a YAML text strictly: duplicate keys, merge keys (<<), anchors that hide keys and
/// octal-looking integers are errors.
Expected<Node> read_yaml(std::string_view text, const std::string& file);
Expected<Node> read_yaml_file(const std::string& path);

/// Loads a configuration file, follows `extends` (a stem beside the file, or a path), applies
/// `overrides` ("gpu.sm.count=16"), and says every problem at once.
Expected<Node> load(const std::string& path, const std::vector<std::string>& overrides = {});

/// Binds the map at `node` (may be null: all defaults) to `out`. Unknown keys, wrong units and values
/// out of range become diagnostics. `path` is the dotted name of the node, for messages.
template <class Params>
void bind(const Node* node, std::string_view path, Params& out, Diagnostics& problems);

/// One parameter as `xpusim params` lists it.
struct ParamDoc {
  std::string path, unit, range, default_value, doc;
};
template <class Params>
void document(std::string_view path, std::vector<ParamDoc>& out);

/// A quantity with a unit ("1.755 GHz") in the unit asked for.
Expected<double> parse_quantity(std::string_view text, Unit unit, const SourcePosition& where);

}  // namespace xpusim::config

#include "sim/config/bind.h"          // the templates' definitions
