// vector: the tiles of Mosaic kernels; mostly in generic form.
//
//   vector.load             base, indices*
//   vector.store            valueToStore, base, indices*
//   vector.multi_reduction  source, acc; "kind" (#vector.kind<add>, body "add"), "reduction_dims"
//   vector.broadcast        source (a scalar, or a vector that is stretched along new or 1-sized
//                           dimensions); vector.shape_cast: source

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_load(const Op& op) {
  const Type memory = op.operands[0]->type, vector = op.result()->type;
  if (op.operands.size() != memory->shape.size() + 1)
    return "needs an index for each of the " + std::to_string(memory->shape.size()) +
           " dimensions of its memref";
  return check_same_element(memory, vector, "base", "result");
}

std::string verify_store(const Op& op) {
  const Type memory = op.operands[1]->type, vector = op.operands[0]->type;
  if (op.operands.size() != memory->shape.size() + 2)
    return "needs an index for each of the " + std::to_string(memory->shape.size()) +
           " dimensions of its memref";
  return check_same_element(memory, vector, "base", "valueToStore");
}

std::string verify_multi_reduction(const Op& op) {
  const Type source = op.operands[0]->type, result = op.result()->type;
  const Attr dims = op.attr("reduction_dims");
  if (!dims || !op.attr("kind")) return "needs the attributes 'kind' and 'reduction_dims'";
  std::vector<bool> reduced(source->shape.size(), false);
  for (const auto dim : dims->int_list()) {
    if (dim < 0 || static_cast<std::size_t>(dim) >= reduced.size())
      return "has a reduction dimension beyond its operand's rank";
    reduced[static_cast<std::size_t>(dim)] = true;
  }
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) shape.push_back(source->shape[i]);
  }
  return result->shape == shape
             ? ""
             : "cannot reduce shape " + shape_text(source) + " to '" + result->text + "'";
}

std::string verify_broadcast(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (std::string problem = check_same_element(from, to, "source", "vector"); !problem.empty())
    return problem;
  const std::size_t lead = to->shape.size() - std::min(to->shape.size(), from->shape.size());
  bool fine = from->shape.size() <= to->shape.size();
  for (std::size_t i = 0; fine && i < from->shape.size(); ++i)
    fine = from->shape[i] == to->shape[lead + i] || from->shape[i] == 1;
  return fine ? "" : "cannot broadcast shape " + shape_text(from) + " to " + shape_text(to);
}

std::string verify_shape_cast(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (std::string problem = check_same_element(from, to, "source", "result"); !problem.empty())
    return problem;
  return check_same_count(from, to);
}

}  // namespace

void define_vector(Definitions& ops) {
  Dialect d("vector", ops);
  d.op("load")
      .in("base:memref, indices*:int")
      .out("result:vector")
      .types("indices = index")
      .format("$base `[` $indices `]` attr-dict `:` type($base) `,` type($result)")
      .verify(verify_load)
      .effects(kReadsShared);
  d.op("store")
      .in("valueToStore:vector, base:memref, indices*:int")
      .types("indices = index")
      .format(
          "$valueToStore `,` $base `[` $indices `]` attr-dict `:` type($base) `,` "
          "type($valueToStore)")
      .verify(verify_store)
      .effects(kWritesShared);
  d.op("multi_reduction")
      .in("source:vector, acc")
      .out("dest")
      .types("acc = dest")
      .format(
          "$kind:#vector.kind `,` $source `,` $acc attr-dict $reduction_dims:i64_list `:` "
          "type($source) `to` "
          "type($dest)")
      .verify(verify_multi_reduction);
  d.op("broadcast")
      .in("source")
      .out("vector:vector")
      .format("$source attr-dict `:` type($source) `to` type($vector)")
      .verify(verify_broadcast);
  d.op("shape_cast")
      .in("source:vector")
      .out("result:vector")
      .format("$source attr-dict `:` type($source) `to` type($result)")
      .verify(verify_shape_cast);
  d.op("bitcast")
      .in("source:vector")
      .out("result:vector")
      .format("$source attr-dict `:` type($source) `to` type($result)");
  // "permutation".
  d.op("transpose")
      .in("vector:vector")
      .out("result:vector")
      .format("$vector `,` $permutation:i64_list attr-dict `:` type($vector) `to` type($result)");
  d.op("splat")
      .in("input")
      .out("aggregate:vector")
      .types("input = element(aggregate)")
      .format("$input attr-dict `:` type($aggregate)");
  // vector, dynamic_position*; "static_position".
  d.op("extract").in("source:vector, dynamic_position*:int").out("result");
  d.op("extract_strided_slice")
      .in("source:vector")
      .out("result:vector")
      .format("$source attr-dict `:` type($source) `to` type($result)");
  d.op("shuffle").in("v1:vector, v2:vector").out("result:vector");
  d.op("fma")
      .in("lhs:vector, rhs:vector, acc:vector")
      .out("result:vector")
      .types("lhs = result; rhs = result; acc = result")
      .format("$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)")
      .effects(kElementwise);
}

}  // namespace xpusim::kernel
