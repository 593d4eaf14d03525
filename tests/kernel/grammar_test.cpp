// The custom assembly of single ops: each reads, has the types that its text leaves out, and comes
// back as it was.

#include "tests/kernel/reading.h"

namespace xpusim::kernel::testing {
namespace {

/// Reads a function with this body, expects it back unchanged, and gives the module.
Module round_trip(const std::string& args, const std::string& body) {
  const std::string text = function(args, body);
  Module m = read(text);
  if (m.op) {
    EXPECT_EQ(print_module(m), text);
  }
  return m;
}

std::string result_type(const Module& m, std::string_view op) {
  return only_op(m, op).result()->type->text;
}

TEST(Grammar, ArithmeticTakesItsTypesFromTheResult) {
  const Module m = round_trip("%a: tensor<4xi32>, %x: f32, %y: f32",
                              R"(    %0 = arith.addi %a, %a : tensor<4xi32>
    %1 = arith.subi %a, %a overflow<nsw,nuw> : tensor<4xi32>
    %2 = arith.mulf %x, %y fastmath<fast> : f32
    %3 = arith.negf %x : f32
    %4 = math.fma %x, %y, %x : f32
    %5 = math.exp2 %x fastmath<nnan> : f32)");
  EXPECT_EQ(only_op(m, "arith.subi").attr("overflowFlags")->text, "#arith.overflow<nsw,nuw>");
  EXPECT_EQ(only_op(m, "arith.mulf").attr("fastmath")->body, "fast");
  EXPECT_EQ(only_op(m, "arith.addi").attr("overflowFlags"), nullptr);
}

TEST(Grammar, ComparisonsGiveBoolsInTheOperandsShape) {
  const Module m = round_trip("%a: tensor<4x2xi32>, %x: f32",
                              R"(    %0 = arith.cmpi sge, %a, %a : tensor<4x2xi32>
    %1 = arith.cmpf une, %x, %x : f32)");
  EXPECT_EQ(result_type(m, "arith.cmpi"), "tensor<4x2xi1>");
  EXPECT_EQ(result_type(m, "arith.cmpf"), "i1");
  EXPECT_EQ(only_op(m, "arith.cmpi").int_attr("predicate"), 5);
  EXPECT_EQ(only_op(m, "arith.cmpf").int_attr("predicate"), 13);
}

TEST(Grammar, SelectNamesItsConditionsTypeWhereItIsATensor) {
  const Module m = round_trip("%c: i1, %m: tensor<4xi1>, %a: tensor<4xf32>",
                              R"(    %0 = arith.select %c, %a, %a : tensor<4xf32>
    %1 = arith.select %m, %a, %a : tensor<4xi1>, tensor<4xf32>)");
  EXPECT_EQ(count_ops(m, "arith.select"), 2u);
}

TEST(Grammar, ConstantsCarryTheirType) {
  const Module m = round_trip("", R"(    %true = arith.constant true
    %c = arith.constant -7 : i32
    %i = arith.constant 3 : index
    %f = arith.constant 0xFF800000 : f32
    %d = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>
    %s = arith.constant {note = "kept"} dense<true> : tensor<8xi1>)");
  const auto constants = find_ops(*m.op, "arith.constant");
  ASSERT_EQ(constants.size(), 6u);
  EXPECT_EQ(constants[0]->result()->type->text, "i1");
  EXPECT_EQ(constants[1]->attr("value")->integer, -7);
  EXPECT_EQ(constants[4]->attr("value")->ints, (std::vector<std::int64_t>{0x3C00, 0x4000}));
}

TEST(Grammar, CastsNameBothTypes) {
  const Module m = round_trip("%a: tensor<4xi8>, %x: f32",
                              R"(    %0 = arith.extsi %a : tensor<4xi8> to tensor<4xi32>
    %1 = arith.truncf %x to_nearest_even : f32 to bf16
    %2 = arith.truncf %x : f32 to f16
    %3 = tt.fp_to_fp %x, rounding = rtne : f32 -> f8E5M2
    %4 = arith.bitcast %x : f32 to i32)");
  EXPECT_EQ(find_ops(*m.op, "arith.truncf")[0]->int_attr("roundingmode", -1), 0);
  EXPECT_EQ(result_type(m, "arith.extsi"), "tensor<4xi32>");
}

TEST(Grammar, LoadsInferMaskOtherAndResult) {
  const Module m = round_trip(
      "%p: tensor<8x!tt.ptr<f16>>, %m: tensor<8xi1>, %o: tensor<8xf16>, %s: !tt.ptr<i64>",
      R"(    %0 = tt.load %p : tensor<8x!tt.ptr<f16>>
    %1 = tt.load %p, %m : tensor<8x!tt.ptr<f16>>
    %2 = tt.load %p, %m, %o cacheModifier = ca evictionPolicy = evict_last {isVolatile = true} : tensor<8x!tt.ptr<f16>>
    %3 = tt.load %s evictionPolicy = evict_first : !tt.ptr<i64>)");
  const auto loads = find_ops(*m.op, "tt.load");
  ASSERT_EQ(loads.size(), 4u);
  EXPECT_EQ(loads[0]->result()->type->text, "tensor<8xf16>");
  EXPECT_EQ(loads[3]->result()->type->text, "i64");
  EXPECT_EQ(loads[2]->int_attr("cache"), 2);
  EXPECT_EQ(loads[2]->int_attr("evict"), 3);
  EXPECT_EQ(loads[2]->int_attr("isVolatile"), 1);
  EXPECT_EQ(loads[1]->segments, (std::vector<std::uint32_t>{1, 1, 0}));
}

TEST(Grammar, StoresAndAtomicsNameTheirGroups) {
  const Module m = round_trip(
      "%p: tensor<8x!tt.ptr<i32>>, %v: tensor<8xi32>, %m: tensor<8xi1>, %q: !tt.ptr<f32>, %x: f32, "
      "%l: !tt.ptr<i32>, %c: i32",
      R"(    tt.store %p, %v : tensor<8x!tt.ptr<i32>>
    tt.store %p, %v, %m cacheModifier = wb : tensor<8x!tt.ptr<i32>>
    %0 = tt.atomic_rmw umin, relaxed, sys, %p, %v, %m : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi1>) -> tensor<8xi32>
    %1 = tt.atomic_rmw fadd, acq_rel, gpu, %q, %x : (!tt.ptr<f32>, f32) -> f32
    %2 = tt.atomic_cas acquire, cta, %l, %c, %c : (!tt.ptr<i32>, i32, i32) -> i32)");
  const auto atomics = find_ops(*m.op, "tt.atomic_rmw");
  EXPECT_EQ(atomics[0]->int_attr("atomic_rmw_op"), 9);
  EXPECT_EQ(atomics[0]->int_attr("sem"), 1);
  EXPECT_EQ(atomics[0]->int_attr("scope"), 3);
  EXPECT_EQ(atomics[1]->int_attr("atomic_rmw_op"), 5);
  EXPECT_EQ(atomics[1]->segments, (std::vector<std::uint32_t>{1, 1, 0}));
  EXPECT_TRUE(atomics[0]->info->has(kAtomic));
  EXPECT_TRUE(atomics[0]->info->has(kVisible));
}

TEST(Grammar, TilesChangeShape) {
  round_trip("%n: i32, %x: tensor<4x2xf32>, %i: tensor<4x2xi32>",
             R"(    %0 = tt.splat %n : i32 -> tensor<4xi32>
    %1 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %2 = tt.expand_dims %1 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    %3 = tt.broadcast %2 : tensor<4x1xi32> -> tensor<4x8xi32>
    %4 = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x2xf32> -> tensor<2x4xf32>
    %5 = tt.reshape %x allow_reorder : tensor<4x2xf32> -> tensor<8xf32>
    %6 = tt.join %x, %x : tensor<4x2xf32> -> tensor<4x2x2xf32>
    %7, %8 = tt.split %6 : tensor<4x2x2xf32> -> tensor<4x2xf32>
    %9 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<4x2xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
    %10 = tt.cat %x, %x : tensor<4x2xf32> -> tensor<8x2xf32>
    %11 = tt.histogram %0 : tensor<4xi32> -> tensor<16xi32>
    %12 = tt.bitcast %x : tensor<4x2xf32> -> tensor<4x2xi32>)");
}

TEST(Grammar, DotsNameThreeTypes) {
  const Module m = round_trip(
      "%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf32>, %sa: tensor<16x1xi8>, "
      "%sb: tensor<8x1xi8>",
      R"(    %0 = tt.dot %a, %b, %c : tensor<16x32xf16> * tensor<32x8xf16> -> tensor<16x8xf32>
    %1 = tt.dot %a, %b, %0, inputPrecision = tf32x3 {maxNumImpreciseAcc = 4 : i32} : tensor<16x32xf16> * tensor<32x8xf16> -> tensor<16x8xf32>
    %2 = tt.dot_scaled %a scale %sa, %b scale %sb, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<16x32xf16>, tensor<16x1xi8> * tensor<32x8xf16>, tensor<8x1xi8> -> tensor<16x8xf32>)");
  EXPECT_EQ(find_ops(*m.op, "tt.dot")[1]->int_attr("inputPrecision"), 1);
  EXPECT_EQ(only_op(m, "tt.dot_scaled").segments, (std::vector<std::uint32_t>{1, 1, 1, 1, 1}));
}

TEST(Grammar, DescriptorsTakeAnIndexADimension) {
  const Module m = round_trip(
      "%p: !tt.ptr<f32>, %n: i32, %s: i64, %v: tensor<4x8xf32>",
      R"(    %0 = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f32>, <tensor<4x8xf32>>
    %1 = tt.descriptor_load %0[%n, %n] : !tt.tensordesc<tensor<4x8xf32>> -> tensor<4x8xf32>
    tt.descriptor_store %0[%n, %n], %1 : !tt.tensordesc<tensor<4x8xf32>>, tensor<4x8xf32>
    tt.descriptor_reduce add, %0[%n, %n], %v : !tt.tensordesc<tensor<4x8xf32>>, tensor<4x8xf32>
    %2 = tt.make_tensor_ptr %p, [%s, %s], [%s, %s], [%n, %n] {order = array<i32: 1, 0>} : <tensor<4x8xf32>>
    %3 = tt.advance %2, [%n, %n] : <tensor<4x8xf32>>)");
  EXPECT_EQ(only_op(m, "tt.make_tensor_descriptor").segments,
            (std::vector<std::uint32_t>{1, 2, 2}));
}

TEST(Grammar, SharedMemoryAndAsynchronousCopies) {
  const std::string text =
      R"(#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module {
  tt.func public @f(%p: tensor<8x!tt.ptr<f32>>, %m: tensor<8xi1>, %o: tensor<8xf32>, %i: i32) {
    %0 = ttg.local_alloc : () -> !ttg.memdesc<2x8xf32, #shared, #smem, mutable>
    %1 = ttg.local_alloc %o : (tensor<8xf32>) -> !ttg.memdesc<8xf32, #shared, #smem>
    %2 = ttg.memdesc_index %0[%i] : !ttg.memdesc<2x8xf32, #shared, #smem, mutable> -> !ttg.memdesc<8xf32, #shared, #smem, mutable>
    %3 = ttg.async_copy_global_to_local %p, %2 mask %m other %o {contiguity = 4 : i32} : tensor<8x!tt.ptr<f32>> -> <8xf32, #shared, #smem, mutable>
    %4 = ttg.async_copy_global_to_local %p, %2 : tensor<8x!tt.ptr<f32>> -> <8xf32, #shared, #smem, mutable>
    %5 = ttg.async_commit_group tokens %3, %4
    %6 = ttg.async_wait %5 {num = 0 : i32}
    %7 = ttg.local_load %2 token %6 : !ttg.memdesc<8xf32, #shared, #smem, mutable> -> tensor<8xf32>
    ttg.local_store %7, %2 : tensor<8xf32> -> !ttg.memdesc<8xf32, #shared, #smem, mutable>
    %8 = ttg.memdesc_subslice %2[0] : !ttg.memdesc<8xf32, #shared, #smem, mutable> -> !ttg.memdesc<4xf32, #shared, #smem, mutable, 8>
    ttg.local_dealloc %0 : !ttg.memdesc<2x8xf32, #shared, #smem, mutable>
    tt.return
  }
}
)";
  const Module m = read(text);
  EXPECT_EQ(print_module(m), text);
  const auto copies = find_ops(*m.op, "ttg.async_copy_global_to_local");
  EXPECT_EQ(copies[0]->segments, (std::vector<std::uint32_t>{1, 1, 1, 1}));
  EXPECT_EQ(copies[1]->segments, (std::vector<std::uint32_t>{1, 1, 0, 0}));
  EXPECT_EQ(copies[0]->result()->type->kind, TypeKind::kToken);
  EXPECT_EQ(only_op(m, "ttg.memdesc_subslice").attr("offsets")->int_list(),
            (std::vector<std::int64_t>{0}));
}

TEST(Grammar, BarriersAndTmaOfHopper) {
  const std::string text =
      R"(#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module {
  tt.func public @f(%b: !ttg.memdesc<1xi64, #shared, #smem, mutable>, %phase: i32, %p: i1) {
    ttng.init_barrier %b, 2 : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    ttng.barrier_expect %b, 4096, %p : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    ttng.wait_barrier %b, %phase : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    ttng.wait_barrier %b, %phase, %p deps %b : !ttg.memdesc<1xi64, #shared, #smem, mutable>, !ttg.memdesc<1xi64, #shared, #smem, mutable>
    ttng.arrive_barrier %b, 1, %p : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    ttng.inval_barrier %b : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttng.async_tma_store_wait {pendings = 0 : i32}
    tt.return
  }
}
)";
  const Module m = read(text);
  EXPECT_EQ(print_module(m), text);
  EXPECT_EQ(only_op(m, "ttng.init_barrier").int_attr("count"), 2);
  EXPECT_EQ(only_op(m, "ttng.barrier_expect").int_attr("size"), 4096);
  EXPECT_EQ(find_ops(*m.op, "ttng.wait_barrier")[1]->segments,
            (std::vector<std::uint32_t>{1, 1, 1, 1}));
}

TEST(Grammar, LoopsCarryValues) {
  const Module m = round_trip(
      "%n: i32, %x: f32, %b: index",
      R"(    %0:2 = scf.for %i = %n to %n step %n iter_args(%a = %x, %k = %n) -> (f32, i32)  : i32 {
      %1 = arith.addf %a, %a : f32
      scf.yield %1, %k : f32, i32
    }
    scf.for %i = %b to %b step %b {
      %1 = arith.addi %i, %i : index
    }
    scf.for %i = %n to %n step %n  : i32 {
      tt.print "i: " {hex = false, isSigned = array<i32: 1>} : %i : i32
    } {tt.num_stages = 3 : i32}
    %2 = arith.addf %0#0, %x : f32
    %3 = arith.addi %0#1, %n : i32)");
  const auto loops = find_ops(*m.op, "scf.for");
  EXPECT_EQ(loops[0]->segments, (std::vector<std::uint32_t>{1, 1, 1, 2}));
  EXPECT_EQ(loops[1]->regions[0]->blocks[0]->ops.back()->name(), "scf.yield");
  EXPECT_EQ(loops[2]->int_attr("tt.num_stages"), 3);
}

TEST(Grammar, ConditionsAndWhileLoops) {
  const Module m = round_trip("%c: i1, %x: f32", R"(    %0 = scf.if %c -> (f32) {
      scf.yield %x : f32
    } else {
      %3 = arith.negf %x : f32
      scf.yield %3 : f32
    }
    scf.if %c {
      tt.assert %c, "message" : i1
    }
    %1:2 = scf.while (%a = %x, %b = %c) : (f32, i1) -> (f32, i1) {
      scf.condition(%b) %a, %b : f32, i1
    } do {
    ^bb0(%d: f32, %e: i1):
      scf.yield %d, %e : f32, i1
    }
    scf.while : () -> () {
      scf.condition(%c)
    } do {
      scf.yield
    })");
  const auto branches = find_ops(*m.op, "scf.if");
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[0]->regions.size(), 2u);
  EXPECT_TRUE(branches[1]->regions[1]->blocks.empty());
  EXPECT_EQ(find_ops(*m.op, "scf.while")[0]->regions[1]->blocks[0]->args[1]->type->text, "i1");
}

TEST(Grammar, BranchesJumpBetweenBlocks) {
  const std::string text = R"(module {
  tt.func public @f(%c: i1, %x: f32) {
    cf.cond_br %c, ^bb1(%x : f32), ^bb2
  ^bb1(%y: f32):  // pred: ^bb0
    cf.br ^bb2
  ^bb2:  // 2 preds: ^bb0, ^bb1
    tt.return
  }
}
)";
  const Module m = read(text);
  EXPECT_EQ(print_module(m), text);
  const Op& branch = only_op(m, "cf.cond_br");
  EXPECT_EQ(branch.segments, (std::vector<std::uint32_t>{1, 1, 0}));
  const auto& blocks = m.kernel()->op->regions[0]->blocks;
  EXPECT_EQ(branch.successors[0], blocks[1].get());
  EXPECT_EQ(branch.successors[1], blocks[2].get());
}

TEST(Grammar, FunctionsCallEachOther) {
  const std::string text = R"(module {
  tt.func private @g(%x: f32) -> (f32, i32) attributes {noinline = true} {
    %c = arith.constant 1 : i32
    tt.return %x, %c : f32, i32
  }
  tt.func public @f(%x: f32 {tt.divisibility = 16 : i32}) {
    %0:2 = tt.call @g(%x) : (f32) -> (f32, i32)
    tt.return
  }
  tt.func private @declared(i32 {tt.divisibility = 8 : i32}) -> f32
}
)";
  const Module m = read(text);
  EXPECT_EQ(print_module(m), text);
  EXPECT_EQ(m.functions.size(), 3u);
  EXPECT_EQ(m.kernel()->name, "f");
  EXPECT_FALSE(m.function("g")->is_public);
  EXPECT_EQ(only_op(m, "tt.call").attr("callee")->string, "g");
}

TEST(Grammar, ReducesCarrySeveralValues) {
  const Module m = round_trip("%x: tensor<8xf32>, %i: tensor<8xi32>",
                              R"(    %0:2 = "tt.reduce"(%x, %i) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: i32, %c: f32, %d: i32):
      tt.reduce.return %a, %b : f32, i32
    }) : (tensor<8xf32>, tensor<8xi32>) -> (f32, i32)
    %1 = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %b: f32):
      tt.scan.return %a : f32
    }) : (tensor<8xf32>) -> tensor<8xf32>)");
  EXPECT_EQ(only_op(m, "tt.reduce").results[1]->type->text, "i32");
}

TEST(Grammar, WarpsMaySpecialize) {
  const Module m = round_trip(
      "%p: !tt.ptr<i32>, %c: i32",
      R"(    %0 = ttg.warp_specialize(%p) attributes {requestedRegisters = array<i32: 24>}
    default {
      tt.store %p, %c : !tt.ptr<i32>
      ttg.warp_yield %c : i32
    }
    partition0(%p: !tt.ptr<i32>) num_warps(1) {
      %1 = tt.load %p : !tt.ptr<i32>
      ttg.warp_return
    } : (!tt.ptr<i32>) -> i32)");
  const Op& op = only_op(m, "ttg.warp_specialize");
  EXPECT_EQ(op.regions.size(), 2u);
  EXPECT_EQ(op.attr("partitionNumWarps")->int_list(), (std::vector<std::int64_t>{1}));
}

TEST(Grammar, ElementwiseAssemblyAndExternalFunctions) {
  round_trip(
      "%x: tensor<8xf32>",
      R"(    %0 = tt.elementwise_inline_asm "ex2 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : tensor<8xf32> -> tensor<8xf32>
    %1 = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = tt.clampf %x, %x, %x, propagateNan = all : tensor<8xf32>)");
}

TEST(Grammar, OpsOfTpu) {
  const std::string text = R"(module {
  func.func @f(%m: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: index, %v: vector<8x128xf32>, %k: vector<8x128xi1>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %n: i32, %h: memref<16x128xf32, #tpu.memory_space<any>>) {
    %0 = vector.load %m[%i, %i] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    tpu.vector_store %m[%i, %i], %v masked %k {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
    %1 = tpu.transpose %v, [1, 0] : vector<8x128xf32> -> vector<128x8xf32>
    %2 = tpu.iota {dimensions = array<i32: 1>} : vector<8x128xi32>
    %3 = tpu.memref_slice %h[%n, %n] : memref<16x128xf32, #tpu.memory_space<any>> -> memref<8x128xf32, #tpu.memory_space<any>>
    tpu.enqueue_dma source(%3 : memref<8x128xf32, #tpu.memory_space<any>>) target(%m : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%n) core_id(%n) {priority = 1 : i32}
    tpu.wait_dma2 semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%3 : memref<8x128xf32, #tpu.memory_space<any>>) dst(%m : memref<8x128xf32, #tpu.memory_space<vmem>>)
    return
  }
}
)";
  const Module m = read(text);
  EXPECT_EQ(print_module(m), text);
  EXPECT_EQ(m.form, Form::kMosaic);
  EXPECT_EQ(only_op(m, "tpu.enqueue_dma").segments, (std::vector<std::uint32_t>{1, 0, 1, 1, 1, 1}));
  EXPECT_EQ(only_op(m, "tpu.transpose").attr("permutation")->int_list(),
            (std::vector<std::int64_t>{1, 0}));
}

TEST(Grammar, VectorOpsOfTpu) {
  const std::string text = R"(module {
  func.func @f(%v: vector<8x128xf32>, %i: vector<8x128xi32>, %n: i32, %k: index, %s: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %m: vector<8x128xi1>) {
    %0 = tpu.dynamic_rotate %v by %n dim 1 : vector<8x128xf32>, i32 -> vector<8x128xf32>
    %1 = tpu.rotate %v by 3 dim 0 : vector<8x128xf32>
    %2 = tpu.rotate %v by 3 dim 0 stride 1 stride_dim 1 : vector<8x128xf32>
    %3 = tpu.concatenate %v, %v in 0 : vector<8x128xf32>, vector<8x128xf32> -> vector<16x128xf32>
    %4 = tpu.repeat %v, 1 x 2 : vector<8x128xf32> -> vector<8x256xf32>
    %5 = tpu.dynamic_gather %v[%i] in [0] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
    %6 = tpu.reciprocal %v {approx = true} : vector<8x128xf32> -> vector<8x128xf32>
    %7 = tpu.create_mask[%k, %k][%k, %k] : vector<8x128xi1>
    %8 = tpu.scan <sum>, %v masked %m : vector<8x128xf32>, vector<8x128xi1> -> vector<8x128xf32>
    tpu.sem_signal %s, %n device_id %n : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    tpu.sem_wait %s, %n : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %9 = "tpu.prng_random_bits"() : () -> vector<8x128xi32>
    return
  }
}
)";
  const Module m = read(text);
  EXPECT_EQ(print_module(m), text);
  EXPECT_EQ(only_op(m, "tpu.concatenate").segments, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(only_op(m, "tpu.scan").attr("kind")->text, "#tpu.reduction_kind<sum>");
  EXPECT_EQ(only_op(m, "tpu.sem_signal").segments, (std::vector<std::uint32_t>{1, 1, 1, 0}));
}

// --- names -------------------------------------------------------------------------------------

TEST(Names, MayRepeatInSiblingRegions) {
  round_trip("%c: i1, %x: f32", R"(    scf.if %c {
      %v = arith.negf %x : f32
      tt.assert %c, "a" : i1
    } else {
      %v = arith.negf %x : f32
      tt.assert %c, "b" : i1
    })");
}

TEST(Names, AreMadeUniqueWherePassesReuseThem) {
  Module m =
      read(function("%x: f32", "    %v = arith.negf %x : f32\n    %w = arith.negf %v : f32"));
  auto& ops = m.functions[0].entry().ops;
  ops[1]->results[0]->name = "v";
  ops[0]->results[0]->name = "";
  EXPECT_EQ(print_module(m),
            function("%x: f32", "    %0 = arith.negf %x : f32\n    %v = arith.negf %0 : f32"));
  ops[0]->results[0]->name = "x";
  EXPECT_EQ(print_module(m),
            function("%x: f32", "    %x_0 = arith.negf %x : f32\n    %v = arith.negf %x_0 : f32"));
}

TEST(Registry, DefinesEveryOpOnceWithADenseId) {
  const auto names = op_names();
  EXPECT_EQ(names.size(), op_count());
  for (OpId id = 0; id < op_count(); ++id) {
    EXPECT_EQ(op_info(id).id, id);
    EXPECT_EQ(find_op(op_info(id).name), &op_info(id)) << op_info(id).name;
  }
  EXPECT_EQ(find_op("tt.no_such_op"), nullptr);
}

}  // namespace
}  // namespace xpusim::kernel::testing
