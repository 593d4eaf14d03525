// tpu: Mosaic's vector ops, and their accesses of VMEM.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_vector_store(const Op& op) {
  const Type memory = op.operands[1]->type, value = op.operands[0]->type;
  if (op.group(2).size() != memory->shape.size())
    return "needs an index for each of the " + std::to_string(memory->shape.size()) +
           " dimensions of its memref";
  return check_same_element(memory, value, "base", "valueToStore");
}

std::string verify_vector_load(const Op& op) {
  const Type memory = op.operands[0]->type;
  if (op.group(1).size() != memory->shape.size())
    return "needs an index for each of the " + std::to_string(memory->shape.size()) +
           " dimensions of its memref";
  return check_same_element(memory, op.result()->type, "base", "result");
}

std::string verify_transpose(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  const Attr permutation = op.attr("permutation");
  if (!permutation) return "needs the attribute 'permutation'";
  const auto order = permutation->int_list();
  bool fine = order.size() == from->shape.size() && order.size() == to->shape.size() &&
              from->element == to->element;
  for (std::size_t i = 0; fine && i < order.size(); ++i) {
    fine = order[i] >= 0 && static_cast<std::size_t>(order[i]) < order.size() &&
           to->shape[i] == from->shape[static_cast<std::size_t>(order[i])];
  }
  return fine ? "" : "cannot transpose '" + from->text + "' to '" + to->text + "' in this order";
}

std::string verify_iota(const Op& op) {
  const Attr dims = op.attr("dimensions");
  if (!dims) return "needs the attribute 'dimensions'";
  for (const auto dim : dims->int_list()) {
    if (dim < 0 || static_cast<std::size_t>(dim) >= op.result()->type->shape.size())
      return "has a dimension beyond its result's rank";
  }
  return "";
}

void define_accesses(Dialect& d) {
  // valueToStore, base, indices*, mask?; "strides" (empty: dense), "add". The text ends with the
  // mask's type, so with a comma and nothing behind it where there is no mask.
  d.op("vector_store")
      .in("valueToStore:vector, base:memref, indices*:int, mask?:vector")
      .types("indices = index")
      .format(
          "$base `[` $indices `]` `,` $valueToStore (`masked` $mask^ )? attr-dict `:` type($base) "
          "`,` type($valueToStore) `,` type($mask)")
      .verify(verify_vector_store)
      .effects(kWritesShared);
  // base, indices*, mask?; "strides".
  d.op("vector_load")
      .in("base:memref, indices*:int, mask?:vector")
      .out("result:vector")
      .types("indices = index")
      .format(
          "$base `[` $indices `]` (`masked` $mask^ )? attr-dict `:` type($base) `,` type($result) "
          "`,` type($mask)")
      .verify(verify_vector_load)
      .effects(kReadsShared);
  // base, indices*; "strides".
  d.op("strided_load")
      .in("base:memref, indices*:int")
      .out("result:vector")
      .types("indices = index")
      .format("$base `[` $indices `]` attr-dict `:` type($base) `,` type($result)")
      .effects(kReadsShared);
  d.op("strided_store")
      .in("valueToStore:vector, base:memref, indices*:int")
      .types("indices = index")
      .format(
          "$base `[` $indices `]` `,` $valueToStore attr-dict `:` type($base) `,` "
          "type($valueToStore)")
      .effects(kWritesShared);

  // base, indices* (a vector for each dimension), mask?.
  d.op("vector_load_idx")
      .in("base:memref, indices*:vector, mask?:vector")
      .out("value:vector")
      .format(
          "$base `[` $indices `]` (`masked` $mask^ )? attr-dict `:` type($base) `[` type($indices) "
          "`]` `,` type($value) `,` type($mask)")
      .effects(kReadsShared);
  // valueToStore, base, indices* (a vector for each dimension), mask?; "add".
  d.op("vector_store_idx")
      .in("valueToStore:vector, base:memref, indices*:vector, mask?:vector")
      .format(
          "$base `[` $indices `]` `,` $valueToStore (`masked` $mask^ )? attr-dict `:` type($base) "
          "`[` type($indices) `]` `,` type($valueToStore) `,` type($mask)")
      .effects(kWritesShared);
}

void define_vectors(Dialect& d) {
  // lhs, rhs, acc; "dimension_numbers" (#tpu.dot_dimension_numbers<contracting lhs, rhs,
  // non-contracting lhs, rhs, output order as (operand, dimension) pairs, batch lhs, rhs>:
  // elements), "precision", "transpose_lhs_hint".
  d.op("matmul")
      .in("lhs:vector, rhs:vector, acc:vector")
      .out("result:vector")
      .types("acc = result")
      .format(
          "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc) `->` "
          "type($result)");
  // "dimensions".
  d.op("iota").out("output:vector").format("attr-dict `:` type($output)").verify(verify_iota);
  // "permutation".
  d.op("transpose")
      .in("vector:vector")
      .out("result:vector")
      .format("$vector `,` $permutation:i64_list attr-dict `:` type($vector) `->` type($result)")
      .verify(verify_transpose);
  // source; "dim", "kind".
  d.op("all_reduce")
      .in("input:vector")
      .out("output:vector")
      .format("$input attr-dict `:` type($input) `->` type($output)");
  d.op("reduce_index")
      .in("input:vector")
      .out("output:vector")
      .format("$input attr-dict `:` type($input) `->` type($output)");
  // sources*; "dimension".
  d.op("concatenate")
      .in("sources*:vector")
      .out("output:vector")
      .format("$sources `in` $dimension:i32 attr-dict `:` type($sources) `->` type($output)");
  // value, amount; "dimension", "stride", "stride_dimension".
  d.op("dynamic_rotate")
      .in("value:vector, amount:int")
      .out("result:vector")
      .types("value = result; amount = i32")
      .format(
          "$value `by` $amount `dim` $dimension:i32 attr-dict `:` type($value) `,` type($amount) "
          "`->` type($result)");
  d.op("rotate")
      .in("value:vector")
      .out("result:vector")
      .types("value = result")
      .format(
          "$value `by` $amount:i32 `dim` $dimension:i32 (`stride` $stride:i32^ `stride_dim` "
          "$stride_dimension:i32 )? attr-dict `:` type($value)");
  // source, indices; "dimensions".
  d.op("dynamic_gather")
      .in("source:vector, indices:vector")
      .out("output:vector")
      .format(
          "$source `[` $indices `]` `in` $dimensions:i32_list attr-dict `:` type($source) `,` "
          "type($indices) `->` type($output)");
  // source; "times", "dimension".
  d.op("repeat")
      .in("source:vector")
      .out("output:vector")
      .format(
          "$source `,` $dimension:i32 `x` $times:i32 attr-dict `:` type($source) `->` "
          "type($output)");
  const auto unary = [&](std::string_view mnemonic) {
    d.op(mnemonic)
        .in("input")
        .out("output")
        .format("$input attr-dict `:` type($input) `->` type($output)")
        .effects(kElementwise);
  };
  // fptosi, fptoui, sitofp, uitofp: "rounding_mode"; reciprocal: "approx", "full_range".
  for (const auto mnemonic :
       {"bitcast", "bitcast_vreg", "extf", "truncf", "fptosi", "fptoui", "sitofp", "uitofp",
        "reciprocal", "logistic", "weird", "mask_cast", "reshape"}) {
    unary(mnemonic);
  }
  // low*, high*: the box of true elements.
  d.op("create_mask")
      .in("low*:int, high*:int")
      .out("output:vector")
      .types("low = index; high = index")
      .format("`[` $low `]` `` `[` $high `]` attr-dict `:` type($output)");

  // input, mask?; "kind" (#tpu.reduction_kind<sum>).
  d.op("scan")
      .in("input:vector, mask?:vector")
      .out("output:vector")
      .format(
          "$kind:#tpu.reduction_kind `,` $input (`masked` $mask^ )? attr-dict `:` type($input) `,` "
          "type($mask) `->` type($output)");
  // keys, values, mask?; "descending".
  d.op("sort")
      .in("keys:vector, values:vector, mask?:vector")
      .out("output_mask:vector, sorted_keys:vector, sorted_values:vector")
      .format("$keys `,` $values (`masked` $mask^ )? attr-dict `:` signature");
  // source; "indices", "dimension".
  d.op("gather")
      .in("source:vector")
      .out("output:vector")
      .format(
          "$source $indices:i32_list `in` $dimension:i32 attr-dict `:` type($source) `->` "
          "type($output)");
  // source; "index", "pack_format" (unpack_subelements), "source_type" (unpack_elementwise).
  for (const auto mnemonic : {"unpack_subelements", "unpack_elementwise"}) {
    d.op(mnemonic)
        .in("source:vector")
        .out("output:vector")
        .format("$source `,` $index:i32 attr-dict `:` type($source) `->` type($output)");
  }
  // sources*; "positions", "pack_format" (pack_subelements), "target_type" (pack_elementwise).
  for (const auto mnemonic :
       {"pack_subelements", "pack_elementwise", "pack_vmsk", "roll_vectors"}) {
    d.op(mnemonic)
        .in("sources*:vector")
        .out("output:vector")
        .format("$sources attr-dict `:` type($sources) `->` type($output)");
  }
  d.op("unroll_vectors")
      .in("input:vector")
      .out("output*:vector")
      .format("$input attr-dict `:` type($input) `->` type($output)");
  // input, random; "dst_type" (stochastic_convert_elementwise).
  for (const auto mnemonic : {"stochastic_convert", "stochastic_convert_elementwise"}) {
    d.op(mnemonic)
        .in("input:vector, random:vector")
        .out("output:vector")
        .format(
            "$input `,` $random attr-dict `:` type($input) `,` type($random) `->` type($output)")
        .effects(kElementwise);
  }
  // Generic form only: seeds*; and as many random bits as the result has.
  d.op("prng_set_seed_32").in("seeds*:int").effects(kVisible);
  d.op("prng_random_bits").out("output:vector").effects(kVisible);
}

}  // namespace

void define_tpu_vectors(Definitions& ops) {
  Dialect d("tpu", ops);
  define_accesses(d);
  define_vectors(d);
}

}  // namespace xpusim::kernel
