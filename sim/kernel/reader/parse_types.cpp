#include "sim/kernel/reader/nesting.h"

namespace xpusim::kernel {
namespace {

/// Longer types are read each time; their text is not worth hashing.
constexpr std::uint32_t kMaxCachedText = 512;

}  // namespace

/// Where the type that begins at the current token ends, judged by its brackets alone; the token's
/// own offset if that cannot be told.
std::uint32_t Parser::type_slice_end() const {
  std::uint32_t at = token_.end;
  if (at >= text_.size() || text_[at] != '<') return token_.offset;
  int open = 0;
  for (; at < text_.size() && at - token_.offset < kMaxCachedText; ++at) {
    const char c = text_[at];
    if (c == '<') ++open;
    if (c == '>' && text_[at - 1] != '-' && --open == 0) return at + 1;
    if (c == '\n' || c == '"') break;
  }
  return token_.offset;
}

Type Parser::parse_type() {
  if (!at(TokenKind::kWord) && !at(TokenKind::kBang)) return parse_type_uncached();
  const Token start = token_;
  const std::uint32_t end = type_slice_end();
  const std::string_view slice = text_.substr(start.offset, end - start.offset);
  if (!slice.empty()) {
    if (const auto it = type_cache_.find(slice); it != type_cache_.end()) {
      lexer_.seek(end);
      advance();
      return it->second;
    }
  }
  const Type type = parse_type_uncached();
  if (type && !slice.empty()) type_cache_.emplace(slice, type);
  return type;
}

Type Parser::parse_type_uncached() {
  const Nesting nesting(*this);
  if (!nesting.allowed()) return nullptr;
  if (at("(")) return parse_function_type();
  if (at(TokenKind::kBang)) return parse_dialect_type();
  if (!at(TokenKind::kWord)) {
    expected("a type");
    return nullptr;
  }
  const Token word = token_;
  advance();
  if (word.text == "tensor") return parse_shaped(TypeKind::kTensor, word);
  if (word.text == "vector") return parse_shaped(TypeKind::kVector, word);
  if (word.text == "memref") return parse_shaped(TypeKind::kMemRef, word);
  if (word.text == "tuple") {
    TypeData data;
    data.kind = TypeKind::kTuple;
    if (!expect("<", "after 'tuple'")) return nullptr;
    if (!at(">") && !parse_types(data.inputs)) return nullptr;
    if (!expect(">", "after the types of a tuple")) return nullptr;
    return context_.type(std::move(data));
  }
  return parse_scalar_or_opaque(word);
}

Type Parser::parse_scalar_or_opaque(const Token& word) {
  if (word.text == "none") return context_.scalar(DType::kNone);
  if (const DType d = dtype_named(word.text); d != DType::kNone) return context_.scalar(d);
  const char first = word.text[0];
  if (first == 'u' || first == 's') {
    const DType d = dtype_named(word.text.substr(1));
    if (is_integer(d) && d != DType::kIndex) {
      TypeData data;
      data.kind = TypeKind::kScalar;
      data.dtype = d;
      data.is_unsigned = first == 'u';
      if (first == 's') data.text = std::string(word.text);
      return context_.type(std::move(data));
    }
  }
  error(word,
        "unknown type '" + std::string(word.text) + "'" +
            did_you_mean(word.text, {"i1", "i8", "i16", "i32", "i64", "index", "f16", "bf16", "f32",
                                     "f64", "f8E4M3FN", "f8E5M2", "tensor", "vector", "memref"}));
  return nullptr;
}

/// "128x64x": dimensions, each with its 'x'; stops before the element type.
bool Parser::parse_dims(std::vector<std::int64_t>& shape) {
  const Token start = token_;
  std::uint32_t at = start.offset;
  std::int64_t count = 1;
  for (;;) {
    std::uint32_t end = at;
    std::int64_t extent = 0;
    if (end < text_.size() && text_[end] == '?') {
      extent = kDynamic;
      ++end;
    } else {
      while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') {
        if (extent > (std::int64_t{1} << 56)) return error(start, "dimension is too large");
        extent = extent * 10 + (text_[end++] - '0');
      }
    }
    if (end == at || end >= text_.size() || text_[end] != 'x') break;
    if (extent != kDynamic && __builtin_mul_overflow(count, extent, &count)) {
      return error(start, "shape has too many elements");
    }
    if (count > (std::int64_t{1} << 56)) return error(start, "shape has too many elements");
    shape.push_back(extent);
    at = end + 1;
  }
  if (at == start.offset) return true;
  lexer_.seek(at);
  advance();
  return true;
}

/// "4x128x64": the last dimension has no 'x'.
bool Parser::parse_bare_dims(std::vector<std::int64_t>& shape) {
  if (!parse_dims(shape)) return false;
  std::int64_t last = 0;
  if (!parse_int(last, "a dimension")) return false;
  shape.push_back(last);
  return true;
}

/// What may follow the element type: ", #layout, #space, mutable, 4x128x64".
bool Parser::parse_type_attrs(TypeData& data) {
  while (accept(",")) {
    if (data.kind == TypeKind::kMemDesc && accept("mutable")) {
      data.is_mutable = true;
    } else if (data.kind == TypeKind::kMemDesc && at(TokenKind::kInteger)) {
      if (!parse_bare_dims(data.alloc_shape)) return false;
    } else {
      const Token where = token_;
      const Attr attr = parse_attr();
      if (!attr) return false;
      const bool space = data.kind == TypeKind::kMemRef &&
                         (attr->string == "tpu.memory_space" || attr->kind == AttrKind::kInteger);
      if (!space && !data.encoding) {
        data.encoding = attr;
      } else if (!data.memory_space) {
        data.memory_space = attr;
      } else {
        return error(where, "more attributes than a type can have");
      }
    }
  }
  return true;
}

Type Parser::parse_shaped(TypeKind kind, const Token& start) {
  TypeData data;
  data.kind = kind;
  if (!expect("<", "after '" + std::string(text_.substr(start.offset, start.end - start.offset)) +
                       "'")) {
    return nullptr;
  }
  if (!parse_dims(data.shape)) return nullptr;
  const Token element = token_;
  if (!(data.element = parse_type())) return nullptr;
  switch (data.element->kind) {
    case TypeKind::kScalar:
    case TypeKind::kPointer:
    case TypeKind::kOpaque:
      break;
    default:
      error(element, "'" + data.element->text + "' cannot be an element type");
      return nullptr;
  }
  data.dtype = data.element->dtype;
  if (!parse_type_attrs(data) || !expect(">", "after the parameters of a type")) return nullptr;
  return context_.type(std::move(data));
}

Type Parser::parse_type_params(TypeKind kind) {
  if (kind == TypeKind::kPointer) return parse_pointer_params();
  if (kind == TypeKind::kTensorDesc) return parse_tensordesc_params();
  return parse_shaped(kind, token_);
}

Type Parser::parse_pointer_params() {
  if (!expect("<", "after '!tt.ptr'")) return nullptr;
  const Type pointee = parse_type();
  if (!pointee) return nullptr;
  Attr space = nullptr;
  if (accept(",") && !(space = parse_attr())) return nullptr;
  if (!expect(">", "after the pointee of a pointer")) return nullptr;
  return context_.pointer(pointee, space);
}

Type Parser::parse_tensordesc_params() {
  TypeData data;
  data.kind = TypeKind::kTensorDesc;
  if (!expect("<", "after '!tt.tensordesc'")) return nullptr;
  if (at(TokenKind::kInteger)) {  // newer spelling: the block's shape and element without 'tensor<'
    data.kind = TypeKind::kTensor;
    if (!parse_dims(data.shape) || !(data.element = parse_type())) return nullptr;
    data.dtype = data.element->dtype;
    if (!parse_type_attrs(data) || !expect(">", "after a tensor descriptor's block"))
      return nullptr;
    TypeData desc;
    desc.kind = TypeKind::kTensorDesc;
    desc.element = context_.type(std::move(data));
    desc.dtype = desc.element->dtype;
    return context_.type(std::move(desc));
  }
  const Token where = token_;
  if (!(data.element = parse_type())) return nullptr;
  if (data.element->kind != TypeKind::kTensor) {
    error(where, "a tensor descriptor's block must be a tensor type");
    return nullptr;
  }
  data.dtype = data.element->dtype;
  if (!expect(">", "after a tensor descriptor's block")) return nullptr;
  return context_.type(std::move(data));
}

Type Parser::parse_dialect_type() {
  const Token name = token_;
  if (name.text.find('.') == std::string_view::npos) {
    const AliasEntry* entry = resolve_alias(name, "type");
    if (entry) advance();
    return entry ? entry->type : nullptr;
  }
  advance();
  if (name.text == "tt.ptr") return parse_pointer_params();
  if (name.text == "tt.tensordesc") return parse_tensordesc_params();
  if (name.text == "ttg.memdesc") return parse_shaped(TypeKind::kMemDesc, name);
  if (name.text == "ttg.async.token") return context_.token();
  return parse_opaque_params("!" + std::string(name.text));
}

Type Parser::parse_opaque_params(std::string text) {
  TypeData data;
  data.kind = TypeKind::kOpaque;
  data.text = std::move(text);
  if (at("<")) {
    const auto raw = parse_raw_params();
    if (!raw) return nullptr;
    data.text += "<" + *raw + ">";
  }
  return context_.type(std::move(data));
}

std::optional<std::string> Parser::parse_raw_params() {
  const Token open = token_;
  std::string closers;
  std::uint32_t end = 0;
  do {
    if (at(TokenKind::kEnd) || at(TokenKind::kBad)) {
      expected("'>' to close '<' of line " + std::to_string(open.line));
      return std::nullopt;
    }
    const std::string_view t = at(TokenKind::kPunctuation) ? token_.text : "";
    if (t == "<") closers += '>';
    if (t == "(") closers += ')';
    if (t == "[") closers += ']';
    if (t == "{") closers += '}';
    if (t == ">" || t == ")" || t == "]" || t == "}") {
      if (closers.back() != t[0]) {
        expected(std::string("'") + closers.back() + "'");
        return std::nullopt;
      }
      closers.pop_back();
    }
    end = token_.offset;
    advance();
  } while (!closers.empty());
  return std::string(text_.substr(open.end, end - open.end));
}

Type Parser::parse_function_type() {
  TypeData data;
  data.kind = TypeKind::kFunction;
  const Token start = token_;
  if (!parse_parenthesized_types(data.inputs) || !expect("->", "in a function type") ||
      !parse_result_types(data.results)) {
    return nullptr;
  }
  std::size_t size = 0;
  for (const Type t : data.inputs) size += t->text.size();
  for (const Type t : data.results) size += t->text.size();
  return within_size(size, start) ? context_.type(std::move(data)) : nullptr;
}

bool Parser::parse_types(std::vector<Type>& types) {
  do {
    const Type type = parse_type();
    if (!type) return false;
    types.push_back(type);
  } while (accept(","));
  return true;
}

bool Parser::parse_parenthesized_types(std::vector<Type>& types) {
  if (!expect("(", "before a list of types")) return false;
  if (accept(")")) return true;
  return parse_types(types) && expect(")", "after a list of types");
}

bool Parser::parse_result_types(std::vector<Type>& types) {
  if (at("(")) return parse_parenthesized_types(types);
  const Type type = parse_type();
  if (type) types.push_back(type);
  return type != nullptr;
}

}  // namespace xpusim::kernel
