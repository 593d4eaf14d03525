#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {

/// Alias lines (`#loc3 = loc(...)`) may stand before or behind their uses: all are found first, and
/// each is read when it is first used.
void Parser::collect_aliases() {
  Lexer lexer(text_);
  std::uint32_t line = 1;
  for (std::size_t start = 0; start < text_.size(); ++line) {
    const char c = text_[start];
    if (c == '#' || c == '!') {
      Token at_start;
      at_start.end = static_cast<std::uint32_t>(start);
      at_start.line = line;
      at_start.line_start = at_start.end;
      lexer.seek_after(at_start);
      const Token name = lexer.next();
      const Token equal = lexer.next();
      if ((name.kind == TokenKind::kHash || name.kind == TokenKind::kBang) &&
          equal.kind == TokenKind::kPunctuation && equal.text == "=") {
        AliasEntry entry;
        entry.body.token = lexer.next();
        entry.body.lexer = lexer;
        auto& table = c == '#' ? hash_aliases_ : bang_aliases_;
        if (!table.emplace(name.text, entry).second) {
          error(name, "redefinition of alias '" +
                          std::string(text_.substr(start, name.end - start)) + "'");
        }
      }
    }
    const auto newline = text_.find('\n', start);
    if (newline == std::string_view::npos) break;
    start = newline + 1;
  }
}

Parser::AliasEntry* Parser::resolve_alias(const Token& use, std::string_view what) {
  auto& table = use.kind == TokenKind::kHash ? hash_aliases_ : bang_aliases_;
  const std::string spelled(text_.substr(use.offset, use.end - use.offset));
  const auto it = table.find(use.text);
  if (it == table.end()) {
    std::vector<std::string> known;
    for (const auto& [name, entry] : table) known.push_back(spelled.substr(0, 1).append(name));
    error(use, "unknown " + std::string(what) + " alias '" + spelled + "'" +
                   did_you_mean(spelled, known));
    return nullptr;
  }
  AliasEntry& entry = it->second;
  if (entry.state == AliasEntry::State::kReading) {
    error(use, "alias '" + spelled + "' is defined in terms of itself");
    return nullptr;
  }
  if (entry.state == AliasEntry::State::kUnread) {
    const Mark back = mark();
    rewind(entry.body);
    entry.state = AliasEntry::State::kReading;
    bool good = false;
    if (use.kind == TokenKind::kBang) {
      good = (entry.type = parse_type()) != nullptr;
    } else if (at("loc")) {
      good = parse_optional_loc(entry.loc);
    } else {
      good = (entry.attr = parse_attr()) != nullptr;
    }
    entry.end = mark();
    entry.state = good ? AliasEntry::State::kRead : AliasEntry::State::kBad;
    rewind(back);
  }
  return entry.state == AliasEntry::State::kRead ? &entry : nullptr;
}

bool Parser::parse_alias_line(Module& module, bool before_module) {
  const Token name = token_;
  advance();
  if (!expect("=", "in the definition of an alias")) return false;
  const std::uint32_t body = token_.offset;
  const AliasEntry* entry = resolve_alias(name, "attribute");
  if (!entry) return false;
  const std::string spelled(text_.substr(name.offset, name.end - name.offset));
  // Going on behind the first of two definitions would not end. The second has been reported
  // already, unless it does not begin a line.
  if (entry->body.token.offset != body) {
    return diagnostics_.has_errors() ? false
                                     : error(name, "redefinition of alias '" + spelled + "'");
  }
  rewind(entry->end);
  if (entry->type) module.type_aliases.emplace_back(spelled, entry->type);
  if (entry->attr) module.aliases.emplace_back(spelled, entry->attr);
  if (entry->loc) module.loc_aliases.emplace_back(spelled, entry->loc);
  if (before_module) module.leading_aliases.push_back(spelled);
  return true;
}

}  // namespace xpusim::kernel
