#pragma once

// A configuration, resolved: `extends` chains and overrides applied, each value with its origin.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/param.h"
#include "sim/config/quantity.h"

namespace xpusim::config {

/// A node of the resolved tree: a scalar, a list, or a map (keys in written order).
struct Node {
  enum class Kind { kScalar, kList, kMap } kind = Kind::kMap;
  std::string scalar;
  bool quoted = false;
  std::vector<Node> items;
  std::vector<std::pair<std::string, Node>> entries;
  SourcePosition origin;      ///< where the value was written (a --set: file "--set", line 0)
  SourcePosition key_origin;  ///< where its key was written

  // Not in the class: clang 14 would need `entries` complete for them too early.
  Node();
  ~Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;

  /// "key:" with no value, or ~
  bool is_null() const { return kind == Kind::kScalar && scalar.empty() && !quoted; }
  const Node* find(std::string_view key) const;
  const Node* at_path(std::string_view dotted) const;  ///< "gpu.sm.count"
};

/// Reads a YAML text strictly: duplicate keys, merge keys (<<), anchors that hide keys and
/// octal-looking integers are errors.
Expected<Node> read_yaml(std::string_view text, const std::string& file);
Expected<Node> read_yaml_file(const std::string& path);

/// Loads a configuration file, follows `extends`, applies `overrides` ("gpu.sm.count=16"), and says
/// every problem at once. `extends` is a stem beside the file (`h100`), a path relative to it
/// (`../memory/hbm3e`), or a list of these, where a later one wins over an earlier; the file's own
/// keys win over them. It may stand in any map: there it fills that map, and the `schema` and
/// `name` of the file it names are left out. Maps merge entry by entry; lists and values are
/// replaced.
/// A stem that is not there is looked up in `stem_folders`, in their order.
Expected<Node> load(const std::string& path, const std::vector<std::string>& overrides = {},
                    const std::vector<std::string>& stem_folders = {});

/// Binds the map at `node` (may be null: all defaults) to `out`. Unknown keys, wrong units and
/// values out of range become diagnostics. `path` is the dotted name of the node, for messages.
/// Write `config::bind`: unqualified, a std::string argument brings in std::bind, which does
/// nothing.
template <class Params>
void bind(const Node* node, std::string_view path, Params& out, Diagnostics& problems);

/// One parameter as `xpusim params` lists it.
struct ParamDoc {
  std::string path, unit, range, default_value, doc;
  std::string value;      ///< in the configuration that was asked about; without one, the default
  SourcePosition origin;  ///< where that was written; unset: nowhere, it is the default
};
/// Lists the parameters of a struct whose map is at `path` of the configuration `root` (may be
/// null: no configuration).
template <class Params>
void document(std::string_view path, const Node* root, std::vector<ParamDoc>& out);
template <class Params>
void document(std::string_view path, std::vector<ParamDoc>& out) {
  document<Params>(path, nullptr, out);
}

/// Gives problems without a position that of the parameter whose dotted name begins their message
/// ("gpu.memory.l2.slices: ..."), or of the nearest map around it that was written.
Diagnostics placed(const Node& root, const Diagnostics& problems);

/// The tree as YAML text: maps in blocks, lists of values in one line. read_yaml reads it back.
std::string to_yaml(const Node& node);

}  // namespace xpusim::config

#include "sim/config/bind.h"  // the templates' definitions
