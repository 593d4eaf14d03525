// What the kernels that everything else stands on look like once read: their ops, types, names and
// lines.

#include <map>

#include "tests/kernel/reading.h"

namespace xpusim::kernel::testing {
namespace {

Module read_workload(const std::string& stem, const std::string& extension) {
  const auto paths = workload_files(stem, extension);
  EXPECT_EQ(paths.size(), 1u) << stem << extension;
  return read(file_text(paths.at(0)));
}

TEST(VectorAdd, HasItsParametersWithNamesAndDivisibility) {
  const Module m = read_workload("vector_add_283159521b", ".ttgir");
  const Function* f = m.kernel();
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->name, "vector_add");
  EXPECT_TRUE(f->is_public);
  ASSERT_EQ(f->arg_count(), 4u);
  const char* names[] = {"x_ptr", "y_ptr", "out_ptr", "n"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(f->entry().args[i]->name, names[i]);
    EXPECT_EQ(loc_name(f->entry().args[i]->loc), names[i]);
    ASSERT_NE(f->arg_attr(i, "tt.divisibility"), nullptr);
    EXPECT_EQ(f->arg_attr(i, "tt.divisibility")->integer, 16);
  }
  EXPECT_EQ(f->entry().args[0]->type->text, "!tt.ptr<f32>");
  EXPECT_EQ(f->arg_attr(0, "tt.pointer_range"), nullptr);
}

TEST(VectorAdd, LoadsAndStoresUnderItsMask) {
  const Module m = read_workload("vector_add_283159521b", ".ttgir");
  const auto loads = find_ops(*m.op, "tt.load");
  ASSERT_EQ(loads.size(), 2u);
  const std::string layout =
      "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>";
  for (const Op* load : loads) {
    EXPECT_EQ(load->segments, (std::vector<std::uint32_t>{1, 1, 0}));
    EXPECT_EQ(load->operand_of(0)->type->text, "tensor<4096x!tt.ptr<f32>, " + layout + ">");
    EXPECT_EQ(load->operand_of(1)->name, "mask_3");
    EXPECT_EQ(load->operand_of(2), nullptr);
    EXPECT_EQ(load->result()->type->text, "tensor<4096xf32, " + layout + ">");
  }
  const Op& store = only_op(m, "tt.store");
  EXPECT_EQ(store.segments, (std::vector<std::uint32_t>{1, 1, 1}));
  EXPECT_EQ(store.operand_of(1)->def->name(), "arith.addf");
  EXPECT_TRUE(store.results.empty());
}

TEST(VectorAdd, KnowsLayoutFieldsAndModuleAttributes) {
  const Module m = read_workload("vector_add_283159521b", ".ttgir");
  EXPECT_EQ(m.op->int_attr("ttg.num-warps"), 4);
  EXPECT_EQ(m.op->str_attr("ttg.target"), "cuda:90");
  ASSERT_EQ(m.aliases.size(), 1u);
  EXPECT_EQ(m.aliases[0].first, "#blocked");
  const Attr layout = only_op(m, "tt.make_range").result()->type->encoding;
  EXPECT_EQ(layout, m.aliases[0].second);
  EXPECT_EQ(layout->string, "ttg.blocked");
  EXPECT_EQ(layout->get("sizePerThread")->int_list(), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(layout->get("order")->int_list(), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(layout->get("parent"), nullptr);
}

TEST(VectorAdd, TellsTheUsersOwnLines) {
  const Module m = read_workload("vector_add_283159521b", ".ttgir");
  EXPECT_EQ(only_op(m, "tt.get_program_id").line().str(), "kernels.py:8:24");
  EXPECT_EQ(only_op(m, "arith.addf").line().str(), "kernels.py:13:33");
  EXPECT_EQ(only_op(m, "tt.store").line().line, 13);
  EXPECT_EQ(loc_name(only_op(m, "tt.get_program_id").loc), "pid");
  // A constant's location is unknown: it has the line of the text.
  const Op& constant = only_op(m, "arith.constant");
  EXPECT_EQ(constant.line().file, "test.ttir");
  EXPECT_EQ(constant.line().line, 9);
  EXPECT_EQ(constant.line().column, 5);
}

TEST(VectorAdd, NumbersItsValuesAndOpsDensely) {
  const Module m = read_workload("vector_add_283159521b", ".ttgir");
  const Function& f = *m.kernel();
  std::map<std::uint32_t, int> values, ops;
  for (const auto& arg : f.entry().args) ++values[arg->id];
  for (const auto& op : f.entry().ops) {
    ++ops[op->id];
    for (const auto& r : op->results) ++values[r->id];
  }
  EXPECT_EQ(values.size(), f.value_count);
  EXPECT_EQ(values.rbegin()->first, f.value_count - 1);
  EXPECT_EQ(ops.size(), f.op_count);
  EXPECT_EQ(f.value_count, 4u + 17u);
  EXPECT_EQ(f.op_count, 19u);
}

TEST(Softmax, ReducesWithARegion) {
  const Module m = read_workload("softmax_0063708cb5", ".ttgir");
  const auto reduces = find_ops(*m.op, "tt.reduce");
  ASSERT_EQ(reduces.size(), 2u);
  const Op& max = *reduces[0];
  EXPECT_TRUE(max.generic_form);
  EXPECT_EQ(max.int_attr("axis", -1), 0);
  EXPECT_EQ(max.property_count, 1u);
  EXPECT_EQ(max.group(0).size(), 1u);
  EXPECT_EQ(max.result()->type->text, "f32");
  const Block& body = *max.regions[0]->blocks[0];
  ASSERT_EQ(body.args.size(), 2u);
  EXPECT_EQ(body.args[0]->type->text, "f32");
  ASSERT_EQ(body.ops.size(), 2u);
  EXPECT_EQ(body.ops[0]->name(), "arith.maxnumf");
  EXPECT_EQ(body.ops[1]->operands[0], body.ops[0]->result());
}

TEST(Softmax, InlinedOpsBelongToTheCallersLine) {
  const Module m = read_workload("softmax_0063708cb5", ".ttgir");
  const auto reduces = find_ops(*m.op, "tt.reduce");
  EXPECT_EQ(reduces[0]->line().str(), "kernels.py:52:19");
  EXPECT_EQ(reduces[1]->line().str(), "kernels.py:54:17");
  // Two calls deep: standard.py's combine, in its sum, in the kernel.
  EXPECT_EQ(only_op(m, "arith.addf").line().str(), "kernels.py:54:17");
}

TEST(Softmax, LoadsWithAnInfiniteOther) {
  const Module m = read_workload("softmax_0063708cb5", ".ttir");
  const Op& load = only_op(m, "tt.load");
  EXPECT_EQ(load.segments, (std::vector<std::uint32_t>{1, 1, 1}));
  const Attr value = load.operand_of(2)->def->attr("value");
  EXPECT_TRUE(value->splat);
  EXPECT_EQ(value->ints, (std::vector<std::int64_t>{0xFF800000}));
  EXPECT_EQ(value->type->text, "tensor<512xf32>");
}

TEST(Families, HaveTheOpsThatTheirSourcesSay) {
  const std::vector<std::tuple<const char*, const char*, std::size_t>> expected = {
      {"vector_mul", "arith.mulf", 1},
      {"relu", "arith.maxnumf", 1},
      {"fused_mul_add_relu_aed", "tt.load", 3},
      {"row_max", "tt.reduce", 1},
      {"exp_and_sum", "math.exp", 1},
      {"row_divide", "arith.divf", 1},
      {"layer_norm_699ff9192e", "tt.reduce", 2},
      {"reduce_sum", "tt.reduce", 1},
      {"chain_partial", "tt.store", 1},
      {"chain_apply", "tt.store", 1}};
  for (const auto& [stem, op, count] : expected) {
    for (const auto* extension : {".ttir", ".ttgir"}) {
      const Module m = read_workload(stem, extension);
      EXPECT_EQ(count_ops(m, op), count) << stem << extension << " " << op;
    }
  }
}

TEST(Matmul, CarriesTilesPointersAndTokensThroughItsLoop) {
  const Module m = read_workload("descriptor_matmul_3d2343c5de", ".ttgir");
  const Op& loop = only_op(m, "scf.for");
  EXPECT_EQ(loop.segments, (std::vector<std::uint32_t>{1, 1, 1, 4}));
  EXPECT_EQ(loop.operand_of(0)->name, "c0_i32");
  EXPECT_EQ(loop.operand_of(1)->name, "K");
  ASSERT_EQ(loop.results.size(), 4u);
  EXPECT_EQ(loop.results[3]->name, "acc_27");
  const Block& body = *loop.regions[0]->blocks[0];
  ASSERT_EQ(body.args.size(), 5u);
  EXPECT_EQ(body.args[0]->type->text, "i32");
  EXPECT_EQ(body.args[1]->type, loop.result(0)->type);
  // %acc_27#0 is used after the loop.
  EXPECT_EQ(find_ops(*m.op, "ttng.warp_group_dot_wait")[1]->operands[0], loop.result(0));
}

TEST(Matmul, NamesTheGroupsOfATmaCopy) {
  const Module m = read_workload("descriptor_matmul_3d2343c5de", ".ttgir");
  const Op& copy = *find_ops(*m.op, "ttng.async_tma_copy_global_to_local").at(0);
  EXPECT_EQ(copy.info->operand_group("barrier"), 2);
  EXPECT_EQ(copy.segments, (std::vector<std::uint32_t>{1, 2, 1, 1, 1}));
  EXPECT_EQ(copy.operand_of(0)->name, "a_desc");
  EXPECT_EQ(copy.operand_of(2)->name, "acc_14");
  EXPECT_EQ(copy.operand_of(3)->name, "a_19");
  const Type barrier = copy.operand_of(2)->type;
  EXPECT_EQ(barrier->kind, TypeKind::kMemDesc);
  EXPECT_TRUE(barrier->is_mutable);
  EXPECT_EQ(barrier->memory_space->string, "ttg.shared_memory");
  EXPECT_EQ(only_op(m, "ttng.async_tma_copy_local_to_global").group(1).size(), 2u);
}

TEST(Mosaic, KernelIsTheFunctionThatIsNoTransform) {
  const Module m = read_workload("softmax.mlir", ".mlir");
  ASSERT_EQ(m.functions.size(), 3u);
  const Function* f = m.kernel();
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->name, "softmax_kernel");
  EXPECT_EQ(f->op->attr("iteration_bounds")->int_list(), (std::vector<std::int64_t>{128}));
  EXPECT_EQ(f->op->int_attr("scalar_prefetch", -1), 0);
  const Attr windows = f->op->attr("window_params");
  ASSERT_EQ(windows->elements.size(), 2u);
  EXPECT_EQ(windows->elements[1]->get("transform_indices")->string, "transform_1");
  EXPECT_EQ(windows->elements[1]->get("window_bounds")->int_list(),
            (std::vector<std::int64_t>{64, 4096}));
  EXPECT_EQ(f->op->attr("dimension_semantics")->elements[0]->body, "arbitrary");
  EXPECT_NE(m.function("transform_1"), nullptr);
  EXPECT_EQ(m.function("transform_2"), nullptr);
}

TEST(Mosaic, MemrefsKnowTheirMemory) {
  const Module m = read_workload("softmax.mlir", ".mlir");
  const Type x = m.kernel()->entry().args[1]->type;
  EXPECT_EQ(x->kind, TypeKind::kMemRef);
  EXPECT_EQ(x->shape, (std::vector<std::int64_t>{64, 4096}));
  EXPECT_EQ(x->memory_space->string, "tpu.memory_space");
  EXPECT_EQ(x->memory_space->body, "vmem");
  EXPECT_EQ(x->encoding, nullptr);
  EXPECT_EQ(loc_name(m.kernel()->entry().args[1]->loc), "x_ref");
}

TEST(Mosaic, ReductionsAndStoresHaveTheirAttributes) {
  const Module m = read_workload("softmax.mlir", ".mlir");
  const auto reductions = find_ops(*m.op, "vector.multi_reduction");
  ASSERT_EQ(reductions.size(), 2u);
  EXPECT_EQ(reductions[0]->attr("kind")->body, "maximumf");
  EXPECT_EQ(reductions[1]->attr("kind")->body, "add");
  EXPECT_EQ(reductions[1]->attr("reduction_dims")->int_list(), (std::vector<std::int64_t>{1}));
  const Op& store = only_op(m, "tpu.vector_store");
  EXPECT_EQ(store.segments, (std::vector<std::uint32_t>{1, 1, 2, 0}));
  EXPECT_EQ(store.operand_of(0)->def->name(), "arith.divf");
  EXPECT_TRUE(store.attr("strides")->ints.empty());
  EXPECT_EQ(store.line().str(), "pallas_kernels.py:42:4");
}

TEST(Mosaic, GenericOpsHaveSegmentsToo) {
  const Module m = read_workload("hbm_copy_r256", ".mlir");
  const Op& load = *find_ops(*m.op, "vector.load").at(0);
  EXPECT_TRUE(load.generic_form);
  EXPECT_EQ(load.segments, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(load.group(1)[0]->def->name(), "arith.constant");
  EXPECT_EQ(load.result()->type->text, "vector<256x1024xbf16>");
}

TEST(Mosaic, DmaNamesSourceTargetAndSemaphores) {
  const Module m = read_workload("ring_all_gather_4", ".mlir");
  const auto copies = find_ops(*m.op, "tpu.enqueue_dma");
  EXPECT_EQ(copies.at(0)->segments, (std::vector<std::uint32_t>{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(copies.at(1)->segments, (std::vector<std::uint32_t>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(copies.at(1)->operand_of(1)->name, "arg3");
  EXPECT_EQ(copies.at(1)->operand_of(3)->name, "arg4");
  const Type semaphore = copies.at(0)->operand_of(3)->type;
  EXPECT_EQ(semaphore->element->text, "!tpu.dma_semaphore");
  EXPECT_TRUE(semaphore->shape.empty());
}

TEST(Mosaic, MatmulHasItsDimensionNumbers) {
  const Module m = read_workload("flash.mlir", ".mlir");
  const Op& qk = *find_ops(*m.op, "tpu.matmul").at(0);
  const Attr dims = qk.attr("dimension_numbers");
  EXPECT_EQ(dims->string, "tpu.dot_dimension_numbers");
  ASSERT_EQ(dims->elements.size(), 7u);
  EXPECT_EQ(dims->elements[0]->int_list(), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(dims->elements[1]->int_list(), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(dims->elements[4]->int_list(), (std::vector<std::int64_t>{0, 0, 1, 0}));
}

}  // namespace
}  // namespace xpusim::kernel::testing
