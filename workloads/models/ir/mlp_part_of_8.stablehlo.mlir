module @jit_mlp attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024x1024xf32>, %arg1: tensor<1024x512xbf16>, %arg2: tensor<512x1024xbf16>) -> (tensor<1024x1024xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<1024x1024xf32>
    %zero_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %zero_0) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %eps_0 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %eps_0, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %3 = stablehlo.add %1, %2 : tensor<1024xf32>
    %4 = stablehlo.rsqrt %3 : tensor<1024xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1024x1024xf32>
    %7 = stablehlo.convert %6 : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
    %8 = stablehlo.dot_general %7, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x1024xbf16>, tensor<1024x512xbf16>) -> tensor<1024x512xf32>
    %9 = stablehlo.logistic %8 : tensor<1024x512xf32>
    %10 = stablehlo.multiply %8, %9 : tensor<1024x512xf32>
    %11 = stablehlo.convert %10 : (tensor<1024x512xf32>) -> tensor<1024x512xbf16>
    %12 = stablehlo.dot_general %11, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x512xbf16>, tensor<512x1024xbf16>) -> tensor<1024x1024xf32>
    return %12 : tensor<1024x1024xf32>
  }
}
