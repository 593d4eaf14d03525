// Every op of Mosaic's tpu dialect reads: in the custom form that is documented, or else in generic
// form, whatever its operands.

#include "tests/kernel/reading.h"

namespace xpusim::kernel::testing {
namespace {

/// jaxlib/mosaic/dialect/tpu/tpu_ops.td of August 2026.
constexpr std::string_view kOps[] = {"all_reduce",
                                     "reduce_index",
                                     "scan",
                                     "sort",
                                     "store",
                                     "load",
                                     "vector_store",
                                     "vector_load",
                                     "strided_load",
                                     "strided_store",
                                     "shuffled_load",
                                     "shuffled_store",
                                     "vector_load_idx",
                                     "vector_store_idx",
                                     "dynamic_rotate",
                                     "scan_count",
                                     "iota",
                                     "reshape",
                                     "repeat",
                                     "broadcast_in_sublanes",
                                     "unpack_subelements",
                                     "pack_subelements",
                                     "pack_elementwise",
                                     "unpack_elementwise",
                                     "pack_vmsk",
                                     "gather",
                                     "dynamic_gather",
                                     "fptosi",
                                     "fptoui",
                                     "sitofp",
                                     "uitofp",
                                     "extf",
                                     "truncf",
                                     "matmul",
                                     "matmul_push_rhs",
                                     "matmul_acc_lhs",
                                     "matmul_pop",
                                     "matmul_lhs_fifo",
                                     "matmul_pop_fifo",
                                     "concatenate",
                                     "bitcast",
                                     "bitcast_vreg",
                                     "weird",
                                     "reciprocal",
                                     "logistic",
                                     "stochastic_convert",
                                     "stochastic_convert_elementwise",
                                     "roll_vectors",
                                     "unroll_vectors",
                                     "create_mask",
                                     "create_subelement_mask",
                                     "assume_multiple",
                                     "memref_slice",
                                     "memref_squeeze",
                                     "memref_reshape",
                                     "memref_bitcast",
                                     "reinterpret_cast",
                                     "assume_layout",
                                     "erase_memref_layout",
                                     "device_id",
                                     "core_id",
                                     "subcore_id",
                                     "sem_read",
                                     "sem_wait",
                                     "sem_alloc",
                                     "sem_barrier",
                                     "sem_signal",
                                     "barrier",
                                     "enqueue_dma",
                                     "enqueue_indirect_dma",
                                     "wait_dma2",
                                     "wait_dma",
                                     "wait_indirect_dma",
                                     "region",
                                     "trace",
                                     "trace_start",
                                     "trace_stop",
                                     "trace_value",
                                     "yield",
                                     "delay",
                                     "mask_cast",
                                     "iteration_bound",
                                     "internal_scratch",
                                     "prng_set_seed_32",
                                     "prng_random_bits",
                                     "sublane_shuffle",
                                     "transpose",
                                     "log",
                                     "log_buffer",
                                     "fetch_and_add_sync"};

TEST(MosaicOps, AreAllDefined) {
  for (const std::string_view op : kOps)
    EXPECT_NE(find_op("tpu." + std::string(op)), nullptr) << op;
}

TEST(MosaicOps, ReadInGenericFormWhereNoOtherIsDocumented) {
  const std::string text = R"(module {
  "func.func"() ({
  ^bb0(%v: vector<8x128xf32>, %n: i32, %m: memref<8x128xf32, #tpu.memory_space<vmem>>, %h: memref<8x128xf32, #tpu.memory_space<hbm>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %i: index):
    "tpu.wait_dma"(%s, %m) : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xf32, #tpu.memory_space<vmem>>) -> ()
    "tpu.store"(%v, %m, %i, %i) {operandSegmentSizes = array<i32: 1, 1, 2, 0>, sublane_mask = array<i1: true>} : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %0 = "tpu.load"(%m, %i, %i) {sublane_stride = 1 : i32} : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    "tpu.enqueue_indirect_dma"(%h, %m, %n, %s) {add = false} : (memref<8x128xf32, #tpu.memory_space<hbm>>, memref<8x128xf32, #tpu.memory_space<vmem>>, i32, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
    %1 = "tpu.sublane_shuffle"(%v, %v) {pattern = array<i32: 0, 9>} : (vector<8x128xf32>, vector<8x128xf32>) -> vector<8x128xf32>
    %2:2 = "tpu.scan_count"(%v, %v) : (vector<8x128xf32>, vector<8x128xf32>) -> (vector<8x128xi1>, vector<8x128xi32>)
    "tpu.barrier"(%n) : (i32) -> ()
    %3 = tpu.core_id : i32
    "func.return"() : () -> ()
  }) {function_type = (vector<8x128xf32>, i32, memref<8x128xf32, #tpu.memory_space<vmem>>, memref<8x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, index) -> (), sym_name = "f"} : () -> ()
}
)";
  const Module m = read(text);
  ASSERT_TRUE(m.op);
  EXPECT_EQ(print_module(m), text);
  EXPECT_EQ(only_op(m, "tpu.store").operands.size(), 4u);
}

}  // namespace
}  // namespace xpusim::kernel::testing
