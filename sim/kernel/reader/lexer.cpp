#include "sim/kernel/reader/lexer.h"

#include <array>

namespace xpusim::kernel {
namespace {

enum CharClass : std::uint8_t { kOther = 0, kLetter = 1, kDigit = 2, kNameMark = 4 };

constexpr std::array<std::uint8_t, 256> char_classes() {
  std::array<std::uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = kLetter;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = kDigit;
  table['_'] = kLetter;
  table['.'] = table['$'] = table['-'] = kNameMark;
  return table;
}
constexpr auto kClasses = char_classes();

bool is(char c, int classes) { return kClasses[static_cast<unsigned char>(c)] & classes; }
bool is_hex(char c) { return is(c, kDigit) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

void Lexer::seek_after(const Token& token) {
  at_ = token.end;
  line_ = token.line;
  line_start_ = token.line_start;
}

void Lexer::skip_space() {
  for (;;) {
    const char c = peek();
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

Token Lexer::finish(Token token, TokenKind kind, std::uint32_t text_from) {
  token.kind = kind;
  token.end = at_;
  token.text = text_.substr(text_from, at_ - text_from);
  return token;
}

/// [A-Za-z0-9$._-]*: what may follow a sigil.
void Lexer::skip_name() {
  while (is(peek(), kLetter | kDigit | kNameMark)) ++at_;
}

Token Lexer::number(Token token) {
  const std::uint32_t from = at_;
  if (peek() == '0' && peek(1) == 'x' && is_hex(peek(2))) {
    at_ += 2;
    while (is_hex(peek())) ++at_;
    return finish(token, TokenKind::kInteger, from);
  }
  while (is(peek(), kDigit)) ++at_;
  if (peek() != '.' || !is(peek(1), kDigit)) return finish(token, TokenKind::kInteger, from);
  ++at_;
  while (is(peek(), kDigit)) ++at_;
  if (peek() == 'e' || peek() == 'E') {
    const std::uint32_t sign = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
    if (is(peek(1 + sign), kDigit)) {
      at_ += 1 + sign;
      while (is(peek(), kDigit)) ++at_;
    }
  }
  return finish(token, TokenKind::kFloat, from);
}

Token Lexer::string(Token token) {
  const std::uint32_t from = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    at_ += text_[at_] == '\\' && peek(1) != '\n' && at_ + 1 < text_.size() ? 2 : 1;
  }
  if (peek() != '"') return finish(token, TokenKind::kBad, from - 1);
  token = finish(token, TokenKind::kString, from);
  token.end = ++at_;
  return token;
}

Token Lexer::next() {
  skip_space();
  Token token;
  token.offset = at_;
  token.line = line_;
  token.line_start = line_start_;
  if (at_ >= text_.size()) return finish(token, TokenKind::kEnd, at_);
  const std::uint32_t from = at_;
  const char c = peek();
  if (is(c, kLetter)) {
    while (is(peek(), kLetter | kDigit) || peek() == '.' || peek() == '$') ++at_;
    return finish(token, TokenKind::kWord, from);
  }
  if (is(c, kDigit)) return number(token);
  if (c == '"') return string(token);
  if (c == '@' && peek(1) == '"') {
    ++at_;
    Token quoted = string(token);
    if (quoted.kind == TokenKind::kString) {
      quoted.kind = TokenKind::kAt;
      quoted.text = text_.substr(from + 1, at_ - from - 1);
    }
    return quoted;
  }
  const TokenKind sigil = c == '%'   ? TokenKind::kPercent
                          : c == '^' ? TokenKind::kCaret
                          : c == '@' ? TokenKind::kAt
                          : c == '#' ? TokenKind::kHash
                          : c == '!' ? TokenKind::kBang
                                     : TokenKind::kPunctuation;
  ++at_;
  if (sigil != TokenKind::kPunctuation) {
    // A dash belongs to value names (%c-1_i32) only.
    if (sigil == TokenKind::kPercent) {
      skip_name();
    } else {
      while (is(peek(), kLetter | kDigit) || peek() == '.' || peek() == '$') ++at_;
    }
    return finish(token, at_ == from + 1 ? TokenKind::kBad : sigil,
                  at_ == from + 1 ? from : from + 1);
  }
  if (c == '-' && peek() == '>') ++at_;
  if (c == ':' && peek() == ':') ++at_;
  if (c == '.' && peek() == '.' && peek(1) == '.') at_ += 2;
  const std::string_view text = text_.substr(from, at_ - from);
  constexpr std::string_view kSingles = "(){}[]<>,:=-+*?|/";
  const bool known = text.size() > 1 || kSingles.find(c) != std::string_view::npos;
  return finish(token, known ? TokenKind::kPunctuation : TokenKind::kBad, from);
}

}  // namespace xpusim::kernel
