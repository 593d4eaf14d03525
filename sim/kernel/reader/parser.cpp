#include "sim/kernel/reader/parser.h"

#include <charconv>

namespace xpusim::kernel {
namespace {

constexpr std::size_t kMaxErrors = 20;

/// Types, attributes and locations may refer to each other through aliases, so a short text can
/// stand for an exponentially long one.
constexpr std::size_t kMaxExpandedText = 1 << 15;

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out = "'";
  out += text.substr(0, kShown);
  if (text.size() > kShown) out += "...";
  return out + "'";
}

}  // namespace

Parser::Parser(std::string_view text, std::string file, Context& context)
    : text_(text), file_(std::move(file)), context_(context), lexer_(text) {
  collect_aliases();
  advance();
}

bool Parser::accept(std::string_view literal) {
  if (!at(literal)) return false;
  advance();
  return true;
}

bool Parser::expect(std::string_view literal, std::string_view after) {
  if (accept(literal)) return true;
  std::string what = "'" + std::string(literal) + "'";
  if (!after.empty()) what += " " + std::string(after);
  return expected(what);
}

SourcePosition Parser::position(const Token& where) const {
  return {file_, static_cast<int>(where.line), where.column()};
}

bool Parser::error(const Token& where, std::string message) {
  if (fatal_) return false;
  diagnostics_.error(position(where), std::move(message));
  if (diagnostics_.list().size() >= kMaxErrors) {
    fatal_ = true;
    diagnostics_.add({Severity::kNote, position(where), "too many errors; the rest is not shown"});
  }
  if (where.kind == TokenKind::kEnd) fatal_ = breaks_off_ = true;
  return false;
}

Diagnostics Parser::diagnostics() const {
  Diagnostics all = diagnostics_;
  if (!breaks_off_) all.append(unknown_locations_);
  return all;
}

bool Parser::expected(std::string_view what) {
  std::string message = "expected " + std::string(what) + ", found ";
  if (token_.kind == TokenKind::kEnd) {
    message += "the end of the text";
  } else if (token_.kind == TokenKind::kBad && token_.text.starts_with('"')) {
    message += "a string without its closing quote";
  } else {
    message += quoted(text_.substr(token_.offset, token_.end - token_.offset));
  }
  return error(token_, std::move(message));
}

std::optional<std::uint64_t> parse_magnitude(std::string_view digits) {
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  std::uint64_t magnitude = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, status] = std::from_chars(digits.data(), end, magnitude, hex ? 16 : 10);
  if (status != std::errc() || stop != end) return std::nullopt;
  return magnitude;
}

bool Parser::parse_int(std::int64_t& value, std::string_view what) {
  const Token start = token_;
  const bool negative = accept("-");
  if (!at(TokenKind::kInteger)) return expected(what);
  const auto magnitude = parse_magnitude(token_.text);
  const std::uint64_t limit = negative ? std::uint64_t{1} << 63 : ~std::uint64_t{0};
  if (!magnitude || *magnitude > limit) return error(start, "integer does not fit in 64 bits");
  advance();
  value = static_cast<std::int64_t>(negative ? std::uint64_t{0} - *magnitude : *magnitude);
  return true;
}

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The bytes that a string's text stands for.
std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    const int high = hex_value(c);
    const int low = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      ++i;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

}  // namespace

bool Parser::parse_string(std::string& value, std::string_view what) {
  if (!at(TokenKind::kString)) return expected(what);
  value = unescape(token_.text);
  advance();
  return true;
}

bool Parser::parse_symbol(std::string& value) {
  if (!at(TokenKind::kAt)) return expected("a symbol such as @name");
  std::string_view text = token_.text;
  if (text.starts_with('"')) {
    text.remove_prefix(1);
    text.remove_suffix(1);
  }
  value = unescape(text);
  advance();
  return true;
}

bool Parser::within_size(std::size_t size, const Token& where) {
  if (size <= kMaxExpandedText) return true;
  return error(where, "too large once its aliases are expanded");
}

}  // namespace xpusim::kernel
