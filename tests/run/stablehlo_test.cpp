// StableHLO modules as kernels: which ops share one, and is their Triton text right?

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/exec/memory.h"
#include "sim/run/stablehlo/triton_text.h"

namespace xpusim::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

kernel::Module chain() {
  auto module =
      kernel::read_module_file(XPUSIM_SOURCE_DIR "/workloads/pallas/ir/chain_ops.stablehlo.mlir");
  EXPECT_TRUE(module);
  return std::move(*module);
}

kernel::Module module_of(const std::string& body, const std::string& arguments,
                         const std::string& result) {
  auto module = kernel::read_module("module @m {\n  func.func public @main(" + arguments +
                                        ") -> (" + result + ") {\n" + body + "  }\n}\n",
                                    "m.mlir");
  EXPECT_TRUE(module) << (module ? "" : module.error().str());
  return std::move(*module);
}

std::vector<std::string> names(const kernel::Module& module, bool fuse) {
  const auto graph = HloGraph::make(*module.kernel(), fuse, {});
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().str());
  std::vector<std::string> out;
  for (const HloKernel& k : graph->kernels()) out.push_back(k.name);
  return out;
}

/// Every kernel's text, read again.
void expect_readable(const kernel::Module& module, bool fuse, const TileSizes& tiles = {}) {
  const auto graph = HloGraph::make(*module.kernel(), fuse, tiles);
  ASSERT_TRUE(graph) << graph.error().str();
  for (const HloKernel& k : graph->kernels()) {
    const auto text = triton_text(*graph, k, tiles);
    ASSERT_TRUE(text) << text.error().str();
    const auto read = kernel::read_module(*text, k.name);
    EXPECT_TRUE(read) << read.error().str() << *text;
  }
}

TEST(StableHlo, FusesUpToReductionsAndComputesWhatTheyReadAgain) {
  EXPECT_THAT(names(chain(), true), ElementsAre("multiply_add_maximum_reduce_fusion", "reduce_rest",
                                                "multiply_add_maximum_divide_fusion"));
}

TEST(StableHlo, MakesAKernelAnOpWhereItDoesNotFuse) {
  EXPECT_THAT(names(chain(), false),
              ElementsAre("multiply", "add", "maximum", "reduce", "reduce_rest", "divide"));
}

TEST(StableHlo, WritesTextThatReadsAsTriton) {
  expect_readable(chain(), true);
  expect_readable(chain(), false, {4096, 128, 128, 128});
}

TEST(StableHlo, ReadsAndPrintsAProduct) {
  const std::string path = XPUSIM_SOURCE_DIR "/workloads/lessons/ir/dense_layer.stablehlo.mlir";
  auto module = kernel::read_module_file(path);
  ASSERT_TRUE(module) << module.error().str();
  const std::string text = kernel::print_module(*module);
  EXPECT_THAT(text, HasSubstr("stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], "
                              "precision = [DEFAULT, DEFAULT] : (tensor<512x1024xbf16>, "));
  EXPECT_THAT(names(*module, true), ElementsAre("dot_general", "add_maximum_fusion"));
  expect_readable(*module, true);
}

TEST(StableHlo, MasksOnlyWhatSizesDoNotDivide) {
  const auto text_for = [](std::int64_t n) {
    const std::string type = "tensor<" + std::to_string(n) + "xf32>";
    const auto module =
        module_of("    %0 = stablehlo.negate %arg0 : " + type + "\n    return %0 : " + type + "\n",
                  "%arg0: " + type, type);
    const auto graph = HloGraph::make(*module.kernel(), true, {});
    return *triton_text(*graph, graph->kernels()[0], {});
  };
  EXPECT_THAT(text_for(4096), testing::Not(HasSubstr("cmpi")));
  EXPECT_THAT(text_for(4097), HasSubstr("cmpi slt"));
}

TEST(StableHlo, SumsRowsBroadcastsColumnsAndTransposes) {
  const auto module = module_of(
      "    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n"
      "    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<24x40xf32>) -> "
      "tensor<40x24xf32>\n"
      "    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] "
      ": "
      "(tensor<40x24xf32>, tensor<f32>) -> tensor<40xf32>\n"
      "    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<40xf32>) -> tensor<40x24xf32>\n"
      "    %3 = stablehlo.subtract %0, %2 : tensor<40x24xf32>\n"
      "    return %3 : tensor<40x24xf32>\n",
      "%arg0: tensor<24x40xf32>", "tensor<40x24xf32>");
  EXPECT_THAT(names(module, true),
              ElementsAre("transpose_reduce_fusion", "transpose_subtract_fusion"));
  expect_readable(module, true);
  expect_readable(module, false);
}

TEST(StableHlo, SaysWithItsLineWhatItDoesNotCompile) {
  const auto module = module_of(
      "    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n"
      "    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : "
      "(tensor<24x40xf32>, tensor<f32>) -> tensor<40xf32>\n"
      "    return %0 : tensor<40xf32>\n",
      "%arg0: tensor<24x40xf32>", "tensor<40xf32>");
  const auto graph = HloGraph::make(*module.kernel(), true, {});
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().str(),
              HasSubstr("m.mlir:4:5: error: only reductions over the last dimensions"));
}

}  // namespace
}  // namespace xpusim::run
