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

}  // namespace
}  // namespace xpusim::run
