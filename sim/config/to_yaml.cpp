// Prints a tree as YAML that read_yaml takes back.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "sim/config/tree.h"

namespace xpusim::config {

namespace {

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool reads_as_null_or_octal(std::string_view text) {
  for (std::string_view null : {"null", "Null", "NULL"}) {
    if (text == null) return true;
  }
  return text.size() > 1 && text[0] == '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether the text may stand without quotes, in block and flow context alike. Strict on purpose:
/// what is doubtful gets quotes.
bool is_plain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || reads_as_null_or_octal(text)) return false;
  const bool negative_number =
      text.size() > 1 && text[0] == '-' && text[1] >= '1' && text[1] <= '9';
  if (!is_alnum(text[0]) && text[0] != '_' && text[0] != '/' && !negative_number) return false;
  constexpr std::string_view kSafe = "_./%+-*()^= ";
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_alnum(c) || kSafe.find(c) != std::string_view::npos;
  });
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string word(std::string_view text) { return is_plain(text) ? std::string(text) : quote(text); }

std::string scalar_text(const Node& node) {
  if (node.is_null()) return "~";
  return node.quoted ? quote(node.scalar) : word(node.scalar);
}

/// "4", "[1, 2]", "{}": the nodes that fit behind their key; "" for the others.
std::string inline_text(const Node& node) {
  if (node.kind == Node::Kind::kScalar) return scalar_text(node);
  if (node.kind == Node::Kind::kMap) return node.entries.empty() ? "{}" : "";
  std::string text = "[";
  for (const Node& item : node.items) {
    const std::string part = inline_text(item);
    if (part.empty()) return "";
    if (text.size() > 1) text += ", ";
    text += part;
  }
  return text + "]";
}

void write_block(const Node& node, std::size_t indent, std::string& out);

void write_value(const Node& node, std::size_t indent, std::string& out) {
  const std::string text = inline_text(node);
  if (text.empty()) {
    out += '\n';
    write_block(node, indent, out);
  } else {
    out += ' ';
    out += text;
    out += '\n';
  }
}

void write_block(const Node& node, std::size_t indent, std::string& out) {
  for (const Node& item : node.items) {
    out.append(indent, ' ');
    out += '-';
    write_value(item, indent + 2, out);
  }
  for (const auto& [key, value] : node.entries) {
    out.append(indent, ' ');
    out += word(key);
    out += ':';
    write_value(value, indent + 2, out);
  }
}

}  // namespace

std::string to_yaml(const Node& node) {
  const std::string text = inline_text(node);
  if (!text.empty()) return text + '\n';
  std::string out;
  write_block(node, 0, out);
  return out;
}

}  // namespace xpusim::config
