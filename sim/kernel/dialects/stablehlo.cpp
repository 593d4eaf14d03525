// stablehlo: what JAX prints for XLA. It is read, printed, and made kernels of (sim/run/stablehlo);
// the executor does not run it. The element-wise ops, constants, shapes, reductions with a named
// reducer and products of default precision; others are unknown ops.

#include <algorithm>

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

using Dims = std::vector<std::int64_t>;

Dims dims_of(const Op& op, std::string_view attribute) {
  const Attr list = op.attr(attribute);
  return list ? list->int_list() : Dims();
}

/// Each is a dimension of the type, and none is there twice.
std::string check_dims(Dims dims, Type type, std::string_view what) {
  const auto rank = static_cast<std::int64_t>(type->shape.size());
  for (const std::int64_t d : dims) {
    if (d < 0 || d >= rank) {
      return std::string(what) + " has no dimension " + std::to_string(d) + ", its shape is " +
             shape_text(type);
    }
  }
  std::sort(dims.begin(), dims.end());
  const auto twice = std::adjacent_find(dims.begin(), dims.end());
  if (twice == dims.end()) return "";
  return "names dimension " + std::to_string(*twice) + " of " + std::string(what) + " twice";
}

std::string check_shape(Type result, const Dims& shape) {
  if (result->shape == shape) return "";
  TypeData wanted;
  wanted.shape = shape;
  return "gives a result of the shape " + shape_text(&wanted) + ", not " + shape_text(result);
}

std::int64_t extent(Type type, std::int64_t dim) {
  return type->shape[static_cast<std::size_t>(dim)];
}

/// The type's dimensions that are not among these, in order.
void append_others(Type type, const Dims& dims, Dims& shape) {
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(type->shape.size()); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) shape.push_back(extent(type, d));
  }
}

/// The dimensions of a product that go together: each of the first factor with one of the second.
std::string check_pairs(const Op& op, const Dims& left, const Dims& right, std::string_view what) {
  if (left.size() != right.size()) {
    return "has " + std::to_string(left.size()) + " and " + std::to_string(right.size()) + " " +
           std::string(what) + " dimensions";
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::int64_t a = extent(op.operands[0]->type, left[i]);
    const std::int64_t b = extent(op.operands[1]->type, right[i]);
    if (a == b) continue;
    return "has " + std::string(what) + " dimensions that differ: " + std::to_string(left[i]) +
           " of " + shape_text(op.operands[0]->type) + " and " + std::to_string(right[i]) + " of " +
           shape_text(op.operands[1]->type);
  }
  return "";
}

std::string verify_dot_general(const Op& op) {
  const Type types[] = {op.operands[0]->type, op.operands[1]->type};
  const Dims batches[] = {dims_of(op, "lhs_batching"), dims_of(op, "rhs_batching")};
  const Dims summed[] = {dims_of(op, "lhs_contracting"), dims_of(op, "rhs_contracting")};
  Dims shape, named[2];
  for (std::size_t k = 0; k < 2; ++k) {
    named[k] = batches[k];
    named[k].insert(named[k].end(), summed[k].begin(), summed[k].end());
    std::string why = check_dims(named[k], types[k], k == 0 ? "'lhs'" : "'rhs'");
    if (!why.empty()) return why;
  }
  if (auto why = check_pairs(op, batches[0], batches[1], "batching"); !why.empty()) return why;
  if (auto why = check_pairs(op, summed[0], summed[1], "contracting"); !why.empty()) return why;
  for (const std::int64_t d : batches[0]) shape.push_back(extent(types[0], d));
  for (std::size_t k = 0; k < 2; ++k) append_others(types[k], named[k], shape);
  return check_shape(op.result()->type, shape);
}

std::string verify_transpose(const Op& op) {
  const Type from = op.operands[0]->type;
  const Dims order = dims_of(op, "permutation");
  if (order.size() != from->shape.size()) return "needs a place for each dimension";
  if (auto why = check_dims(order, from, "'operand'"); !why.empty()) return why;
  Dims shape;
  for (const std::int64_t d : order) shape.push_back(extent(from, d));
  return check_shape(op.result()->type, shape);
}

std::string verify_broadcast_in_dim(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  const Dims dims = dims_of(op, "broadcast_dimensions");
  if (dims.size() != from->shape.size()) return "needs a place for each dimension";
  if (auto why = check_dims(dims, to, "'result'"); !why.empty()) return why;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (from->shape[d] == 1 || from->shape[d] == extent(to, dims[d])) continue;
    return "cannot broadcast shape " + shape_text(from) + " to " + shape_text(to);
  }
  return "";
}

std::string verify_reshape(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  const auto unknown = [](Type t) {
    return std::count(t->shape.begin(), t->shape.end(), kDynamic);
  };
  return unknown(from) || unknown(to) ? "" : check_same_count(from, to);
}

std::string verify_reduce(const Op& op) {
  const Type from = op.operands[0]->type;
  const Dims dims = dims_of(op, "dimensions");
  if (auto why = check_dims(dims, from, "'input'"); !why.empty()) return why;
  Dims shape;
  append_others(from, dims, shape);
  return check_shape(op.result()->type, shape);
}

}  // namespace

void define_stablehlo(Definitions& ops) {
  Dialect d("stablehlo", ops);
  constexpr const char* kOneToOne = "$operand attr-dict `:` signature";
  d.op("constant").out("output:tensor").grammar(constant_grammar());
  for (const auto mnemonic : {"add", "and", "atan2", "divide", "maximum", "minimum", "multiply",
                              "or", "power", "remainder", "subtract", "xor"}) {
    d.op(mnemonic)
        .in("lhs:tensor, rhs:tensor")
        .out("result:tensor")
        .types("lhs = result; rhs = result")
        .format("$lhs `,` $rhs attr-dict `:` type($result)");
  }
  for (const auto mnemonic : {"abs", "ceil", "cosine", "exponential", "floor", "log", "logistic",
                              "negate", "rsqrt", "sign", "sine", "sqrt", "tanh"}) {
    d.op(mnemonic)
        .in("operand:tensor")
        .out("result:tensor")
        .types("operand = result")
        .format("$operand attr-dict `:` type($result)");
  }
  d.op("convert")
      .in("operand:tensor")
      .out("result:tensor")
      .format(kOneToOne)
      .verify([](const Op& op) {
        return check_same_shape(op.operands[0]->type, op.result()->type, "operand", "result");
      });
  d.op("reshape")
      .in("operand:tensor")
      .out("result:tensor")
      .format(kOneToOne)
      .verify(verify_reshape);
  d.op("broadcast_in_dim")
      .in("operand:tensor")
      .out("result:tensor")
      .format("$operand `,` `dims` `=` $broadcast_dimensions:i64_list attr-dict `:` signature")
      .verify(verify_broadcast_in_dim);
  d.op("transpose")
      .in("operand:tensor")
      .out("result:tensor")
      .format("$operand `,` `dims` `=` $permutation:i64_list attr-dict `:` signature")
      .verify(verify_transpose);
  d.op("dot_general")
      .in("lhs:tensor, rhs:tensor")
      .out("result:tensor")
      .format(
          "$lhs `,` $rhs `,` (`batching_dims` `=` $lhs_batching:i64_list^ `x` "
          "$rhs_batching:i64_list `,` )? `contracting_dims` `=` $lhs_contracting:i64_list `x` "
          "$rhs_contracting:i64_list `,` `precision` `=` `[` `DEFAULT` `,` `DEFAULT` `]` attr-dict "
          "`:` signature")
      .verify(verify_dot_general);
  // "reducer": the op that combines two elements.
  d.op("reduce")
      .in("input:tensor, init:tensor")
      .out("result:tensor")
      .format(
          "`` `(` $input `init` `` `:` $init `)` `applies` $reducer:stablehlo_reducer `across` "
          "`dimensions` `=` $dimensions:i64_list attr-dict `:` signature")
      .verify(verify_reduce);
}

}  // namespace xpusim::kernel
