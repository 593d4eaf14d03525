module @jit_dense_layer attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512x1024xbf16>, %arg1: tensor<1024x768xbf16>, %arg2: tensor<768xf32>) -> (tensor<512x768xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x1024xbf16>, tensor<1024x768xbf16>) -> tensor<512x768xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<768xf32>) -> tensor<1x768xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x768xf32>) -> tensor<512x768xf32>
    %3 = stablehlo.add %0, %2 : tensor<512x768xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<512x768xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<512x768xf32>
    return %5 : tensor<512x768xf32>
  }
}
