#include "sim/config/bind.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sim/config/quantity.h"

namespace xpusim::config::detail {

namespace {

void report(const Node& node, const Slot& slot, std::string_view message) {
  slot.problems.error(node.origin, slot.path.empty() ? std::string(message)
                                                     : fmt::format("{}: {}", slot.path, message));
}

std::string_view kind_name(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kScalar:
      return node.is_null() ? "nothing" : "a single value";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

bool require_scalar(const Node& node, const Slot& slot, std::string_view wanted) {
  if (node.kind == Node::Kind::kScalar && !node.is_null()) return true;
  report(node, slot, fmt::format("{} is expected, but {} is given", wanted, kind_name(node)));
  return false;
}

bool in_range(const Node& node, const Slot& slot, double value) {
  if (value >= slot.low && value <= slot.high) return true;
  report(node, slot,
         fmt::format("{} is out of range; allowed: {}", node.scalar,
                     range_text(slot.unit, slot.low, slot.high)));
  return false;
}

/// A quantity, in the unit of the slot; its problem, if any, is reported under the slot's path.
bool read_quantity(const Node& node, const Slot& slot, double& value) {
  const auto parsed = parse_quantity(node.scalar, slot.unit, node.origin);
  if (!parsed) {
    report(node, slot, parsed.error().list().front().message);
    return false;
  }
  value = *parsed;
  return true;
}

struct PlainInteger {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

/// A decimal or hexadecimal (0x) integer without a unit, exactly.
bool parse_plain(std::string_view text, PlainInteger& out) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    out.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    return false;
  }
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, out.magnitude, base);
  return result.ec == std::errc() && result.ptr == end;
}

/// "1.5 KiB" where a whole number is held: the quantity has to be whole in the slot's unit.
bool read_whole_quantity(const Node& node, const Slot& slot, PlainInteger& out) {
  double value = 0;
  if (!read_quantity(node, slot, value)) return false;
  const double whole = std::round(value);
  constexpr double kRounding = 1e-12;  // of the product of a decimal number and a unit's scale
  if (std::abs(value - whole) > kRounding * std::abs(value)) {
    report(node, slot,
           fmt::format("{} is not a whole number{}{}", node.scalar,
                       unit_symbol(slot.unit).empty() ? "" : " of ", unit_symbol(slot.unit)));
    return false;
  }
  constexpr double kTwoTo64 = 18446744073709551616.0;
  if (std::abs(whole) >= kTwoTo64) {
    report(node, slot, fmt::format("{} is too large", node.scalar));
    return false;
  }
  out.negative = whole < 0;
  out.magnitude = static_cast<std::uint64_t>(std::abs(whole));
  return true;
}

bool may_be_plain(Unit unit) {
  return unit == Unit::kNone || unit == Unit::kCount || unit == Unit::kRatio ||
         unit == Unit::kCycles || unit == Unit::kBytesPerCycle;
}

}  // namespace

std::string join_path(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

std::string item_path(std::string_view path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

void read_value(const Node& node, const Slot& slot, double& out) {
  if (!require_scalar(node, slot, dimension_name(slot.unit))) return;
  double value = 0;
  if (read_quantity(node, slot, value) && in_range(node, slot, value)) out = value;
}

void read_value(const Node& node, const Slot& slot, bool& out) {
  if (!require_scalar(node, slot, "true or false")) return;
  if (node.scalar == "true" || node.scalar == "false") {
    out = node.scalar == "true";
  } else {
    report(node, slot, fmt::format("'{}' is neither true nor false", node.scalar));
  }
}

void read_value(const Node& node, const Slot& slot, std::string& out) {
  const bool quoted = node.kind == Node::Kind::kScalar && node.quoted;  // "" is a text too
  if (quoted || require_scalar(node, slot, "a text")) out = node.scalar;
}

bool read_integer(const Node& node, const Slot& slot, bool negative, std::uint64_t largest,
                  std::uint64_t& bits) {
  if (!require_scalar(node, slot, dimension_name(slot.unit))) return false;
  PlainInteger value;
  const bool plain = may_be_plain(slot.unit) && parse_plain(node.scalar, value);
  if (!plain && !read_whole_quantity(node, slot, value)) return false;
  const double signed_value =
      value.negative ? -static_cast<double>(value.magnitude) : static_cast<double>(value.magnitude);
  if (!in_range(node, slot, signed_value)) return false;
  const std::uint64_t limit = value.negative ? (negative ? largest + 1 : 0) : largest;
  if (value.magnitude > limit) {
    report(node, slot,
           fmt::format("{} {}", node.scalar,
                       value.negative && !negative ? "is negative" : "is too large"));
    return false;
  }
  bits = value.negative ? ~value.magnitude + 1 : value.magnitude;
  return true;
}

bool require_list(const Node& node, const Slot& slot) {
  if (node.kind == Node::Kind::kList) return true;
  report(node, slot, fmt::format("a list is expected, but {} is given", kind_name(node)));
  return false;
}

MapReader::MapReader(const Node* node, std::string_view path, Diagnostics& problems)
    : node_(node), path_(path), problems_(problems) {
  if (node_ == nullptr || node_->kind == Node::Kind::kMap) return;
  if (!node_->is_null()) {  // "key:" with nothing below it is a map without entries
    report(*node_, Slot{path_, Unit::kNone, 0, 0, problems_},
           fmt::format("a map is expected, but {} is given", kind_name(*node_)));
  }
  node_ = nullptr;
}

const Node* MapReader::take(std::string_view key) {
  known_.emplace_back(key);
  return node_ == nullptr ? nullptr : node_->find(key);
}

void MapReader::finish() {
  if (node_ == nullptr) return;
  for (const auto& [key, value] : node_->entries) {
    bool known = false;
    for (const std::string& name : known_) known = known || name == key;
    if (known) continue;
    problems_.error(value.key_origin, fmt::format("unknown parameter '{}'{}", path_of(key),
                                                  did_you_mean(key, known_)));
  }
}

std::string default_text(double value, Unit unit) { return format_quantity(value, unit); }
std::string default_text(bool value, Unit) { return value ? "true" : "false"; }
std::string default_text(const std::string& value, Unit) { return value.empty() ? "\"\"" : value; }
std::string default_integer(bool negative, std::uint64_t bits, Unit unit) {
  const std::uint64_t magnitude = negative ? ~bits + 1 : bits;
  if (may_be_plain(unit)) return fmt::format("{}{}", negative ? "-" : "", magnitude);
  const double value = static_cast<double>(magnitude);
  return format_quantity(negative ? -value : value, unit);
}

void take_values(const Node& root, std::vector<ParamDoc>& values, std::span<ParamDoc> list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].value = std::move(values[i].value);
    if (const Node* node = root.at_path(list[i].path)) list[i].origin = node->origin;
  }
}

std::string range_text(Unit unit, double low, double high) {
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  if (has_low && has_high) {
    return fmt::format("{} to {}", format_quantity(low, unit), format_quantity(high, unit));
  }
  if (has_low) return fmt::format("{} or more", format_quantity(low, unit));
  if (has_high) return fmt::format("{} or less", format_quantity(high, unit));
  return "any";
}

}  // namespace xpusim::config::detail
