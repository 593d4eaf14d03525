module attributes {stable_mosaic.version = 15 : i64} {
  "func.func"() ({
  ^bb0(%arg0: i32, %arg1: memref<512x128xbf16, #tpu.memory_space<vmem>> loc("q_ref"), %arg2: memref<512x128xbf16, #tpu.memory_space<vmem>> loc("k_ref"), %arg3: memref<512x128xbf16, #tpu.memory_space<vmem>> loc("v_ref"), %arg4: memref<512x1xf32, #tpu.memory_space<vmem>> loc("m_ref"), %arg5: memref<512x1xf32, #tpu.memory_space<vmem>> loc("l_ref"), %arg6: memref<512x128xf32, #tpu.memory_space<vmem>> loc("acc_ref"), %arg7: memref<512x1xf32, #tpu.memory_space<vmem>> loc("m_out_ref"), %arg8: memref<512x1xf32, #tpu.memory_space<vmem>> loc("l_out_ref"), %arg9: memref<512x128xf32, #tpu.memory_space<vmem>> loc("acc_out_ref")):
    %0 = "arith.constant"() {value = 0 : index} : () -> index
    %1 = "arith.constant"() {value = 0 : index} : () -> index
    %2 = "vector.load"(%arg1, %0, %1) : (memref<512x128xbf16, #tpu.memory_space<vmem>>, index, index) -> vector<512x128xbf16>
    %3 = "arith.constant"() {value = 0 : index} : () -> index
    %4 = "arith.constant"() {value = 0 : index} : () -> index
    %5 = "vector.load"(%arg2, %3, %4) : (memref<512x128xbf16, #tpu.memory_space<vmem>>, index, index) -> vector<512x128xbf16>
    %6 = "arith.constant"() {value = dense<0.000000e+00> : vector<512x512xf32>} : () -> vector<512x512xf32>
    %7 = tpu.matmul %2, %5, %6 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<512x128xbf16>, vector<512x128xbf16>, vector<512x512xf32> -> vector<512x512xf32>
    %8 = "arith.constant"() {value = 0.0883883461 : f32} : () -> f32
    %9 = "vector.broadcast"(%8) : (f32) -> vector<512x512xf32>
    %10 = "arith.mulf"(%7, %9) {fastmath = #arith.fastmath<none>} : (vector<512x512xf32>, vector<512x512xf32>) -> vector<512x512xf32>
    %11 = "arith.constant"() {value = 0 : index} : () -> index
    %12 = "arith.constant"() {value = 0 : index} : () -> index
    %13 = "vector.load"(%arg4, %11, %12) : (memref<512x1xf32, #tpu.memory_space<vmem>>, index, index) -> vector<512x1xf32>
    %14 = "arith.constant"() {value = dense<0xFF800000> : vector<512xf32>} : () -> vector<512xf32>
    %15 = "vector.multi_reduction"(%10, %14) {kind = #vector.kind<maximumf>, reduction_dims = array<i64: 1>} : (vector<512x512xf32>, vector<512xf32>) -> vector<512xf32>
    %16 = "vector.shape_cast"(%15) : (vector<512xf32>) -> vector<512x1xf32>
    %17 = "arith.maximumf"(%13, %16) {fastmath = #arith.fastmath<none>} : (vector<512x1xf32>, vector<512x1xf32>) -> vector<512x1xf32>
    %18 = "vector.broadcast"(%17) : (vector<512x1xf32>) -> vector<512x512xf32>
    %19 = "arith.subf"(%10, %18) {fastmath = #arith.fastmath<none>} : (vector<512x512xf32>, vector<512x512xf32>) -> vector<512x512xf32>
    %20 = "math.exp"(%19) {fastmath = #arith.fastmath<none>} : (vector<512x512xf32>) -> vector<512x512xf32>
    %21 = "arith.subf"(%13, %17) {fastmath = #arith.fastmath<none>} : (vector<512x1xf32>, vector<512x1xf32>) -> vector<512x1xf32>
    %22 = "math.exp"(%21) {fastmath = #arith.fastmath<none>} : (vector<512x1xf32>) -> vector<512x1xf32>
    %23 = "arith.constant"() {value = 0 : index} : () -> index
    %24 = "arith.constant"() {value = 0 : index} : () -> index
    %25 = "vector.load"(%arg5, %23, %24) : (memref<512x1xf32, #tpu.memory_space<vmem>>, index, index) -> vector<512x1xf32>
    %26 = "arith.mulf"(%25, %22) {fastmath = #arith.fastmath<none>} : (vector<512x1xf32>, vector<512x1xf32>) -> vector<512x1xf32>
    %27 = "arith.constant"() {value = dense<0.000000e+00> : vector<512xf32>} : () -> vector<512xf32>
    %28 = "vector.multi_reduction"(%20, %27) {kind = #vector.kind<add>, reduction_dims = array<i64: 1>} : (vector<512x512xf32>, vector<512xf32>) -> vector<512xf32>
    %29 = "vector.shape_cast"(%28) : (vector<512xf32>) -> vector<512x1xf32>
    %30 = "arith.addf"(%26, %29) {fastmath = #arith.fastmath<none>} : (vector<512x1xf32>, vector<512x1xf32>) -> vector<512x1xf32>
    %31 = "arith.constant"() {value = 0 : index} : () -> index
    %32 = "arith.constant"() {value = 0 : index} : () -> index
    tpu.vector_store %arg8[%31, %32], %30 {strides = array<i32>} : memref<512x1xf32, #tpu.memory_space<vmem>>, vector<512x1xf32>, 
    %33 = "arith.constant"() {value = 0 : index} : () -> index
    %34 = "arith.constant"() {value = 0 : index} : () -> index
    %35 = "vector.load"(%arg6, %33, %34) : (memref<512x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<512x128xf32>
    %36 = "vector.broadcast"(%22) : (vector<512x1xf32>) -> vector<512x128xf32>
    %37 = "arith.mulf"(%35, %36) {fastmath = #arith.fastmath<none>} : (vector<512x128xf32>, vector<512x128xf32>) -> vector<512x128xf32>
    %38 = "arith.truncf"(%20) : (vector<512x512xf32>) -> vector<512x512xbf16>
    %39 = "arith.constant"() {value = 0 : index} : () -> index
    %40 = "arith.constant"() {value = 0 : index} : () -> index
    %41 = "vector.load"(%arg3, %39, %40) : (memref<512x128xbf16, #tpu.memory_space<vmem>>, index, index) -> vector<512x128xbf16>
    %42 = "arith.constant"() {value = dense<0.000000e+00> : vector<512x128xf32>} : () -> vector<512x128xf32>
    %43 = tpu.matmul %38, %41, %42 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<512x512xbf16>, vector<512x128xbf16>, vector<512x128xf32> -> vector<512x128xf32>
    %44 = "arith.addf"(%37, %43) {fastmath = #arith.fastmath<none>} : (vector<512x128xf32>, vector<512x128xf32>) -> vector<512x128xf32>
    %45 = "arith.constant"() {value = 0 : index} : () -> index
    %46 = "arith.constant"() {value = 0 : index} : () -> index
    tpu.vector_store %arg9[%45, %46], %44 {strides = array<i32>} : memref<512x128xf32, #tpu.memory_space<vmem>>, vector<512x128xf32>, 
    %47 = "arith.constant"() {value = 0 : index} : () -> index
    %48 = "arith.constant"() {value = 0 : index} : () -> index
    tpu.vector_store %arg7[%47, %48], %17 {strides = array<i32>} : memref<512x1xf32, #tpu.memory_space<vmem>>, vector<512x1xf32>, 
    "func.return"() : () -> ()
  }) {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], function_type = (i32, memref<512x128xbf16, #tpu.memory_space<vmem>>, memref<512x128xbf16, #tpu.memory_space<vmem>>, memref<512x128xbf16, #tpu.memory_space<vmem>>, memref<512x1xf32, #tpu.memory_space<vmem>>, memref<512x1xf32, #tpu.memory_space<vmem>>, memref<512x128xf32, #tpu.memory_space<vmem>>, memref<512x1xf32, #tpu.memory_space<vmem>>, memref<512x1xf32, #tpu.memory_space<vmem>>, memref<512x128xf32, #tpu.memory_space<vmem>>) -> (), iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, sym_name = "ring_attention_step_kernel", tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 512, 128>}, {transform_indices = @transform_1, window_bounds = array<i64: 512, 128>}, {transform_indices = @transform_2, window_bounds = array<i64: 512, 128>}, {transform_indices = @transform_3, window_bounds = array<i64: 512, 1>}, {transform_indices = @transform_4, window_bounds = array<i64: 512, 1>}, {transform_indices = @transform_5, window_bounds = array<i64: 512, 128>}, {transform_indices = @transform_6, window_bounds = array<i64: 512, 1>}, {transform_indices = @transform_7, window_bounds = array<i64: 512, 1>}, {transform_indices = @transform_8, window_bounds = array<i64: 512, 128>}]} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_0"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_1"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_2"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_3"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_4"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_5"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_6"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_7"} : () -> ()
  "func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "arith.constant"() {value = 0 : i32} : () -> i32
    "func.return"(%0, %0) : (i32, i32) -> ()
  }) {function_type = (i32) -> (i32, i32), sym_name = "transform_8"} : () -> ()
}
