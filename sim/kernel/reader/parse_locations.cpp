#include "sim/kernel/reader/nesting.h"

namespace xpusim::kernel {

bool Parser::parse_optional_loc(Loc& loc) {
  if (!accept("loc")) return true;
  if (!expect("(", "after 'loc'")) return false;
  loc = parse_inner_loc();
  return loc && expect(")", "after a location");
}

/// Locations stand at the end of a text: where it breaks off, their absence says nothing new.
Loc Parser::unknown_location(const Token& use) {
  constexpr std::size_t kMost = 3;
  if (unknown_locations_.list().size() < kMost) {
    std::vector<std::string> known;
    for (const auto& [name, entry] : hash_aliases_) known.push_back("#" + std::string(name));
    const std::string spelled = "#" + std::string(use.text);
    unknown_locations_.error(
        position(use), "unknown location alias '" + spelled + "'" + did_you_mean(spelled, known));
  }
  advance();
  return context_.unknown_loc();
}

Loc Parser::parse_inner_loc() {
  const Nesting nesting(*this);
  if (!nesting.allowed()) return nullptr;
  if (at(TokenKind::kHash)) {
    const Token use = token_;
    if (!hash_aliases_.count(use.text)) return unknown_location(use);
    const AliasEntry* entry = resolve_alias(use, "location");
    if (!entry) return nullptr;
    if (!entry->loc) {
      error(use, "'#" + std::string(use.text) + "' is no location");
      return nullptr;
    }
    advance();
    return entry->loc;
  }
  if (at(TokenKind::kString)) return parse_file_or_name_loc();
  if (accept("unknown")) return context_.unknown_loc();
  if (accept("callsite")) {
    LocData data;
    data.kind = LocKind::kCallSite;
    const Token start = token_;
    if (!expect("(", "after 'callsite'") || !(data.child = parse_inner_loc())) return nullptr;
    if (!expect("at", "in a call site") || !(data.caller = parse_inner_loc())) return nullptr;
    if (!expect(")", "after a call site")) return nullptr;
    if (!within_size(data.child->text.size() + data.caller->text.size(), start)) return nullptr;
    return context_.loc(std::move(data));
  }
  if (at("fused")) return parse_fused_loc();
  expected(
      "a location: \"file\":line:column, \"name\"(...), callsite(... at ...), fused[...], unknown "
      "or #loc");
  return nullptr;
}

Loc Parser::parse_file_or_name_loc() {
  LocData data;
  if (!parse_string(data.file_or_name, "a file or a name")) return nullptr;
  const auto number = [&](int& out, std::string_view what) {
    std::int64_t value = 0;
    const Token where = token_;
    if (!parse_int(value, what)) return false;
    if (value < 0 || value > 1'000'000'000)
      return error(where, std::string(what) + " out of range");
    out = static_cast<int>(value);
    return true;
  };
  if (accept(":")) {
    data.kind = LocKind::kFile;
    if (!number(data.line, "a line number") || !expect(":", "after the line number") ||
        !number(data.column, "a column number")) {
      return nullptr;
    }
    if (accept("to")) {
      data.end_line = data.line;
      if (!at(":") && !number(data.end_line, "a line number")) return nullptr;
      if (!expect(":", "in a location's range") || !number(data.end_column, "a column number")) {
        return nullptr;
      }
    }
    return context_.loc(std::move(data));
  }
  data.kind = LocKind::kName;
  if (accept("(")) {
    data.child = parse_inner_loc();
    if (!data.child || !expect(")", "after a named location")) return nullptr;
    if (!within_size(data.child->text.size(), token_)) return nullptr;
  }
  return context_.loc(std::move(data));
}

Loc Parser::parse_fused_loc() {
  advance();
  LocData data;
  data.kind = LocKind::kFused;
  if (at("<")) {
    const auto raw = parse_raw_params();
    if (!raw) return nullptr;
    data.file_or_name = *raw;
  }
  if (!expect("[", "in a fused location")) return nullptr;
  std::size_t size = 0;
  while (!at("]")) {
    if (!data.fused.empty() && !expect(",", "between fused locations")) return nullptr;
    const Loc loc = parse_inner_loc();
    if (!loc || !within_size(size += loc->text.size(), token_)) return nullptr;
    data.fused.push_back(loc);
  }
  advance();
  return context_.loc(std::move(data));
}

}  // namespace xpusim::kernel
