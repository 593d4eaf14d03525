module @jit_attention attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024x1024xf32>, %arg1: tensor<1024x128xbf16>, %arg2: tensor<1024x128xbf16>, %arg3: tensor<1024x128xbf16>, %arg4: tensor<128x1024xbf16>) -> (tensor<1024x1024xf32> {jax.result_info = "result"}) {
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
    %8 = stablehlo.dot_general %7, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x1024xbf16>, tensor<1024x128xbf16>) -> tensor<1024x128xf32>
    %9 = stablehlo.convert %8 : (tensor<1024x128xf32>) -> tensor<1024x128xbf16>
    %10 = stablehlo.dot_general %7, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x1024xbf16>, tensor<1024x128xbf16>) -> tensor<1024x128xf32>
    %11 = stablehlo.convert %10 : (tensor<1024x128xf32>) -> tensor<1024x128xbf16>
    %12 = stablehlo.dot_general %7, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x1024xbf16>, tensor<1024x128xbf16>) -> tensor<1024x128xf32>
    %13 = stablehlo.convert %12 : (tensor<1024x128xf32>) -> tensor<1024x128xbf16>
    %14 = stablehlo.dot_general %9, %11, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<1024x128xbf16>, tensor<1024x128xbf16>) -> tensor<1024x1024xf32>
    %scale = stablehlo.constant dense<0.0883883535> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %16 = stablehlo.multiply %14, %15 : tensor<1024x1024xf32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
    %19 = stablehlo.subtract %16, %18 : tensor<1024x1024xf32>
    %20 = stablehlo.exponential %19 : tensor<1024x1024xf32>
    %none = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %none) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
    %23 = stablehlo.divide %20, %22 : tensor<1024x1024xf32>
    %24 = stablehlo.convert %23 : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
    %25 = stablehlo.dot_general %24, %13, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x1024xbf16>, tensor<1024x128xbf16>) -> tensor<1024x128xf32>
    %26 = stablehlo.convert %25 : (tensor<1024x128xf32>) -> tensor<1024x128xbf16>
    %27 = stablehlo.dot_general %26, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x128xbf16>, tensor<128x1024xbf16>) -> tensor<1024x1024xf32>
    return %27 : tensor<1024x1024xf32>
  }
}
