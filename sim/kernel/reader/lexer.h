#pragma once

// Splits a kernel text into tokens, on demand, with their positions.

#include <cstdint>
#include <string_view>

namespace xpusim::kernel {

enum class TokenKind : std::uint8_t {
  kEnd,          ///< end of the text
  kBad,          ///< a character that starts no token, or a string without its end
  kWord,         ///< arith.addi, tensor, to, i32
  kPercent,      ///< %name (text without the %)
  kCaret,        ///< ^label
  kAt,           ///< @symbol (text without the @; a quoted symbol keeps its quotes)
  kHash,         ///< #alias or #dialect.attr (text without the #)
  kBang,         ///< !alias or !dialect.type (text without the !)
  kInteger,      ///< 12, 0x1F
  kFloat,        ///< 1.0, 1.0e-5
  kString,       ///< "..." (text without the quotes, escapes as written)
  kPunctuation,  ///< ( ) { } [ ] < > , : :: = -> - + * ? | ... /
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::uint32_t offset = 0;  ///< of its first character in the text
  std::uint32_t end = 0;     ///< one past its last character
  std::uint32_t line = 1;
  std::uint32_t line_start = 0;  ///< offset of the line's first character

  int column() const { return static_cast<int>(offset - line_start) + 1; }
};

/// A cheap cursor over a text: copying it is how a parser looks ahead.
class Lexer {
 public:
  Lexer() = default;
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();
  std::string_view text() const { return text_; }
  /// Goes on at `offset` of the current line (dimension lists are read character by character).
  void seek(std::uint32_t offset) { at_ = offset; }
  /// Goes on behind a token.
  void seek_after(const Token& token);

 private:
  char peek(std::uint32_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void skip_space();
  Token finish(Token token, TokenKind kind, std::uint32_t text_from);
  Token number(Token token);
  Token string(Token token);
  void skip_name();

  std::string_view text_;
  std::uint32_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t line_start_ = 0;
};

}  // namespace xpusim::kernel
