#include "sim/kernel/analysis/op_facts.h"

#include <array>
#include <bit>
#include <cmath>

namespace xpusim::kernel {
namespace {

constexpr std::array<std::string_view, 10> kCompareNames = {"eq",  "ne",  "slt", "sle", "sgt",
                                                            "sge", "ult", "ule", "ugt", "uge"};

Attr constant_attr(const Value& value) {
  const Op* def = source_of(value).def;
  return def && def->name() == "arith.constant" ? def->attr("value") : nullptr;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::optional<double> decode_float(DType dtype, std::int64_t bits) {
  switch (dtype) {
    case DType::kF64:
      return std::bit_cast<double>(bits);
    case DType::kF32:
    case DType::kTF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case DType::kF16:
      return half_to_double(static_cast<std::uint16_t>(bits));
    default:
      return std::nullopt;
  }
}

}  // namespace

const Value& source_of(const Value& value) {
  const Op* op = value.owner && value.owner->parent ? value.owner->parent->parent : nullptr;
  if (value.def || !op || op->name() != "ttg.warp_specialize") return value;
  return source_of(*op->operands[value.index]);
}

Compare compare_of(const Op& cmpi) {
  const Attr predicate = cmpi.attr("predicate");
  if (!predicate) return Compare::kUnknown;
  if (predicate->kind == AttrKind::kInteger) {
    const auto n = predicate->integer;
    return n >= 0 && n < 10 ? static_cast<Compare>(n) : Compare::kUnknown;
  }
  for (std::size_t i = 0; i < kCompareNames.size(); ++i) {
    if (predicate->string == kCompareNames[i]) return static_cast<Compare>(i);
  }
  return Compare::kUnknown;
}

std::string_view name(Compare c) {
  const auto i = static_cast<std::size_t>(c);
  return i < kCompareNames.size() ? kCompareNames[i] : "?";
}

bool holds(Compare how, std::int64_t left, std::int64_t right) {
  const auto x = static_cast<std::uint64_t>(left), y = static_cast<std::uint64_t>(right);
  switch (how) {
    case Compare::kEq:
      return left == right;
    case Compare::kNe:
      return left != right;
    case Compare::kSlt:
      return left < right;
    case Compare::kSle:
      return left <= right;
    case Compare::kSgt:
      return left > right;
    case Compare::kSge:
      return left >= right;
    case Compare::kUlt:
      return x < y;
    case Compare::kUle:
      return x <= y;
    case Compare::kUgt:
      return x > y;
    case Compare::kUge:
      return x >= y;
    case Compare::kUnknown:
      break;
  }
  return false;
}

std::optional<std::int64_t> integer_constant(const Value& value) {
  const Attr attr = constant_attr(value);
  if (!attr) return std::nullopt;
  if (attr->kind == AttrKind::kInteger || attr->kind == AttrKind::kBool) return attr->integer;
  if (attr->kind == AttrKind::kDenseElements && attr->splat && attr->ints.size() == 1 &&
      is_integer(value.type->dtype)) {
    return attr->ints[0];
  }
  return std::nullopt;
}

std::optional<double> float_constant(const Value& value) {
  const Attr attr = constant_attr(value);
  if (!attr) return std::nullopt;
  if (attr->kind == AttrKind::kFloat) return attr->real;
  if (attr->kind == AttrKind::kDenseElements && attr->splat && attr->ints.size() == 1) {
    return decode_float(value.type->dtype, attr->ints[0]);
  }
  return std::nullopt;
}

std::int64_t argument_attr(const Op& function, std::uint32_t index, std::string_view key,
                           std::int64_t otherwise) {
  const Attr all = function.attr("arg_attrs");
  if (!all || index >= all->elements.size()) return otherwise;
  const Attr value = all->elements[index]->get(key);
  return value && value->kind == AttrKind::kInteger ? value->integer : otherwise;
}

std::int64_t pointee_bytes(Type type) {
  const Type pointee = type->is_pointer_like() ? type->pointee() : nullptr;
  if (!pointee) return 0;
  return pointee->kind == TypeKind::kPointer ? 8 : byte_size(pointee->dtype);
}

}  // namespace xpusim::kernel
