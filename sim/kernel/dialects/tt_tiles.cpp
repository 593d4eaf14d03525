// tt: Triton's language, making and combining tiles. Groups and attributes are named at each op;
// enumerations (inputPrecision, a_elem_type) are integers as in grammar/enums.h.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_splat(const Op& op) {
  return check_same_element(op.operands[0]->type, op.result()->type, "src", "result");
}

std::string verify_broadcast(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (std::string problem = check_same_element(from, to, "src", "result"); !problem.empty())
    return problem;
  return check_broadcast(from, to);
}

std::string verify_make_range(const Op& op) {
  const Type type = op.result()->type;
  if (!op.attr("start") || !op.attr("end")) return "needs the attributes 'start' and 'end'";
  const std::int64_t count = op.int_attr("end") - op.int_attr("start");
  if (type->shape.size() == 1 && type->shape[0] == count && type->dtype == DType::kI32) return "";
  return "gives " + std::to_string(count) + " values of i32, its result is '" + type->text + "'";
}

std::string verify_expand_dims(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  const std::int64_t axis = op.int_attr("axis", -1);
  if (axis < 0 || axis > static_cast<std::int64_t>(from->shape.size()))
    return "needs an 'axis' from 0 to " + std::to_string(from->shape.size());
  auto shape = from->shape;
  shape.insert(shape.begin() + axis, 1);
  if (to->shape == shape) return check_same_element(from, to, "src", "result");
  return "with axis " + std::to_string(axis) + " cannot turn shape " + shape_text(from) + " into " +
         shape_text(to);
}

std::string verify_reshape(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (std::string problem = check_same_element(from, to, "src", "result"); !problem.empty())
    return problem;
  return check_same_count(from, to);
}

std::string verify_trans(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (!op.attr("order")) return "needs the attribute 'order'";
  const auto order = op.attr("order")->int_list();
  bool fine = order.size() == from->shape.size() && order.size() == to->shape.size();
  for (std::size_t i = 0; fine && i < order.size(); ++i) {
    fine = order[i] >= 0 && static_cast<std::size_t>(order[i]) < order.size() &&
           to->shape[i] == from->shape[static_cast<std::size_t>(order[i])];
  }
  if (!fine)
    return "cannot transpose shape " + shape_text(from) + " to " + shape_text(to) +
           " in this order";
  return check_same_element(from, to, "src", "result");
}

/// Both are matrices, or batches of matrices: [.., M, K] x [.., K, N] -> [.., M, N].
std::string verify_dot(const Op& op) {
  const Type a = op.operands[0]->type, b = op.operands[1]->type, c = op.operands[2]->type;
  const std::size_t rank = a->shape.size();
  const bool fine = rank >= 2 && rank <= 3 && b->shape.size() == rank && c->shape.size() == rank &&
                    a->shape[rank - 1] == b->shape[rank - 2] &&
                    c->shape[rank - 2] == a->shape[rank - 2] &&
                    c->shape[rank - 1] == b->shape[rank - 1] &&
                    (rank == 2 || (a->shape[0] == b->shape[0] && a->shape[0] == c->shape[0]));
  return fine ? ""
              : "cannot multiply shapes " + shape_text(a) + " and " + shape_text(b) + " into " +
                    shape_text(c);
}

/// One result an operand, without the reduced dimension; the region combines two of each.
std::string verify_reduce(const Op& op) {
  if (op.operands.empty() || op.results.size() != op.operands.size())
    return "needs a result for each operand";
  const Type first = op.operands[0]->type;
  const std::int64_t axis = op.int_attr("axis", -1);
  if (axis < 0 || axis >= static_cast<std::int64_t>(first->shape.size()))
    return "needs an 'axis' below its operands' rank, " + std::to_string(first->shape.size());
  auto shape = first->shape;
  shape.erase(shape.begin() + axis);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Type from = op.operands[i]->type, to = op.results[i]->type;
    if (from->shape != first->shape) return "needs operands of one shape";
    if (to->shape != shape)
      return "over axis " + std::to_string(axis) + " of shape " + shape_text(from) +
             " cannot give '" + to->text + "'";
    if (std::string problem = check_same_element(from, to, "src", "result"); !problem.empty())
      return problem;
  }
  return "";
}

std::string verify_scan(const Op& op) {
  if (op.operands.empty() || op.results.size() != op.operands.size())
    return "needs a result for each operand";
  const std::int64_t axis = op.int_attr("axis", -1);
  if (axis < 0 || axis >= static_cast<std::int64_t>(op.operands[0]->type->shape.size()))
    return "needs an 'axis' below its operands' rank";
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i]->type != op.results[i]->type) return "needs results of its operands' types";
  }
  return "";
}

/// The combining region of tt.reduce and tt.scan: one block of two scalars an operand.
std::string verify_combiner(const Op& op) {
  if (op.regions.size() != 1 || op.regions[0]->blocks.size() != 1)
    return "needs one region of one block";
  const Block& block = *op.regions[0]->blocks[0];
  const std::size_t count = op.operands.size();
  if (block.args.size() != 2 * count)
    return "needs a block of " + std::to_string(2 * count) + " arguments";
  for (std::size_t i = 0; i < block.args.size(); ++i) {
    if (block.args[i]->type != op.operands[i % count]->type->element)
      return "needs a block of its operands' element types";
  }
  const std::string end = std::string(op.name()) + ".return";
  if (block.ops.empty() || block.ops.back()->name() != end)
    return "needs a region that ends with '" + end + "'";
  if (block.ops.back()->operands.size() != count)
    return "needs " + std::to_string(count) + " values from its region";
  return "";
}

std::string verify_reduce_op(const Op& op) {
  std::string problem = verify_reduce(op);
  return problem.empty() ? verify_combiner(op) : problem;
}

std::string verify_scan_op(const Op& op) {
  std::string problem = verify_scan(op);
  return problem.empty() ? verify_combiner(op) : problem;
}

void define_tiles(Dialect& d) {
  // "start", "end" (exclusive).
  d.op("make_range")
      .out("result:tensor")
      .format("attr-dict `:` type($result)")
      .verify(verify_make_range);
  d.op("splat")
      .in("src")
      .out("result:tensor")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .verify(verify_splat)
      .effects(kElementwise);
  d.op("unsplat")
      .in("src:tensor")
      .out("result")
      .types("result = element(src)")
      .format("$src attr-dict `:` type($src)");
  d.op("broadcast")
      .in("src:tensor")
      .out("result:tensor")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .verify(verify_broadcast);
  // "axis".
  d.op("expand_dims")
      .in("src:tensor")
      .out("result:tensor")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .verify(verify_expand_dims);
  // "allow_reorder", "efficient_layout" (units).
  d.op("reshape")
      .in("src:tensor")
      .out("result:tensor")
      .format(
          "$src (`allow_reorder` $allow_reorder:unit^ )? (`efficient_layout` "
          "$efficient_layout:unit^ )? attr-dict `:` type($src) `->` type($result)")
      .verify(verify_reshape);
  // "order": result dimension i is source dimension order[i].
  d.op("trans")
      .in("src:tensor")
      .out("result:tensor")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .verify(verify_trans);
  d.op("cat")
      .in("lhs:tensor, rhs:tensor")
      .out("result:tensor")
      .types("rhs = lhs")
      .format("$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)");
  // A new last dimension of 2: lhs, then rhs.
  d.op("join")
      .in("lhs:tensor, rhs:tensor")
      .out("result:tensor")
      .types("rhs = lhs")
      .format("$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)");
  d.op("split")
      .in("src:tensor")
      .out("lhs:tensor, rhs:tensor")
      .types("rhs = lhs")
      .format("$src attr-dict `:` type($src) `->` type($lhs)");
  // src, indices; "axis".
  d.op("gather")
      .in("src:tensor, indices:tensor")
      .out("result:tensor")
      .format("$src `[` $indices `]` attr-dict `:` signature")
      .verify([](const Op& op) {
        return check_same_shape(op.operands[1]->type, op.result()->type, "indices", "result");
      });
  // src, mask?; the result's size is the number of bins.
  d.op("histogram")
      .in("src:tensor, mask?:tensor")
      .out("result:tensor")
      .types("mask = bool(src)")
      .format("$src (`,` $mask^ )? attr-dict `:` type($src) `->` type($result)");
}

void define_combining(Dialect& d) {
  // srcs*; "axis"; the region combines two of each and ends in tt.reduce.return of as many.
  d.op("reduce").in("srcs*:tensor").out("results*").verify(verify_reduce_op);
  d.op("reduce.return")
      .in("results*")
      .format("$results attr-dict `:` type($results)")
      .effects(kTerminator);
  // srcs*; "axis", "reverse".
  d.op("scan").in("srcs*:tensor").out("results*").verify(verify_scan_op);
  d.op("scan.return")
      .in("results*")
      .format("$results attr-dict `:` type($results)")
      .effects(kTerminator);
  // srcs*; "pack"; the region computes the elements of the results.
  d.op("map_elementwise").in("srcs*:tensor").out("results*:tensor").effects(kElementwise);
  d.op("map_elementwise.return")
      .in("results*")
      .format("$results attr-dict `:` type($results)")
      .effects(kTerminator);
  // a, b, c (the accumulator); "inputPrecision", "maxNumImpreciseAcc".
  d.op("dot")
      .in("a:tensor, b:tensor, c:tensor")
      .out("d:tensor")
      .types("c = d")
      .format(
          "$a `,` $b `,` $c (`,` `inputPrecision` `=` $inputPrecision:input_precision^ )? "
          "attr-dict `:` type($a) `*` type($b) `->` type($d)")
      .verify(verify_dot);
  // a, a_scale?, b, b_scale?, c; "a_elem_type", "b_elem_type", "fastMath", "lhs_k_pack",
  // "rhs_k_pack".
  d.op("dot_scaled")
      .in("a:tensor, b:tensor, c:tensor, a_scale?:tensor, b_scale?:tensor")
      .out("d:tensor")
      .types("c = d")
      .format(
          "$a (`scale` $a_scale^ )? `,` $b (`scale` $b_scale^ )? `,` $c `lhs` `=` "
          "$a_elem_type:scale_dot_elem `rhs` `=` $b_elem_type:scale_dot_elem attr-dict "
          "`:` type($a) (`,` type($a_scale)^ )? `*` type($b) (`,` type($b_scale)^ )? `->` "
          "type($d)");
}

}  // namespace

void define_tt_tiles(Definitions& ops) {
  Dialect d("tt", ops);
  define_tiles(d);
  define_combining(d);
}

}  // namespace xpusim::kernel
