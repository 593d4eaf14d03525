#include "sim/kernel/ir.h"

#include "sim/kernel/op_info.h"

namespace xpusim::kernel {

Type TypeData::pointee() const {
  if (kind == TypeKind::kPointer) return element;
  if (is_shaped() && element && element->kind == TypeKind::kPointer) return element->element;
  return nullptr;
}

std::int64_t TypeData::count() const {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  return n;
}

Attr AttrData::get(std::string_view field) const {
  for (const auto& [name, value] : fields) {
    if (name == field) return value;
  }
  return nullptr;
}

std::vector<std::int64_t> AttrData::int_list() const {
  if (kind != AttrKind::kArray) return ints;
  std::vector<std::int64_t> values;
  values.reserve(elements.size());
  for (const Attr element : elements) values.push_back(element->integer);
  return values;
}

SourcePosition user_line(Loc loc) {
  if (!loc) return {};
  switch (loc->kind) {
    case LocKind::kFile:
      return {loc->file_or_name, loc->line, loc->column};
    case LocKind::kName:
      return user_line(loc->child);
    case LocKind::kCallSite: {
      SourcePosition caller = user_line(loc->caller);
      return caller.file.empty() ? user_line(loc->child) : caller;
    }
    case LocKind::kFused:
      for (const Loc part : loc->fused) {
        if (SourcePosition position = user_line(part); !position.file.empty()) return position;
      }
      return {};
    case LocKind::kUnknown:
      break;
  }
  return {};
}

std::string_view loc_name(Loc loc) {
  return loc && loc->kind == LocKind::kName ? std::string_view(loc->file_or_name)
                                            : std::string_view();
}

std::string_view parameter_name(const Value& parameter) {
  std::string_view name = parameter.name;
  for (Loc loc = parameter.loc; loc && loc->kind == LocKind::kName; loc = loc->child) {
    name = loc->file_or_name;
  }
  return name;
}

std::string_view Op::name() const { return info->name; }

Attr Op::attr(std::string_view key) const {
  for (const auto& [name, value] : attrs) {
    if (name == key) return value;
  }
  return nullptr;
}

std::int64_t Op::int_attr(std::string_view key, std::int64_t otherwise) const {
  const Attr value = attr(key);
  return value ? value->integer : otherwise;
}

std::string_view Op::str_attr(std::string_view key) const {
  const Attr value = attr(key);
  return value ? std::string_view(value->string) : std::string_view();
}

std::span<Value* const> Op::group(std::size_t i) const {
  const std::span<Value* const> all(operands);
  if (segments.empty()) {
    // Without segments every group is single, or the op is ungrouped and all operands are one
    // group.
    if (info->operands.empty()) return i == 0 ? all : all.subspan(0, 0);
    return i < all.size() ? all.subspan(i, 1) : all.subspan(0, 0);
  }
  std::size_t from = 0;
  for (std::size_t k = 0; k < i && k < segments.size(); ++k) from += segments[k];
  return i < segments.size() ? all.subspan(from, segments[i]) : all.subspan(0, 0);
}

Value* Op::operand_of(std::size_t i) const {
  const auto values = group(i);
  return values.empty() ? nullptr : values[0];
}

SourcePosition Op::line() const {
  SourcePosition position = user_line(loc);
  return position.file.empty() ? text : position;
}

std::string_view name(Form f) {
  switch (f) {
    case Form::kTtir:
      return "ttir";
    case Form::kTtgir:
      return "ttgir";
    case Form::kMosaic:
      return "mosaic";
    case Form::kStableHlo:
      return "stablehlo";
  }
  return "";
}

}  // namespace xpusim::kernel
