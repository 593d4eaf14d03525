// tpu: Mosaic's own ops.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_vector_store(const Op& op) {
  const Type memory = op.operands[0]->type, value = op.operand_of(2)->type;
  if (op.group(1).size() != memory->shape.size())
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

std::string verify_memref_slice(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (op.group(1).size() != from->shape.size())
    return "needs an index for each of the " + std::to_string(from->shape.size()) +
           " dimensions of its memref";
  return from->element == to->element && from->shape.size() == to->shape.size()
             ? ""
             : "cannot slice '" + from->text + "' into '" + to->text + "'";
}

/// The result's shape is the operand's without some dimensions of 1.
std::string verify_memref_squeeze(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  std::size_t next = 0;
  for (const auto extent : from->shape) {
    if (next < to->shape.size() && to->shape[next] == extent)
      ++next;
    else if (extent != 1)
      return "cannot squeeze shape " + shape_text(from) + " into " + shape_text(to);
  }
  return next == to->shape.size() && from->element == to->element
             ? ""
             : "cannot squeeze '" + from->text + "' into '" + to->text + "'";
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

void define_vectors(Dialect& d) {
  // base, indices*, valueToStore, mask?; "strides" (empty: dense). The text ends with the mask's
  // type, so with a comma and nothing behind it where there is no mask.
  d.op("vector_store")
      .in("base:memref, indices*:int, valueToStore:vector, mask?:vector")
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
      .in("base:memref, indices*:int, valueToStore:vector")
      .types("indices = index")
      .format(
          "$base `[` $indices `]` `,` $valueToStore attr-dict `:` type($base) `,` "
          "type($valueToStore)")
      .effects(kWritesShared);

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
          "$value `by` $amount:i32 `dim` $dimension:i32 attr-dict `:` type($value) `->` "
          "type($result)");
  // source, indices; "dimensions".
  d.op("dynamic_gather")
      .in("source:vector, indices:vector")
      .out("output:vector")
      .format(
          "$source `[` $indices `]` `in` $dimensions attr-dict `:` type($source) `,` "
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
      .format("`[` $low `]` `[` $high `]` attr-dict `:` type($output)");
}

void define_memory(Dialect& d) {
  // mem_ref, base_idx*, dynamic_sizes*.
  d.op("memref_slice")
      .in("mem_ref:memref, base_idx*:int, dynamic_sizes*:int")
      .out("result:memref")
      .format(
          "$mem_ref `[` $base_idx `]` (`<` $dynamic_sizes^ `>` )? attr-dict `:` type($mem_ref) "
          "`->` type($result)")
      .verify(verify_memref_slice);
  const auto view = [&](std::string_view mnemonic, std::string (*verify)(const Op&)) {
    d.op(mnemonic)
        .in("input:memref")
        .out("result:memref")
        .format("$input attr-dict `:` type($input) `->` type($result)")
        .verify(verify);
  };
  view("memref_squeeze", verify_memref_squeeze);
  view("memref_reshape", nullptr);
  view("memref_bitcast", nullptr);
  view("reinterpret_cast", nullptr);
  view("erase_memref_layout", nullptr);
  view("assume_layout", nullptr);
  // value; "multiple".
  d.op("assume_multiple")
      .in("value:int")
      .out("result:int")
      .types("value = result")
      .format("$value `,` $multiple:i32 attr-dict `:` type($value)");

  // source, source_semaphore?, target, target_semaphore, device_id?, core_id?; "priority",
  // "strict_ordering".
  d.op("enqueue_dma")
      .in("source:memref, source_semaphore?:memref, target:memref, target_semaphore:memref, "
          "device_id?:int, core_id?:int")
      .types("device_id = i32; core_id = i32")
      .format(
          "`source` `(` $source `:` type($source) `)` `target` `(` $target `:` type($target) `)` "
          "(`source_semaphore` `(` $source_semaphore^ `:` type($source_semaphore) `)` )? "
          "`target_semaphore` `(` $target_semaphore `:` type($target_semaphore) `)` "
          "(`device_id` `(` $device_id^ `)` )? (`core_id` `(` $core_id^ `)` )? attr-dict")
      .effects(kReadsGlobal | kWritesGlobal | kReadsShared | kWritesShared | kAsync | kVisible);
  // semaphore, src, dst, device_id?, core_id?: waits for as many bytes as dst has.
  d.op("wait_dma2")
      .in("semaphore:memref, src:memref, dst:memref, device_id?:int, core_id?:int")
      .types("device_id = i32; core_id = i32")
      .format(
          "`semaphore` `(` $semaphore `:` type($semaphore) `)` `src` `(` $src `:` type($src) `)` "
          "`dst` `(` $dst `:` type($dst) `)` "
          "(`device_id` `(` $device_id^ `)` )? (`core_id` `(` $core_id^ `)` )? attr-dict")
      .effects(kWaits | kVisible);
}

void define_control(Dialect& d) {
  d.op("device_id").out("result").types("result = i32").format("attr-dict `:` type($result)");
  // semaphore, amount, device_id?, core_id?.
  d.op("sem_signal")
      .in("semaphore:memref, amount:int, device_id?:int, core_id?:int")
      .types("amount = i32; device_id = i32; core_id = i32")
      .format(
          "$semaphore `,` $amount (`device_id` $device_id^ )? (`core_id` $core_id^ )? attr-dict "
          "`:` type($semaphore)")
      .effects(kVisible | kAsync);
  d.op("sem_wait")
      .in("semaphore:memref, amount:int")
      .types("amount = i32")
      .format("$semaphore `,` $amount attr-dict `:` type($semaphore)")
      .effects(kWaits | kVisible);
  d.op("sem_read")
      .in("semaphore:memref")
      .out("result")
      .types("result = i32")
      .format("$semaphore attr-dict `:` type($semaphore) `->` type($result)")
      .effects(kVisible);
  d.op("sem_barrier").out("semaphore:memref").format("attr-dict `:` type($semaphore)");
  d.op("sem_alloc").out("result:memref").format("attr-dict `:` type($result)");
  // "message", "level": spans of the trace, no work.
  d.op("trace_start").format("attr-dict");
  d.op("trace_stop").format("attr-dict");
  d.op("delay").in("cycles:int").types("cycles = i32").format("$cycles attr-dict");
  d.op("iteration_bound")
      .out("result")
      .types("result = i32")
      .format("$dim:i32 attr-dict `:` type($result)");
}

}  // namespace

void define_tpu(Definitions& ops) {
  Dialect d("tpu", ops);
  define_vectors(d);
  define_memory(d);
  define_control(d);
}

}  // namespace xpusim::kernel
