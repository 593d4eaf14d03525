// tpu: Mosaic's views of memory, DMA, semaphores and control; see also tpu_vectors.cpp.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

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
  for (const auto mnemonic : {"core_id", "subcore_id"}) {
    d.op(mnemonic).out("result").types("result = i32").format("attr-dict `:` type($result)");
  }
  // "message", "level": spans of the trace, no work; generic form only.
  d.op("trace_start");
  d.op("trace_stop");
  d.op("delay").in("nanos:int").types("nanos = i32").format("$nanos attr-dict");
  d.op("iteration_bound")
      .out("result")
      .types("result = i32")
      .format("$dim:i32 attr-dict `:` type($result)");

  // Generic form only: a region that runs once and ends in tpu.yield of its results.
  d.op("region").out("results*").effects(kControl);
  d.op("trace").out("results*").effects(kControl);
  d.op("yield")
      .in("results*")
      .format("attr-dict ($results^ `:` type($results) )?")
      .effects(kTerminator);
  // inputs*; "tag", "formatted".
  d.op("log")
      .in("inputs*")
      .format("$tag:string attr-dict (`:` `[` $inputs^ `]` `:` type($inputs) )?")
      .effects(kVisible);
}

/// Ops whose custom form is not documented: they are read in generic form, with operands as they
/// come.
void define_generic(Dialect& d) {
  const auto generic = [&](std::string_view mnemonic, std::uint32_t effects) {
    d.op(mnemonic).in("operands*").out("results*").effects(effects);
  };
  // The older wait: semaphore, ref.
  d.op("wait_dma").in("semaphore:memref, ref:memref").effects(kWaits | kVisible);
  generic("enqueue_indirect_dma",
          kReadsGlobal | kWritesGlobal | kReadsShared | kWritesShared | kAsync | kVisible);
  generic("wait_indirect_dma", kWaits | kVisible);
  generic("barrier", kBarrier | kVisible);
  generic("fetch_and_add_sync", kAtomic | kVisible);
  generic("trace_value", kVisible);
  generic("log_buffer", kVisible);
  generic("internal_scratch", kPure);
  for (const auto mnemonic : {"load", "shuffled_load"}) generic(mnemonic, kReadsShared);
  for (const auto mnemonic : {"store", "shuffled_store"}) generic(mnemonic, kWritesShared);
  // What the compiler's later passes make of matrix products: state in the matrix unit.
  for (const auto mnemonic :
       {"matmul_push_rhs", "matmul_acc_lhs", "matmul_pop", "matmul_lhs_fifo", "matmul_pop_fifo"}) {
    generic(mnemonic, kVisible);
  }
  for (const auto mnemonic :
       {"scan_count", "broadcast_in_sublanes", "create_subelement_mask", "sublane_shuffle"}) {
    generic(mnemonic, kPure);
  }
}

}  // namespace

void define_tpu(Definitions& ops) {
  Dialect d("tpu", ops);
  define_memory(d);
  define_control(d);
  define_generic(d);
}

}  // namespace xpusim::kernel
