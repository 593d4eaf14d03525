#pragma once

// The typed half of binding: walks a parameter struct's schema. Everything that does not depend on
// the struct is in bind.cpp. Included at the end of tree.h.

#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>

#include "sim/config/tree.h"

namespace xpusim::config {

namespace detail {

/// What a message about one value needs.
struct Slot {
  std::string path;  ///< dotted name, for messages
  Unit unit;
  double low, high;
  Diagnostics& problems;
};

/// Each reads one scalar; a value that does not fit is reported and `out` stays as it was.
void read_value(const Node& node, const Slot& slot, double& out);
void read_value(const Node& node, const Slot& slot, bool& out);
void read_value(const Node& node, const Slot& slot, std::string& out);
/// `negative` allows values below zero; `largest` is the largest magnitude of a value above.
bool read_integer(const Node& node, const Slot& slot, bool negative, std::uint64_t largest,
                  std::uint64_t& bits);
bool require_list(const Node& node, const Slot& slot);
std::string join_path(std::string_view path, std::string_view name);
std::string item_path(std::string_view path, std::size_t index);

template <std::integral T>
void read_value(const Node& node, const Slot& slot, T& out) {
  std::uint64_t bits = 0;
  if (read_integer(node, slot, std::is_signed_v<T>,
                   static_cast<std::uint64_t>(std::numeric_limits<T>::max()), bits)) {
    out = static_cast<T>(bits);
  }
}

template <class T>
void read_value(const Node& node, const Slot& slot, std::optional<T>& out) {
  T value{};
  const std::size_t before = slot.problems.list().size();
  read_value(node, slot, value);
  if (slot.problems.list().size() == before) out = std::move(value);
}

template <class T>
void read_value(const Node& node, const Slot& slot, std::vector<T>& out) {
  if (!require_list(node, slot)) return;
  out.clear();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    T value{};
    read_value(node.items[i],
               Slot{item_path(slot.path, i), slot.unit, slot.low, slot.high, slot.problems}, value);
    out.push_back(std::move(value));
  }
}

/// Hands out the values of one map by key, and reports the keys that nobody asked for.
class MapReader {
 public:
  MapReader(const Node* node, std::string_view path, Diagnostics& problems);
  const Node* take(std::string_view key);
  void finish();
  std::string path_of(std::string_view key) const { return join_path(path_, key); }
  Diagnostics& problems() { return problems_; }

 private:
  const Node* node_;
  std::string path_;
  Diagnostics& problems_;
  std::vector<std::string> known_;
};

template <class Owner, class T>
void bind_entry(MapReader& reader, Owner& out, const Field<Owner, T>& f) {
  if (const Node* value = reader.take(f.name)) {
    read_value(*value, Slot{reader.path_of(f.name), f.unit, f.low, f.high, reader.problems()},
               out.*f.member);
  }
}
template <class Owner, class T>
void bind_entry(MapReader& reader, Owner& out, const Group<Owner, T>& g) {
  config::bind(reader.take(g.name), reader.path_of(g.name), out.*g.member, reader.problems());
}

std::string default_text(double value, Unit unit);
std::string default_text(bool value, Unit unit);
std::string default_text(const std::string& value, Unit unit);
std::string default_integer(bool negative, std::uint64_t bits, Unit unit);
template <std::integral T>
std::string default_text(T value, Unit unit) {
  return default_integer(std::is_signed_v<T> && value < T{0}, static_cast<std::uint64_t>(value),
                         unit);
}
template <class T>
std::string default_text(const std::optional<T>& value, Unit unit) {
  return value ? default_text(*value, unit) : "none";
}
template <class T>
std::string default_text(const std::vector<T>& values, Unit unit) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += default_text(static_cast<const T&>(values[i]), unit);
  }
  return text + "]";
}

std::string range_text(Unit unit, double low, double high);
/// Puts the values into the list of the same parameters, with where `root` has them from.
void take_values(const Node& root, std::vector<ParamDoc>& values, std::span<ParamDoc> list);

template <class Owner, class T>
void document_entry(std::string_view path, const Owner& defaults, const Group<Owner, T>& g,
                    std::vector<ParamDoc>& out);
template <class Owner, class T>
void document_entry(std::string_view path, const Owner& defaults, const Field<Owner, T>& f,
                    std::vector<ParamDoc>& out) {
  std::string value = default_text(defaults.*f.member, f.unit);
  out.push_back({join_path(path, f.name),
                 std::string(unit_symbol(f.unit)),
                 range_text(f.unit, f.low, f.high),
                 value,
                 std::string(f.doc),
                 value,
                 {}});
}
template <class T>
void document_all(std::string_view path, const T& defaults, std::vector<ParamDoc>& out) {
  std::apply([&](const auto&... entries) { (document_entry(path, defaults, entries, out), ...); },
             T::schema());
}
template <class Owner, class T>
void document_entry(std::string_view path, const Owner& defaults, const Group<Owner, T>& g,
                    std::vector<ParamDoc>& out) {
  document_all(join_path(path, g.name), defaults.*g.member, out);
}

}  // namespace detail

template <class Params>
void bind(const Node* node, std::string_view path, Params& out, Diagnostics& problems) {
  detail::MapReader reader(node, path, problems);
  std::apply([&](const auto&... entries) { (detail::bind_entry(reader, out, entries), ...); },
             Params::schema());
  reader.finish();
}

template <class Params>
void document(std::string_view path, const Node* root, std::vector<ParamDoc>& out) {
  const std::size_t first = out.size();
  detail::document_all(path, Params{}, out);
  if (root == nullptr) return;
  Params given;
  Diagnostics ignored;  // of a configuration that was bound before
  config::bind(root->find(path), path, given, ignored);
  std::vector<ParamDoc> values;
  detail::document_all(path, given, values);
  detail::take_values(*root, values, {out.data() + first, values.size()});
}

}  // namespace xpusim::config
