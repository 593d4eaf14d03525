#include "sim/config/tree.h"

#include <algorithm>

namespace xpusim::config {

Node::Node() = default;
Node::~Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;

const Node* Node::find(std::string_view key) const {
  const auto it = std::find_if(entries.begin(), entries.end(),
                               [&](const auto& entry) { return entry.first == key; });
  return it == entries.end() ? nullptr : &it->second;
}

const Node* Node::at_path(std::string_view dotted) const {
  const Node* node = this;
  while (node != nullptr && !dotted.empty()) {
    const std::size_t dot = dotted.find('.');
    node = node->find(dotted.substr(0, dot));
    if (dot == std::string_view::npos) break;
    dotted.remove_prefix(dot + 1);
  }
  return node;
}

Diagnostics placed(const Node& root, const Diagnostics& problems) {
  Diagnostics out;
  for (Diagnostic d : problems.list()) {
    std::string_view path = std::string_view(d.message).substr(0, d.message.find(':'));
    const Node* node = nullptr;
    while (d.where.file.empty() && node == nullptr && !path.empty()) {
      node = root.at_path(path);
      const std::size_t dot = path.rfind('.');
      path = dot == std::string_view::npos ? "" : path.substr(0, dot);
    }
    if (node != nullptr) d.where = node->kind == Node::Kind::kMap ? node->key_origin : node->origin;
    out.add(std::move(d));
  }
  return out;
}

}  // namespace xpusim::config
