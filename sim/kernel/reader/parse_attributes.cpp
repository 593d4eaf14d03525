#include "sim/kernel/reader/nesting.h"
#include "sim/kernel/text/float_text.h"

namespace xpusim::kernel {
namespace {

/// A written integer as its type holds it: sign-extended, i1 as 0 or 1. False if it does not fit.
bool integer_bits(std::uint64_t magnitude, bool negative, Type type, std::int64_t& bits) {
  const int width = bit_width(type->dtype);
  if (type->dtype == DType::kI1) {
    bits = magnitude != 0;
    return magnitude <= 1;
  }
  const std::uint64_t half = std::uint64_t{1} << (width - 1);
  if (negative ? magnitude > half : width < 64 && magnitude >= 2 * half) return false;
  if (!type->is_unsigned && width < 64 && !negative && magnitude >= half) magnitude -= 2 * half;
  bits = static_cast<std::int64_t>(negative ? std::uint64_t{0} - magnitude : magnitude);
  return true;
}

}  // namespace

Attr Parser::parse_attr() {
  const Nesting nesting(*this);
  return nesting.allowed() ? parse_attr_uncounted() : nullptr;
}

Attr Parser::parse_attr_uncounted() {
  switch (token_.kind) {
    case TokenKind::kString: {
      std::string value;
      if (!parse_string(value, "a string")) return nullptr;
      if (at(":")) {  // a typed string is rare; its type adds nothing here
        expected("no type behind a string");
        return nullptr;
      }
      return context_.string(std::move(value));
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return parse_number(false);
    case TokenKind::kHash:
      return parse_dialect_attr();
    case TokenKind::kBang: {
      const Type type = parse_type();
      return type ? context_.type_attr(type) : nullptr;
    }
    case TokenKind::kAt: {
      std::string symbol;
      if (!parse_symbol(symbol)) return nullptr;
      while (accept("::")) {
        std::string nested;
        if (!parse_symbol(nested)) return nullptr;
        symbol += "::@" + nested;
      }
      return context_.symbol(std::move(symbol));
    }
    case TokenKind::kWord:
      return parse_word_attr();
    default:
      break;
  }
  if (accept("-")) return parse_number(true);
  if (accept("[")) {
    std::vector<Attr> elements;
    if (!parse_attr_list(elements, "]")) return nullptr;
    advance();
    return context_.array(std::move(elements));
  }
  if (at("{")) {
    NamedAttrs fields;
    return parse_attr_dict(fields) ? context_.dictionary(std::move(fields)) : nullptr;
  }
  if (at("(")) {
    const Type type = parse_type();
    return type ? context_.type_attr(type) : nullptr;
  }
  expected("an attribute");
  return nullptr;
}

/// Elements separated by commas, up to `end`, which stays unread.
bool Parser::parse_attr_list(std::vector<Attr>& attrs, std::string_view end) {
  std::size_t size = 0;
  while (!at(end)) {
    if (!attrs.empty() && !expect(",", "or '" + std::string(end) + "' in a list")) return false;
    const Token where = token_;
    const Attr attr = parse_attr();
    if (!attr || !within_size(size += attr->text.size(), where)) return false;
    attrs.push_back(attr);
  }
  return true;
}

bool Parser::parse_attr_dict(NamedAttrs& attrs) {
  if (!expect("{", "before attributes")) return false;
  std::size_t size = 0;
  for (bool first = true; !at("}"); first = false) {
    if (!first && !expect(",", "or '}' in a list of attributes")) return false;
    const Token name = token_;
    std::string key;
    if (at(TokenKind::kString)) {
      if (!parse_string(key, "an attribute's name")) return false;
    } else if (at(TokenKind::kWord)) {
      key = token_.text;
      advance();
    } else {
      return expected("an attribute's name");
    }
    for (const auto& [known, value] : attrs) {
      if (known == key) return error(name, "attribute '" + key + "' is given twice");
    }
    const Attr value = accept("=") ? parse_attr() : context_.unit();
    if (!value || !within_size(size += value->text.size(), name)) return false;
    attrs.emplace_back(std::move(key), value);
  }
  advance();
  return true;
}

Attr Parser::parse_typed_float(const Token& literal, bool negative, Type type) {
  AttrData data;
  data.kind = AttrKind::kFloat;
  data.type = type;
  const DType d = type ? type->dtype : DType::kF64;
  if (literal.kind == TokenKind::kFloat) {
    const std::string text = (negative ? "-" : "") + std::string(literal.text);
    const auto bits = parse_decimal(text, d);
    if (!bits) {
      error(literal, "malformed number '" + text + "'");
      return nullptr;
    }
    data.integer = static_cast<std::int64_t>(*bits);
  } else {
    if (!dense_element(literal, negative, type, data.integer)) return nullptr;
  }
  data.real = float_from_bits(static_cast<std::uint64_t>(data.integer), d);
  return context_.attr(std::move(data));
}

/// An integer or a float, behind its sign, with an optional ": type".
Attr Parser::parse_number(bool negative) {
  const Token literal = token_;
  if (!at(TokenKind::kInteger) && !at(TokenKind::kFloat)) {
    expected("a number");
    return nullptr;
  }
  advance();
  Type type = nullptr;
  const Token type_token = mark().token;
  if (at(":") && !at("::")) {
    advance();
    if (!(type = parse_type())) return nullptr;
    if (type->kind != TypeKind::kScalar) {
      error(type_token, "a number cannot be of type '" + type->text + "'");
      return nullptr;
    }
  }
  if (literal.kind == TokenKind::kFloat || (type && is_float(type->dtype))) {
    if (type && !is_float(type->dtype)) {
      error(literal, "a decimal number cannot be of type '" + type->text + "'");
      return nullptr;
    }
    return parse_typed_float(literal, negative, type);
  }
  std::int64_t value = 0;
  if (!dense_element(literal, negative, type ? type : context_.scalar(DType::kI64), value)) {
    return nullptr;
  }
  return context_.integer(value, type);
}

Attr Parser::parse_word_attr() {
  const Token word = token_;
  if (word.text == "true" || word.text == "false") {
    advance();
    return context_.boolean(word.text == "true");
  }
  if (word.text == "unit") {
    advance();
    return context_.unit();
  }
  if (word.text == "array") return parse_dense_array();
  if (word.text == "dense") return parse_dense_elements();
  if (word.text == "affine_map" || word.text == "affine_set" || word.text == "strided" ||
      word.text == "dense_resource" || word.text == "sparse" || word.text == "opaque") {
    advance();
    const auto raw = parse_raw_params();
    if (!raw) return nullptr;
    AttrData data;
    data.kind = AttrKind::kOpaque;
    data.string = std::string(word.text) + "<" + *raw + ">";
    return context_.attr(std::move(data));
  }
  const Type type = parse_type();
  return type ? context_.type_attr(type) : nullptr;
}

Attr Parser::parse_dialect_attr() {
  const Token name = token_;
  if (name.text.find('.') == std::string_view::npos) {
    const AliasEntry* entry = resolve_alias(name, "attribute");
    if (entry && !entry->attr) error(name, "'#" + std::string(name.text) + "' is no attribute");
    if (!entry || !entry->attr) return nullptr;
    advance();
    return entry->attr;
  }
  advance();
  AttrData data;
  data.kind = AttrKind::kDialect;
  data.string = name.text;
  if (!at("<")) return context_.attr(std::move(data));
  const Mark open = mark();
  advance();
  if (at("{")) {
    if (!parse_attr_dict(data.fields) || !expect(">", "after the parameters of an attribute"))
      return nullptr;
    if (data.fields.empty()) data.body = "{}";
    return context_.attr(std::move(data));
  }
  if (at("[")) {
    // Lists such as <[1], [0]>; what is written otherwise is kept as it stands.
    const auto problems = diagnostics_.list().size();
    if (parse_attr_list(data.elements, ">")) {
      advance();
      return context_.attr(std::move(data));
    }
    if (diagnostics_.list().size() > problems && fatal_) return nullptr;
    Diagnostics kept;
    for (std::size_t i = 0; i < problems; ++i) kept.add(diagnostics_.list()[i]);
    diagnostics_ = std::move(kept);
    data.elements.clear();
  }
  rewind(open);
  const auto raw = parse_raw_params();
  if (!raw) return nullptr;
  data.body = *raw;
  return context_.attr(std::move(data));
}

/// One element of a dense attribute, or a number, as the bits of its type.
bool Parser::dense_element(const Token& value, bool negative, Type element, std::int64_t& bits) {
  const std::string spelled = (negative ? "-" : "") + std::string(value.text);
  const std::string what = "'" + spelled + "' is no value of type '" + element->text + "'";
  const bool hex = value.text.starts_with("0x");
  if (value.kind == TokenKind::kWord) {
    if (element->dtype != DType::kI1) return error(value, what);
    bits = value.text == "true";
    return true;
  }
  if (is_float(element->dtype)) {
    if (value.kind == TokenKind::kFloat) {
      const auto parsed = parse_decimal(spelled, element->dtype);
      if (!parsed) return error(value, what);
      bits = static_cast<std::int64_t>(*parsed);
      return true;
    }
    if (!hex || negative)
      return error(value, what + "; write it with a decimal point, or its bits as 0x...");
  } else if (value.kind != TokenKind::kInteger || !is_integer(element->dtype)) {
    return error(value, what);
  }
  const auto magnitude = parse_magnitude(value.text);
  if (!magnitude) return error(value, what);
  if (!is_float(element->dtype))
    return integer_bits(*magnitude, negative, element, bits) || error(value, what);
  const int width = 8 * byte_size(element->dtype);
  if (width < 64 && *magnitude >> width) return error(value, what);
  bits = static_cast<std::int64_t>(*magnitude);
  return true;
}

Attr Parser::parse_dense_array() {
  AttrData data;
  data.kind = AttrKind::kDenseArray;
  advance();
  if (!expect("<", "after 'array'")) return nullptr;
  const Token where = token_;
  if (!(data.type = parse_type())) return nullptr;
  if (data.type->kind != TypeKind::kScalar) {
    error(where, "an array's elements must be numbers");
    return nullptr;
  }
  if (accept(":")) {
    do {
      const bool negative = accept("-");
      const Token value = token_;
      if (!at(TokenKind::kInteger) && !at(TokenKind::kFloat) && !at(TokenKind::kWord)) {
        expected("a number");
        return nullptr;
      }
      advance();
      std::int64_t bits = 0;
      if (!dense_element(value, negative, data.type, bits)) return nullptr;
      data.ints.push_back(bits);
    } while (accept(","));
  }
  if (!expect(">", "after the elements of an array")) return nullptr;
  return context_.attr(std::move(data));
}

/// The elements of dense<...> in their order; `splat` when one stands without brackets.
bool Parser::parse_dense_values(std::vector<Token>& values, std::vector<bool>& negative,
                                bool& splat) {
  int open = 0;
  splat = false;
  while (!at(">")) {
    if (accept("[")) {
      ++open;
    } else if (open && accept("]")) {
      --open;
      if (!at("]") && !at(">") && !expect(",", "between elements")) return false;
    } else {
      const bool minus = accept("-");
      const bool number = at(TokenKind::kInteger) || at(TokenKind::kFloat);
      if (!number && !at("true") && !at("false")) return expected("an element");
      values.push_back(token_);
      negative.push_back(minus);
      splat = open == 0;
      advance();
      if (splat) break;
      if (!at("]") && !expect(",", "or ']' after an element")) return false;
    }
  }
  return open == 0 || expected("']'");
}

bool Parser::dense_hex(const Token& text, AttrData& data) {
  const auto bytes = static_cast<std::size_t>(byte_size(data.type->element->dtype));
  const std::string_view digits = text.text.size() > 2 ? text.text.substr(2) : "";
  const auto count = static_cast<std::size_t>(data.type->count());
  const auto nibble = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  for (const char c : digits) {
    if (nibble(c) < 0) return error(text, "a dense attribute's string must be hexadecimal");
  }
  const bool all = digits.size() == 2 * bytes * count;
  if (!text.text.starts_with("0x") || !bytes || (!all && digits.size() != 2 * bytes)) {
    return error(text, "a dense attribute's string must hold the bytes of '" + data.type->text +
                           "' as \"0x...\"");
  }
  for (std::size_t at = 0; at < digits.size(); at += 2 * bytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto byte = static_cast<std::uint64_t>(nibble(digits[at + 2 * i]) * 16 +
                                                   nibble(digits[at + 2 * i + 1]));
      bits |= byte << (8 * i);
    }
    auto value = static_cast<std::int64_t>(bits);
    if (is_integer(data.type->dtype)) integer_bits(bits, false, data.type->element, value);
    data.ints.push_back(value);
  }
  data.splat = !all;
  return true;
}

Attr Parser::parse_dense_elements() {
  AttrData data;
  data.kind = AttrKind::kDenseElements;
  const Token start = token_;
  advance();
  if (!expect("<", "after 'dense'")) return nullptr;
  std::vector<Token> values;
  std::vector<bool> negative;
  std::optional<Token> hex;
  if (at(TokenKind::kString)) {
    hex = token_;
    advance();
  } else if (!parse_dense_values(values, negative, data.splat)) {
    return nullptr;
  }
  if (!expect(">", "after the elements of a dense attribute") ||
      !expect(":", "and a type after dense<...>")) {
    return nullptr;
  }
  const Token type_token = token_;
  if (!(data.type = parse_type())) return nullptr;
  if (!data.type->is_shaped() || data.type->element->kind != TypeKind::kScalar) {
    error(type_token,
          "a dense attribute needs a tensor or vector of numbers, not '" + data.type->text + "'");
    return nullptr;
  }
  for (const auto extent : data.type->shape) {
    if (extent != kDynamic) continue;
    error(type_token, "a dense attribute needs a static shape");
    return nullptr;
  }
  if (hex) return dense_hex(*hex, data) ? context_.attr(std::move(data)) : nullptr;
  if (!data.splat && static_cast<std::int64_t>(values.size()) != data.type->count()) {
    error(start, "dense attribute has " + std::to_string(values.size()) + " elements, its type '" +
                     data.type->text + "' needs " + std::to_string(data.type->count()));
    return nullptr;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t bits = 0;
    if (!dense_element(values[i], negative[i], data.type->element, bits)) return nullptr;
    data.ints.push_back(bits);
  }
  return context_.attr(std::move(data));
}

}  // namespace xpusim::kernel
