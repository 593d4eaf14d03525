#include "tests/tpu/compiled.h"

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/compiler/lower.h"

namespace xpusim::tpu::test {
namespace {

constexpr const char* kLoad =
    R"(    %c0 = "arith.constant"() {value = 0 : index} : () -> index
    %x = "vector.load"(%arg1, %c0, %c0) : (memref<ROWSxCOLSxTYPE, #tpu.memory_space<vmem>>, index, index) -> vector<ROWSxCOLSxTYPE>
)";
constexpr const char* kStore =
    R"(    tpu.vector_store %arg2[%c0, %c0], %r {strides = array<i32>} : memref<ROWSxCOLSxTYPE, #tpu.memory_space<vmem>>, vector<ROWSxCOLSxTYPE>, 
)";

}  // namespace

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string kernel_text(const std::string& body, int rows, int cols, const std::string& type) {
  const std::string memref = "memref<ROWSxCOLSxTYPE, #tpu.memory_space<vmem>>";
  const std::string window = "{transform_indices = @t, window_bounds = array<i64: ROWS, COLS>}";
  std::string text =
      "module attributes {stable_mosaic.version = 15 : i64} {\n  \"func.func\"() ({\n"
      "  ^bb0(%arg0: i32 loc(unknown), %arg1: " +
      memref + " loc(\"x_ref\"), %arg2: " + memref + " loc(\"o_ref\")):\n" + kLoad + body + kStore +
      "    \"func.return\"() : () -> ()\n"
      "  }) {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], function_type = (i32, " +
      memref + ", " + memref +
      ") -> (), iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : "
      "i64, scratch_operands = 0 : i64, sym_name = \"k\", tpu.core_type = #tpu.core_type<tc>, "
      "window_params = [" +
      window + ", " + window +
      "]} : () -> ()\n"
      "  \"func.func\"() ({\n  ^bb0(%arg0: i32 loc(unknown)):\n"
      "    %0 = \"arith.constant\"() {value = 0 : i32} : () -> i32\n"
      "    \"func.return\"(%arg0, %0) : (i32, i32) -> ()\n"
      "  }) {function_type = (i32) -> (i32, i32), sym_name = \"t\"} : () -> ()\n}\n";
  text = replaced(text, "ROWS", std::to_string(rows));
  text = replaced(text, "COLS", std::to_string(cols));
  return replaced(text, "TYPE", type);
}

Compiled compile_text(const std::string& text, const TpuParams& params) {
  auto module = kernel::read_module(text, "k.mlir");
  EXPECT_TRUE(module) << (module ? "" : module.error().str());
  if (!module) return {};
  exec::Launch launch;
  launch.module = std::make_shared<kernel::Module>(std::move(*module));
  launch.function = launch.module->kernel();
  auto prepared = exec::Prepared::make(launch.module, *launch.function);
  EXPECT_TRUE(prepared) << (prepared ? "" : prepared.error().str());
  if (!prepared) return {};
  auto plan = plan_mosaic(launch, **prepared, params.core);
  if (!plan) return {"", plan.error().str()};
  auto program = compile(std::move(*plan), params.core);
  if (!program) return {"", program.error().str()};
  return {print(*program), ""};
}

std::string body_of(const std::string& program) {
  const std::size_t begin = program.find('\n', program.find("{ body }")) + 1;
  return program.substr(begin, program.find("{ s0 = sadd", begin) - begin);
}

std::string without_lines(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '@') {
      while (i < text.size() && text[i] != '\n') ++i;
      out.pop_back();
    }
    if (i < text.size()) out += text[i];
  }
  return out;
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++n;
  return n;
}

}  // namespace xpusim::tpu::test
