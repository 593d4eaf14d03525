// ttng: NVIDIA Hopper: warp-group matrix multiplication, TMA and mbarriers.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_warp_group_dot(const Op& op) {
  const Type a = op.operands[0]->type, b = op.operands[1]->type, c = op.operands[2]->type;
  const bool fine = a->shape.size() == 2 && b->shape.size() == 2 && c->shape.size() == 2 &&
                    a->shape[1] == b->shape[0] && c->shape[0] == a->shape[0] &&
                    c->shape[1] == b->shape[1];
  return fine ? ""
              : "cannot multiply shapes " + shape_text(a) + " and " + shape_text(b) + " into " +
                    shape_text(c);
}

std::string verify_coordinates(const Op& op) {
  const Type block = op.operands[0]->type->element;
  return op.group(1).size() == block->shape.size()
             ? ""
             : "needs a coordinate for each of the block's " + std::to_string(block->shape.size()) +
                   " dimensions";
}

}  // namespace

void define_ttng(Definitions& ops) {
  Dialect d("ttng", ops);
  // a (registers or shared memory), b (shared memory), c, useC?; "inputPrecision", "isAsync",
  // "maxNumImpreciseAcc".
  d.op("warp_group_dot")
      .in("a, b:memdesc, c:tensor, useC?:bool")
      .out("d:tensor")
      .types("c = d; useC = i1")
      .format("$a `,` $b `,` $c (`,` $useC^ )? attr-dict `:` type($a) `*` type($b) `->` type($d)")
      .verify(verify_warp_group_dot)
      .effects(kReadsShared | kAsync);
  // inputs* (passed through); "pendings": so many dots may still be under way.
  d.op("warp_group_dot_wait")
      .in("inputs*")
      .out("outputs*")
      .types("outputs = inputs")
      .format("$inputs attr-dict `:` type($inputs)")
      .effects(kWaits);

  // "bCluster".
  d.op("fence_async_shared").format("attr-dict").effects(kBarrier);
  // alloc; "count" of arrivals.
  d.op("init_barrier")
      .in("alloc:memdesc")
      .format("$alloc `,` $count:i32 attr-dict `:` type($alloc)")
      .effects(kWritesShared);
  d.op("inval_barrier")
      .in("alloc:memdesc")
      .format("$alloc attr-dict `:` type($alloc)")
      .effects(kWritesShared);
  // alloc, pred; "size": bytes that will arrive.
  d.op("barrier_expect")
      .in("alloc:memdesc, pred:bool")
      .types("pred = i1")
      .format("$alloc `,` $size:i32 attr-dict `,` $pred `:` type($alloc)")
      .effects(kWritesShared | kAsync);
  // alloc, phase, pred?, deps*: waits until the phase with this parity has completed.
  d.op("wait_barrier")
      .in("alloc:memdesc, phase:int, pred?:bool, deps*:memdesc")
      .types("phase = i32; pred = i1")
      .format(
          "$alloc `,` $phase (`,` $pred^ )? (`deps` $deps^ )? attr-dict `:` type($alloc) (`,` "
          "type($deps)^ )?")
      .effects(kWaits);
  // alloc, pred?; "count".
  d.op("arrive_barrier")
      .in("alloc:memdesc, pred?:bool")
      .types("pred = i1")
      .format("$alloc `,` $count:i32 (`,` $pred^ )? attr-dict `:` type($alloc)")
      .effects(kWritesShared);
  d.op("async_copy_mbarrier_arrive")
      .in("barrier:memdesc")
      .format("$barrier attr-dict `:` type($barrier)")
      .effects(kWritesShared | kAsync);

  // desc, coord*, barrier, result, pred; in the text the result stands before the barrier.
  d.op("async_tma_copy_global_to_local")
      .in("desc:tensordesc, coord*:int, barrier:memdesc, result:memdesc, pred:bool")
      .types("coord = i32; pred = i1")
      .format(
          "$desc `[` $coord `]` $result `,` $barrier `,` $pred (`cacheModifier` `=` "
          "$cache:cache_modifier^ )? "
          "(`evictionPolicy` `=` $evict:eviction_policy^ )? attr-dict `:` type($desc) `,` "
          "type($barrier) `->` type($result)")
      .verify(verify_coordinates)
      .effects(kReadsGlobal | kWritesShared | kAsync);
  // desc, coord*, src.
  d.op("async_tma_copy_local_to_global")
      .in("desc:tensordesc, coord*:int, src:memdesc")
      .types("coord = i32")
      .format("$desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)")
      .verify(verify_coordinates)
      .effects(kReadsShared | kWritesGlobal | kAsync);
  // desc, coord*, src; "kind".
  d.op("async_tma_reduce")
      .in("desc:tensordesc, coord*:int, src:memdesc")
      .types("coord = i32")
      .format(
          "$kind:descriptor_reduce `,` $desc `[` $coord `]` $src attr-dict `:` type($desc) `,` "
          "type($src)")
      .verify(verify_coordinates)
      .effects(kReadsShared | kWritesGlobal | kAtomic | kAsync | kVisible);
  // desc_ptr (128 bytes of global memory), global_address, box_dim*, global_dim*, global_stride*
  // (bytes, all but the innermost), element_stride*; innermost dimension first. "elem_type",
  // "interleave_layout", "swizzle_mode", "fill_mode".
  d.op("tensormap_create")
      .in("desc_ptr:ptr, global_address:ptr, box_dim*:int, global_dim*:int, global_stride*:int, "
          "element_stride*:int")
      .format(
          "$desc_ptr `,` $global_address `,` `[` $box_dim `]` `,` `[` $global_dim `]` `,` `[` "
          "$global_stride `]` `,` `[` $element_stride `]` attr-dict `:` signature")
      .effects(kWritesGlobal);
  d.op("tensormap_fenceproxy_acquire")
      .in("desc_ptr:ptr")
      .format("$desc_ptr attr-dict `:` type($desc_ptr)")
      .effects(kBarrier);
  d.op("reinterpret_tensor_descriptor")
      .in("rawDesc:ptr")
      .out("result:tensordesc")
      .format("$rawDesc attr-dict `:` type($rawDesc) `to` type($result)");
  // "pendings": so many stores may still be under way.
  d.op("async_tma_store_wait").format("attr-dict").effects(kWaits);
}

}  // namespace xpusim::kernel
