// tt: Triton's language, memory. Groups and attributes are named at each op; enumerations
// (atomic_rmw_op, sem, scope, cache, evict) are integers as in grammar/enums.h.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_descriptor_indices(const Op& op) {
  const auto indices = static_cast<std::size_t>(op.info->operand_group("indices"));
  const Type block = op.operands[0]->type->element;
  return op.group(indices).size() == block->shape.size()
             ? ""
             : "needs an index for each of the block's " + std::to_string(block->shape.size()) +
                   " dimensions";
}

constexpr const char* kMemory =
    " (`cacheModifier` `=` $cache:cache_modifier^ )? (`evictionPolicy` `=` $evict:eviction_policy^ "
    ")? attr-dict `:` ";

void define_memory(Dialect& d) {
  // ptr, mask?, other?; "cache", "evict", "isVolatile".
  d.op("load")
      .in("ptr:ptr, mask?:bool, other?")
      .out("result")
      .types("mask = bool(ptr); other = pointee(ptr); result = pointee(ptr)")
      .format(std::string("$ptr (`,` $mask^ )? (`,` $other^ )?") + kMemory + "type($ptr)")
      .effects(kReadsGlobal);
  // ptr, value, mask?; "cache", "evict".
  d.op("store")
      .in("ptr:ptr, value, mask?:bool")
      .types("value = pointee(ptr); mask = bool(ptr)")
      .format(std::string("$ptr `,` $value (`,` $mask^ )?") + kMemory + "type($ptr)")
      .effects(kWritesGlobal);
  // ptr, val, mask?; "atomic_rmw_op", "sem", "scope".
  d.op("atomic_rmw")
      .in("ptr:ptr, val, mask?:bool")
      .out("result")
      .types("val = pointee(ptr); mask = bool(ptr); result = val")
      .format(
          "$atomic_rmw_op:rmw_op `,` $sem:mem_semantic `,` $scope:mem_scope `,` $ptr `,` $val (`,` "
          "$mask^ )? attr-dict `:` signature")
      .effects(kReadsGlobal | kWritesGlobal | kAtomic | kVisible);
  // ptr, cmp, val; "sem", "scope".
  d.op("atomic_cas")
      .in("ptr:ptr, cmp, val")
      .out("result")
      .types("cmp = pointee(ptr); val = cmp; result = cmp")
      .format(
          "$sem:mem_semantic `,` $scope:mem_scope `,` $ptr `,` $cmp `,` $val attr-dict `:` "
          "signature")
      .effects(kReadsGlobal | kWritesGlobal | kAtomic | kVisible);
}

void define_descriptors(Dialect& d) {
  // base, shape*, strides*; "padding".
  d.op("make_tensor_descriptor")
      .in("base:ptr, shape*:int, strides*:int")
      .out("result:tensordesc")
      .types("shape = i32; strides = i64")
      .format(
          "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict `:` params($base) `,` "
          "params($result)");
  // desc, indices*; "cache", "evict".
  d.op("descriptor_load")
      .in("desc:tensordesc, indices*:int")
      .out("result:tensor")
      .types("indices = i32; result = block(desc)")
      .format(
          "$desc `[` $indices `]` (`cacheModifier` `=` $cache:cache_modifier^ )? (`evictionPolicy` "
          "`=` $evict:eviction_policy^ )? attr-dict `:` type($desc) `->` type($result)")
      .verify(verify_descriptor_indices)
      .effects(kReadsGlobal);
  // desc, src, indices*.
  d.op("descriptor_store")
      .in("desc:tensordesc, src:tensor, indices*:int")
      .types("indices = i32; src = block(desc)")
      .format("$desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)")
      .verify(verify_descriptor_indices)
      .effects(kWritesGlobal);
  // desc, src, indices*; "kind".
  d.op("descriptor_reduce")
      .in("desc:tensordesc, src:tensor, indices*:int")
      .types("indices = i32; src = block(desc)")
      .format(
          "$kind:descriptor_reduce `,` $desc `[` $indices `]` `,` $src attr-dict `:` type($desc) "
          "`,` type($src)")
      .verify(verify_descriptor_indices)
      .effects(kWritesGlobal | kReadsGlobal | kAtomic | kVisible);
  // desc, x_offsets, y_offset.
  d.op("descriptor_gather")
      .in("desc:tensordesc, x_offsets:tensor, y_offset:int")
      .out("result:tensor")
      .format("$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` signature")
      .effects(kReadsGlobal);
  // desc, x_offsets, y_offset, src.
  d.op("descriptor_scatter")
      .in("desc:tensordesc, x_offsets:tensor, y_offset:int, src:tensor")
      .types("y_offset = i32")
      .format(
          "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type($desc) `,` "
          "type($x_offsets) `,` type($y_offset) `,` type($src)")
      .effects(kWritesGlobal);
  // base, shape*, strides*, offsets*; "order": a block pointer.
  d.op("make_tensor_ptr")
      .in("base:ptr, shape*:int, strides*:int, offsets*:int")
      .out("result:ptr")
      .types("shape = i64; strides = i64; offsets = i32")
      .format(
          "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict `:` "
          "params($result)");
  // ptr, offsets*.
  d.op("advance")
      .in("ptr:ptr, offsets*:int")
      .out("result:ptr")
      .types("ptr = result; offsets = i32")
      .format("$ptr `,` `[` $offsets `]` attr-dict `:` params($result)");
}

}  // namespace

void define_tt_memory(Definitions& ops) {
  Dialect d("tt", ops);
  define_memory(d);
  define_descriptors(d);
}

}  // namespace xpusim::kernel
