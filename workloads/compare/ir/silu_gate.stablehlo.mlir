module @jit_silu_gate attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8192x1024xbf16>, %arg1: tensor<8192x1024xbf16>) -> (tensor<8192x1024xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<8192x1024xbf16>) -> tensor<8192x1024xf32>
    %1 = stablehlo.convert %arg1 : (tensor<8192x1024xbf16>) -> tensor<8192x1024xf32>
    %2 = stablehlo.logistic %0 : tensor<8192x1024xf32>
    %3 = stablehlo.multiply %0, %2 : tensor<8192x1024xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<8192x1024xf32>
    %5 = stablehlo.convert %4 : (tensor<8192x1024xf32>) -> tensor<8192x1024xbf16>
    return %5 : tensor<8192x1024xbf16>
  }
}
