// ttg: Triton GPU: layouts made explicit, shared memory and asynchronous copies.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_convert_layout(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (std::string problem = check_same_element(from, to, "src", "result"); !problem.empty())
    return problem;
  return check_same_shape(from, to, "src", "result");
}

std::string verify_memdesc_index(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  const std::vector<std::int64_t> inner(from->shape.begin() + (from->shape.empty() ? 0 : 1),
                                        from->shape.end());
  if (from->element != to->element) return "needs a source and a result of one element type";
  // A one-dimensional source of barriers keeps a dimension of 1.
  if (to->shape == inner || (inner.empty() && to->shape == std::vector<std::int64_t>{1})) return "";
  return "cannot index shape " + shape_text(from) + " into " + shape_text(to);
}

std::string verify_local_alloc(const Op& op) {
  if (op.operands.empty()) return "";
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (from->element != to->element) return check_same_element(from, to, "src", "result");
  return check_same_shape(from, to, "src", "result");
}

std::string verify_local_load(const Op& op) {
  return check_same_shape(op.operands[0]->type, op.result()->type, "src", "result");
}

std::string verify_async_copy(const Op& op) {
  return check_same_shape(op.operands[0]->type, op.operands[1]->type, "src", "result");
}

}  // namespace

void define_ttg(Definitions& ops) {
  Dialect d("ttg", ops);
  d.op("convert_layout")
      .in("src:tensor")
      .out("result:tensor")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .verify(verify_convert_layout);

  // src?: what it is filled with.
  d.op("local_alloc")
      .in("src?:tensor")
      .out("result:memdesc")
      .format("$src attr-dict `:` signature")
      .verify(verify_local_alloc)
      .effects(kWritesShared);
  d.op("local_dealloc")
      .in("src:memdesc")
      .format("$src attr-dict `:` type($src)")
      .effects(kWritesShared);
  // src, token?.
  d.op("local_load")
      .in("src:memdesc, token?:token")
      .out("result:tensor")
      .types("token = !token")
      .format("$src (`token` $token^ )? attr-dict `:` type($src) `->` type($result)")
      .verify(verify_local_load)
      .effects(kReadsShared);
  // src, dst.
  d.op("local_store")
      .in("src:tensor, dst:memdesc")
      .format("$src `,` $dst attr-dict `:` type($src) `->` type($dst)")
      .effects(kWritesShared);
  d.op("local_gather")
      .in("src:memdesc, indices:tensor")
      .out("result:tensor")
      .format(
          "$src `[` $indices `]` attr-dict `:` type($src) `,` type($indices) `->` type($result)")
      .effects(kReadsShared);
  d.op("local_scatter")
      .in("dst:memdesc, indices:tensor, values:tensor")
      .format(
          "$dst `[` $indices `]` `,` $values attr-dict `:` type($dst) `,` type($indices) `,` "
          "type($values)")
      .effects(kWritesShared);

  // src, index: the buffer of a multi-buffer allocation.
  d.op("memdesc_index")
      .in("src:memdesc, index:int")
      .out("result:memdesc")
      .types("index = i32")
      .format("$src `[` $index `]` attr-dict `:` type($src) `->` type($result)")
      .verify(verify_memdesc_index);
  // "offsets" (i32 array).
  d.op("memdesc_subslice")
      .in("src:memdesc")
      .out("result:memdesc")
      .format("$src `` $offsets:i32_list attr-dict `:` type($src) `->` type($result)");
  // "order".
  d.op("memdesc_trans")
      .in("src:memdesc")
      .out("result:memdesc")
      .format("$src attr-dict `:` type($src) `->` type($result)");
  d.op("memdesc_reshape")
      .in("src:memdesc")
      .out("result:memdesc")
      .format("$src attr-dict `:` type($src) `->` type($result)");
  d.op("memdesc_reinterpret")
      .in("src:memdesc")
      .out("result:memdesc")
      .format("$src attr-dict `:` type($src) `->` type($result)");

  // src, result (the buffer that it fills), mask?, other?; "contiguity", "cache", "evict",
  // "isVolatile".
  d.op("async_copy_global_to_local")
      .in("src:ptr, result:memdesc, mask?:bool, other?")
      .out("token")
      .types("mask = bool(src); other = pointee(src); token = !token")
      .format(
          "$src `,` $result (`mask` $mask^ )? (`other` $other^ )? (`cacheModifier` `=` "
          "$cache:cache_modifier^ )? "
          "(`evictionPolicy` `=` $evict:eviction_policy^ )? attr-dict `:` type($src) `->` "
          "params($result)")
      .verify(verify_async_copy)
      .effects(kReadsGlobal | kWritesShared | kAsync);
  // tokens*: the copies that the group closes over.
  d.op("async_commit_group")
      .in("inputTokens*:token")
      .out("asyncToken")
      .types("inputTokens = !token; asyncToken = !token")
      .format("(`tokens` $inputTokens^ )? attr-dict")
      .effects(kAsync);
  // tokens*; "num": so many groups may still be under way.
  d.op("async_wait")
      .in("asyncToken*:token")
      .out("retToken")
      .types("asyncToken = !token; retToken = !token")
      .format("$asyncToken attr-dict")
      .effects(kWaits);

  d.op("barrier").format("attr-dict").effects(kBarrier | kVisible);
  d.op("warp_id").out("result").types("result = i32").format("attr-dict");
  // "nbytes", "alignment".
  d.op("global_scratch_alloc").out("result:ptr").format("attr-dict `:` type($result)");
  // args*; "sizePerThread"-free debugging aid of the compiler: a tile's elements as scalars.
  d.op("fp4_to_fp")
      .in("src:tensor")
      .out("result:tensor")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .effects(kElementwise);
}

}  // namespace xpusim::kernel
