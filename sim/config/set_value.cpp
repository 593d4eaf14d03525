#include "sim/config/set_value.h"

namespace xpusim::config {

Expected<void> set_value(Node& root, std::string_view path, Node value) {
  const SourcePosition where = value.key_origin;
  Node* node = &root;
  for (;;) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (key.empty()) return fail(where, "the path has an empty key");
    if (node->kind != Node::Kind::kMap)
      return fail(where, "nothing can be set below a single value");
    Node* next = const_cast<Node*>(std::as_const(*node).find(key));
    const bool is_new = next == nullptr;
    if (is_new) {
      node->entries.emplace_back(std::string(key), Node{});
      next = &node->entries.back().second;
      next->origin = next->key_origin = where;
    }
    node = next;
    if (dot == std::string_view::npos) {
      if (!is_new && node->kind == Node::Kind::kMap)
        return fail(where, "this is a map; set one of its entries");
      *node = std::move(value);
      return {};
    }
    path.remove_prefix(dot + 1);
  }
}

}  // namespace xpusim::config
