// StableHLO modules as kernels: which ops share one, and is their Triton text right?

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "sim/exec/interpreter.h"
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

/// What the first kernel of a function of f32 tensors gives, in one program.
std::vector<float> run(const std::string& body, std::vector<float> a, std::vector<float> b,
                       std::int64_t results) {
  const std::string type = "tensor<" + std::to_string(a.size()) + "xf32>";
  const std::string result = results == 1 ? "tensor<f32>" : type;
  const auto module = module_of(body, "%arg0: " + type + ", %arg1: " + type, result);
  const auto graph = HloGraph::make(*module.kernel(), true, {});
  EXPECT_TRUE(graph) << graph.error().str();
  const auto text = triton_text(*graph, graph->kernels()[0], {});
  EXPECT_TRUE(text) << text.error().str();
  auto triton = kernel::read_module(*text, "kernel.ttir");
  EXPECT_TRUE(triton) << triton.error().str();
  exec::Launch launch;
  launch.module = std::make_shared<kernel::Module>(std::move(*triton));
  launch.function = launch.module->kernel();
  exec::DeviceMemory memory(std::uint64_t{1} << 30);
  const auto bind = [&](const char* name, std::int64_t count) {
    const auto address = memory.allocate(name, exec::DType::kF32, {count}, {});
    exec::Argument argument;
    argument.kind = exec::Argument::Kind::kPointer;
    argument.bits = static_cast<std::int64_t>(*address);
    argument.tensor = name;
    launch.args.push_back(argument);
    return *address;
  };
  const std::vector<float>* inputs[] = {&a, &b};
  for (std::size_t k = 0; k < graph->kernels()[0].inputs.size(); ++k) {
    const std::uint64_t at = bind(k == 0 ? "a" : "b", static_cast<std::int64_t>(inputs[k]->size()));
    memory.write(at, std::as_bytes(std::span(*inputs[k])));
  }
  bind("out", results);
  const auto prepared = exec::Prepared::make(launch.module, *launch.function);
  EXPECT_TRUE(prepared) << prepared.error().str();
  const auto interpreter = exec::Interpreter::make(*prepared, launch, memory, {});
  interpreter->start({0, 0, 0});
  EXPECT_EQ(interpreter->advance(), exec::Interpreter::State::kDone)
      << interpreter->error().message;
  std::vector<float> out;
  for (double v : memory.as_doubles(*memory.find(std::string_view("out")))) {
    out.push_back(static_cast<float>(v));
  }
  return out;
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// StableHLO, as IEEE-754: maximum and minimum of a NaN are one, and +0 is above -0.
TEST(StableHlo, PropagatesNaNThroughMaximumAndMinimum) {
  for (const char* name : {"maximum", "minimum"}) {
    const auto body = std::string("    %0 = stablehlo.") + name +
                      " %arg0, %arg1 : tensor<8xf32>\n    return %0 : tensor<8xf32>\n";
    const bool most = body.find("maximum") != std::string::npos;
    const auto out = run(body, {kNaN, 1, -0.0F, 0.0F, 2, -1, kNaN, 3},
                         {1, kNaN, 0.0F, -0.0F, 5, -7, kNaN, 3}, 8);
    for (const std::size_t i : {0u, 1u, 6u}) EXPECT_TRUE(std::isnan(out[i])) << name << i;
    for (const std::size_t i : {2u, 3u}) {
      EXPECT_EQ(out[i], 0) << name;
      EXPECT_EQ(std::signbit(out[i]), !most) << name;
    }
    EXPECT_EQ(out[4], most ? 5 : 2);
    EXPECT_EQ(out[5], most ? -1 : -7);
  }
}

TEST(StableHlo, PropagatesNaNThroughReductions) {
  const auto out =
      run("    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
          "    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across "
          "dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
          "    return %0 : tensor<f32>\n",
          {1, 2, 3, kNaN, 4, 5, 6, 7}, {0}, 1);
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(StableHlo, NegatesZeros) {
  const auto out =
      run("    %0 = stablehlo.negate %arg0 : tensor<8xf32>\n"
          "    return %0 : tensor<8xf32>\n",
          {0.0F, -0.0F, 1, -1, 2, 3, 4, 5}, {0}, 8);
  EXPECT_TRUE(std::signbit(out[0]));
  EXPECT_FALSE(std::signbit(out[1]));
  EXPECT_EQ(out[2], -1);
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

/// What is said of a product of two factors.
std::string product_problem(const std::string& lhs, const std::string& rhs,
                            const std::string& result, const std::string& dimensions) {
  const std::string a = "tensor<" + lhs + ">", b = "tensor<" + rhs + ">",
                    c = "tensor<" + result + ">";
  const auto module =
      kernel::read_module("module @m {\n  func.func public @main(%arg0: " + a + ", %arg1: " + b +
                              ") -> (" + c + ") {\n    %0 = stablehlo.dot_general %arg0, %arg1, " +
                              dimensions + ", precision = [DEFAULT, DEFAULT] : (" + a + ", " + b +
                              ") -> " + c + "\n    return %0 : " + c + "\n  }\n}\n",
                          "m.mlir");
  if (!module) return module.error().str();
  const auto graph = HloGraph::make(*module->kernel(), true, {});
  if (!graph) return graph.error().str();
  const auto text = triton_text(*graph, graph->kernels()[0], {});
  return text ? "" : text.error().str();
}

TEST(StableHlo, ProductsWhoseSizesDoNotFitAreNamed) {
  const std::string flat = "contracting_dims = [1] x [0]";
  const std::string batched = "batching_dims = [0] x [0], contracting_dims = [2] x [1]";
  EXPECT_EQ(product_problem("8x16xf32", "16x4xf32", "8x4xf32", flat), "");
  EXPECT_EQ(product_problem("2x8x16xf32", "2x16x4xf32", "2x8x4xf32", batched), "");
  const auto says = [](const char* what) {
    return HasSubstr(std::string("m.mlir:3:10: error: ") + what);
  };
  EXPECT_THAT(product_problem("8x16xf32", "16x4xf32", "8x4xf32", "contracting_dims = [5] x [0]"),
              says("'stablehlo.dot_general' 'lhs' has no dimension 5, its shape is [8, 16]"));
  EXPECT_THAT(product_problem("8x16xf32", "32x4xf32", "8x4xf32", flat),
              says("'stablehlo.dot_general' has contracting dimensions that differ: 1 of [8, 16] "
                   "and 0 of [32, 4]"));
  EXPECT_THAT(product_problem("2x8x16xf32", "3x16x4xf32", "2x8x4xf32", batched),
              says("'stablehlo.dot_general' has batching dimensions that differ: 0 of"));
  EXPECT_THAT(product_problem("8x16xf32", "16x4xf32", "8x8xf32", flat),
              says("'stablehlo.dot_general' gives a result of the shape [8, 4], not [8, 8]"));
  EXPECT_THAT(
      product_problem("8x16xf32", "16x4xf32", "4xf32", "contracting_dims = [1, 1] x [0, 0]"),
      says("'stablehlo.dot_general' names dimension 1 of 'lhs' twice"));
}

TEST(StableHlo, ProductsThatHaveNoTritonFormAreNamed) {
  const std::string flat = "contracting_dims = [1] x [0]";
  EXPECT_THAT(product_problem("0x4xf32", "4x8xf32", "0x8xf32", flat),
              HasSubstr("without elements"));
  EXPECT_THAT(product_problem("8x0xf32", "0x8xf32", "8x8xf32", flat),
              HasSubstr("without elements"));
  EXPECT_THAT(product_problem("?x4xf32", "4x8xf32", "?x8xf32", flat), HasSubstr("is not known"));
  EXPECT_THAT(product_problem("65536x4xf32", "4x65536xf32", "65536x65536xf32", flat),
              HasSubstr("more than 2146435072 elements"));
  EXPECT_THAT(product_problem("8x4xf32", "4x8xbf16", "8x8xf32", flat),
              HasSubstr("m.mlir:3:5: error: 'stablehlo.dot_general': factors of different types"));
  EXPECT_THAT(product_problem("8x4xi8", "4x8xi8", "8x8xi32", flat),
              HasSubstr("products of floats"));
  EXPECT_THAT(product_problem("8x4xf32", "4xf32", "8xf32", flat),
              HasSubstr("products of fewer than two dimensions"));
}

/// Shapes that contradict the op are errors of the text, each with its place.
TEST(StableHlo, ShapesThatDoNotFitAreNamed) {
  const auto problem = [](const std::string& op, const std::string& from, const std::string& to) {
    const auto module = kernel::read_module(
        "module @m {\n  func.func public @main(%arg0: tensor<" + from + ">) -> (tensor<" + to +
            ">) {\n    %c = stablehlo.constant dense<0.0> : tensor<f32>\n    %0 = stablehlo." + op +
            " : (tensor<" + from + ">" + (op.starts_with("reduce") ? ", tensor<f32>" : "") +
            ") -> tensor<" + to + ">\n    return %0 : tensor<" + to + ">\n  }\n}\n",
        "m.mlir");
    return module ? "" : module.error().str();
  };
  EXPECT_EQ(problem("reshape %arg0", "4x6xf32", "24xf32"), "");
  EXPECT_THAT(problem("reshape %arg0", "4x6xf32", "20xf32"), HasSubstr("cannot turn 24 elements"));
  EXPECT_THAT(problem("transpose %arg0, dims = [1, 2]", "4x6xf32", "6x4xf32"),
              HasSubstr("m.mlir:4:10: error: 'stablehlo.transpose' 'operand' has no dimension 2"));
  EXPECT_THAT(problem("transpose %arg0, dims = [1, 0]", "4x6xf32", "4x6xf32"),
              HasSubstr("gives a result of the shape [6, 4], not [4, 6]"));
  EXPECT_THAT(problem("broadcast_in_dim %arg0, dims = [2]", "4xf32", "4x6xf32"),
              HasSubstr("'result' has no dimension 2"));
  EXPECT_THAT(problem("broadcast_in_dim %arg0, dims = [1]", "4xf32", "4x6xf32"),
              HasSubstr("cannot broadcast shape [4] to [4, 6]"));
  EXPECT_THAT(problem("reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [-1]",
                      "4x6xf32", "4xf32"),
              HasSubstr("'input' has no dimension -1"));
  EXPECT_THAT(problem("reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [1]",
                      "4x6xf32", "6xf32"),
              HasSubstr("gives a result of the shape [4], not [6]"));
}

/// Values that are used twice at every step are found once, so that names and texts stay short.
TEST(StableHlo, ValuesUsedAgainAndAgainAreFoundOnce) {
  std::string body = "    %0 = stablehlo.add %arg0, %arg0 : tensor<8xf32>\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "%" + std::to_string(i - 1);
    body += "    %" + std::to_string(i) + " = stablehlo.add " + before + ", " + before +
            " : tensor<8xf32>\n";
  }
  const auto module =
      module_of(body + "    return %59 : tensor<8xf32>\n", "%arg0: tensor<8xf32>", "tensor<8xf32>");
  EXPECT_THAT(names(module, true), ElementsAre("add_add_add_add_fusion"));
  expect_readable(module, true);
}

}  // namespace
}  // namespace xpusim::run
