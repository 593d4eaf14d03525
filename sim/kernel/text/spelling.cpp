#include "sim/kernel/text/spelling.h"

#include <cctype>

#include "sim/kernel/text/float_text.h"

namespace xpusim::kernel {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

void spell_dims(std::string& out, const std::vector<std::int64_t>& shape) {
  for (const auto d : shape) {
    out += d == kDynamic ? std::string("?") : std::to_string(d);
    out += 'x';
  }
}

/// "4x128x64": dimensions with nothing after them.
void spell_bare_dims(std::string& out, const std::vector<std::int64_t>& shape) {
  spell_dims(out, shape);
  if (!shape.empty()) out.pop_back();
}

void spell_types(std::string& out, const std::vector<Type>& types, const AliasNames* names) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i) out += ", ";
    spell_type(out, types[i], names);
  }
}

void spell_function_type(std::string& out, const TypeData& type, const AliasNames* names) {
  out += '(';
  spell_types(out, type.inputs, names);
  out += ") -> ";
  const bool bare = type.results.size() == 1 && type.results[0]->kind != TypeKind::kFunction;
  if (!bare) out += '(';
  spell_types(out, type.results, names);
  if (!bare) out += ')';
}

/// The parameters in angle brackets of the types that have any.
void spell_params(std::string& out, const TypeData& type, const AliasNames* names) {
  out += '<';
  spell_dims(out, type.shape);
  if (type.element) spell_type(out, type.element, names);
  if (type.encoding) {
    out += ", ";
    spell_attr(out, type.encoding, names);
  }
  if (type.memory_space) {
    out += ", ";
    spell_attr(out, type.memory_space, names);
  }
  if (type.is_mutable) out += ", mutable";
  if (!type.alloc_shape.empty()) {
    out += ", ";
    spell_bare_dims(out, type.alloc_shape);
  }
  out += '>';
}

std::string_view mnemonic(TypeKind kind) {
  switch (kind) {
    case TypeKind::kPointer:
      return "!tt.ptr";
    case TypeKind::kTensor:
      return "tensor";
    case TypeKind::kVector:
      return "vector";
    case TypeKind::kMemDesc:
      return "!ttg.memdesc";
    case TypeKind::kMemRef:
      return "memref";
    case TypeKind::kTensorDesc:
      return "!tt.tensordesc";
    default:
      return "";
  }
}

/// One element of a dense attribute.
void spell_element(std::string& out, std::int64_t bits, Type element) {
  const DType d = element ? element->dtype : DType::kI64;
  if (d == DType::kI1) {
    out += bits ? "true" : "false";
  } else if (is_float(d)) {
    out += float_text(static_cast<std::uint64_t>(bits), d);
  } else if (element && element->is_unsigned) {
    out += std::to_string(static_cast<std::uint64_t>(bits));
  } else {
    out += std::to_string(bits);
  }
}

/// Lists with more elements than this are written as one hexadecimal string, as MLIR does.
constexpr std::size_t kHexLimit = 100;

void spell_dense_list(std::string& out, const AttrData& attr, std::size_t dim, std::size_t& next) {
  const auto& shape = attr.type->shape;
  if (dim == shape.size()) {
    spell_element(out, attr.ints[next++], attr.type->element);
    return;
  }
  out += '[';
  for (std::int64_t i = 0; i < shape[dim]; ++i) {
    if (i) out += ", ";
    spell_dense_list(out, attr, dim + 1, next);
  }
  out += ']';
}

void spell_dense_hex(std::string& out, const AttrData& attr) {
  const int bytes = byte_size(attr.type->element->dtype);
  out += "\"0x";
  for (const auto bits : attr.ints) {
    for (int i = 0; i < bytes; ++i) {
      const auto byte = static_cast<std::uint64_t>(bits) >> (8 * i) & 0xFF;
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 0xF];
    }
  }
  out += '"';
}

void spell_dense(std::string& out, const AttrData& attr, const AliasNames* names) {
  out += "dense<";
  if (attr.splat) {
    spell_element(out, attr.ints[0], attr.type->element);
  } else if (attr.ints.size() > kHexLimit && attr.type->element->dtype != DType::kI1) {
    spell_dense_hex(out, attr);
  } else if (!attr.ints.empty()) {
    std::size_t next = 0;
    spell_dense_list(out, attr, 0, next);
  }
  out += "> : ";
  spell_type(out, attr.type, names);
}

void spell_attrs(std::string& out, const std::vector<Attr>& attrs, const AliasNames* names) {
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    if (i) out += ", ";
    spell_attr(out, attrs[i], names);
  }
}

void spell_dense_array(std::string& out, const AttrData& attr, const AliasNames* names) {
  out += "array<";
  spell_type(out, attr.type, names);
  for (std::size_t i = 0; i < attr.ints.size(); ++i) {
    out += i ? ", " : ": ";
    spell_element(out, attr.ints[i], attr.type);
  }
  out += '>';
}

void spell_dialect_attr(std::string& out, const AttrData& attr, const AliasNames* names) {
  out += '#';
  out += attr.string;
  if (!attr.fields.empty()) {
    out += '<';
    spell_fields(out, attr.fields, names);
    out += '>';
  } else if (!attr.elements.empty()) {
    out += '<';
    spell_attrs(out, attr.elements, names);
    out += '>';
  } else if (!attr.body.empty()) {
    out += '<';
    out += attr.body;
    out += '>';
  }
}

/// ": i32" behind a number, where the text had a type.
void spell_suffix(std::string& out, Type type, const AliasNames* names) {
  if (!type) return;
  out += " : ";
  spell_type(out, type, names);
}

/// A location without the "loc(" around it: what stands inside another location.
void spell_inner_loc(std::string& out, Loc loc, const AliasNames* names) {
  if (names) {
    if (const auto it = names->locs.find(loc); it != names->locs.end()) {
      out += it->second;
      return;
    }
  } else if (loc->text.size() > 5) {
    out.append(loc->text, 4, loc->text.size() - 5);
    return;
  }
  spell_loc_body(out, *loc, names);
}

void spell_file_loc(std::string& out, const LocData& loc) {
  spell_string(out, loc.file_or_name);
  out += ':' + std::to_string(loc.line) + ':' + std::to_string(loc.column);
  if (!loc.end_line) return;
  out += " to ";
  if (loc.end_line != loc.line) out += std::to_string(loc.end_line);
  out += ':' + std::to_string(loc.end_column);
}

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '$')
      return false;
  }
  return text[0] != '.' && text[0] != '$';
}

void spell_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c != '"' && byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {
      out += '\\';
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 0xF];
    }
  }
  out += '"';
}

void spell_key(std::string& out, std::string_view key) {
  if (is_identifier(key)) {
    out += key;
  } else {
    spell_string(out, key);
  }
}

void spell_symbol(std::string& out, std::string_view symbol) {
  out += '@';
  spell_key(out, symbol);
}

void spell_fields(std::string& out, const std::vector<std::pair<std::string, Attr>>& fields,
                  const AliasNames* names) {
  out += '{';
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i) out += ", ";
    spell_key(out, fields[i].first);
    if (fields[i].second->kind == AttrKind::kUnit) continue;
    out += " = ";
    spell_attr(out, fields[i].second, names);
  }
  out += '}';
}

void spell_type(std::string& out, Type type, const AliasNames* names) {
  if (names) {
    if (const auto it = names->types.find(type); it != names->types.end()) {
      out += it->second;
      return;
    }
    // Only a layout or a nested type can have an alias.
    if (type->kind == TypeKind::kScalar) {
      out += type->text;
      return;
    }
  } else if (!type->text.empty()) {
    out += type->text;
    return;
  }
  spell_type_body(out, *type, names);
}

void spell_type_params(std::string& out, Type type, const AliasNames* names) {
  spell_params(out, *type, names);
}

void spell_type_body(std::string& out, const TypeData& type, const AliasNames* names) {
  switch (type.kind) {
    case TypeKind::kNone:
      out += "none";
      return;
    case TypeKind::kScalar:
      if (type.is_unsigned) out += 'u';
      out += name(type.dtype);
      return;
    case TypeKind::kFunction:
      spell_function_type(out, type, names);
      return;
    case TypeKind::kTuple:
      out += "tuple<";
      spell_types(out, type.inputs, names);
      out += '>';
      return;
    case TypeKind::kToken:
    case TypeKind::kOpaque:
      out += type.text;
      return;
    default:
      out += mnemonic(type.kind);
      spell_params(out, type, names);
  }
}

void spell_attr(std::string& out, Attr attr, const AliasNames* names) {
  if (names) {
    if (const auto it = names->attrs.find(attr); it != names->attrs.end()) {
      out += it->second;
      return;
    }
  } else if (!attr->text.empty()) {
    out += attr->text;
    return;
  }
  spell_attr_body(out, *attr, names);
}

void spell_attr_body(std::string& out, const AttrData& attr, const AliasNames* names) {
  switch (attr.kind) {
    case AttrKind::kUnit:
      out += "unit";
      return;
    case AttrKind::kBool:
      out += attr.integer ? "true" : "false";
      return;
    case AttrKind::kInteger:
      spell_element(out, attr.integer, attr.type ? attr.type : nullptr);
      spell_suffix(out, attr.type, names);
      return;
    case AttrKind::kFloat:
      out += float_text(static_cast<std::uint64_t>(attr.integer),
                        attr.type ? attr.type->dtype : DType::kF64);
      spell_suffix(out, attr.type, names);
      return;
    case AttrKind::kString:
      spell_string(out, attr.string);
      return;
    case AttrKind::kSymbol:
      spell_symbol(out, attr.string);
      return;
    case AttrKind::kArray:
      out += '[';
      spell_attrs(out, attr.elements, names);
      out += ']';
      return;
    case AttrKind::kDictionary:
      spell_fields(out, attr.fields, names);
      return;
    case AttrKind::kDenseArray:
      spell_dense_array(out, attr, names);
      return;
    case AttrKind::kDenseElements:
      spell_dense(out, attr, names);
      return;
    case AttrKind::kType:
      spell_type(out, attr.type, names);
      return;
    case AttrKind::kDialect:
      spell_dialect_attr(out, attr, names);
      return;
    case AttrKind::kOpaque:
      out += attr.string;
      return;
  }
}

void spell_loc(std::string& out, Loc loc, const AliasNames* names) {
  out += "loc(";
  spell_inner_loc(out, loc, names);
  out += ')';
}

void spell_loc_body(std::string& out, const LocData& loc, const AliasNames* names) {
  switch (loc.kind) {
    case LocKind::kUnknown:
      out += "unknown";
      return;
    case LocKind::kFile:
      spell_file_loc(out, loc);
      return;
    case LocKind::kName:
      spell_string(out, loc.file_or_name);
      if (!loc.child) return;
      out += '(';
      spell_inner_loc(out, loc.child, names);
      out += ')';
      return;
    case LocKind::kCallSite:
      out += "callsite(";
      spell_inner_loc(out, loc.child, names);
      out += " at ";
      spell_inner_loc(out, loc.caller, names);
      out += ')';
      return;
    case LocKind::kFused:
      out += "fused";
      if (!loc.file_or_name.empty()) out += '<' + loc.file_or_name + '>';
      out += '[';
      for (std::size_t i = 0; i < loc.fused.size(); ++i) {
        if (i) out += ", ";
        spell_inner_loc(out, loc.fused[i], names);
      }
      out += ']';
  }
}

}  // namespace xpusim::kernel
