#loc1 = loc("x_ref")
#loc2 = loc("y_ref")
#loc3 = loc("o_ref")
module attributes {stable_mosaic.version = 15 : i64} {
  "func.func"() ({
  ^bb0(%arg0: memref<4x64x256xbf16, #tpu.memory_space<vmem>> loc("x_ref"), %arg1: memref<4x384x256xbf16, #tpu.memory_space<vmem>> loc("y_ref"), %arg2: memref<4x64x384xf32, #tpu.memory_space<vmem>> loc("o_ref")):
    %0 = "arith.constant"() {value = 0 : index} : () -> index
    %1 = "vector.load"(%arg0, %0, %0, %0) : (memref<4x64x256xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<4x64x256xbf16>
    %2 = "vector.load"(%arg1, %0, %0, %0) : (memref<4x384x256xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<4x384x256xbf16>
    %3 = "arith.constant"() {value = dense<0.000000e+00> : vector<4x64x384xf32>} : () -> vector<4x64x384xf32>
    %4 = tpu.matmul %1, %2, %3 {dimension_numbers = #tpu.dot_dimension_numbers<[2], [2], [1], [1], [0, 0, 0, 1, 1, 1], [0], [0]>, transpose_lhs_hint = false} : vector<4x64x256xbf16>, vector<4x384x256xbf16>, vector<4x64x384xf32> -> vector<4x64x384xf32>
    tpu.vector_store %arg2[%0, %0, %0], %4 {strides = array<i32>} : memref<4x64x384xf32, #tpu.memory_space<vmem>>, vector<4x64x384xf32>, 
    "func.return"() : () -> ()
  }) {dimension_semantics = [], function_type = (memref<4x64x256xbf16, #tpu.memory_space<vmem>>, memref<4x384x256xbf16, #tpu.memory_space<vmem>>, memref<4x64x384xf32, #tpu.memory_space<vmem>>) -> (), scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, sym_name = "batched_matmul_kernel", tpu.core_type = #tpu.core_type<tc>} : () -> ()
}
