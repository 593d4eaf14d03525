// From kernel text to bundles: what does the compiler make of small kernels, and what does it
// refuse?

#include <gmock/gmock.h>

#include <fstream>

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/compiler/lower.h"
#include "models/tpu/launch.h"
#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;
using test::LaunchFixture;
using ::testing::HasSubstr;

constexpr const char* kLoad =
    R"(    %c0 = "arith.constant"() {value = 0 : index} : () -> index
    %x = "vector.load"(%arg1, %c0, %c0) : (memref<ROWSxCOLSxTYPE, #tpu.memory_space<vmem>>, index, index) -> vector<ROWSxCOLSxTYPE>
)";
constexpr const char* kStore =
    R"(    tpu.vector_store %arg2[%c0, %c0], %r {strides = array<i32>} : memref<ROWSxCOLSxTYPE, #tpu.memory_space<vmem>>, vector<ROWSxCOLSxTYPE>, 
)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// A kernel of one step on one input and one output block: `body` computes %r from %x.
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

struct Compiled {
  std::string text;  ///< of the program
  std::string problems;
};

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

/// The body's bundles: what stands between `body` and the write-back's scalar work.
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

constexpr const char* kDouble =
    "    %r = \"arith.addf\"(%x, %x) {fastmath = #arith.fastmath<none>} : "
    "(vector<ROWSxCOLSxTYPE>, vector<ROWSxCOLSxTYPE>) -> vector<ROWSxCOLSxTYPE>\n";

TEST(Compiler, OneRegisterIsALoadAnAddAndAStore) {
  const auto c = compile_text(kernel_text(kDouble, 8, 128, "f32"), test::params_of("tpu_v6e"));
  EXPECT_EQ(without_lines(body_of(c.text)),
            "{ v0 = vld [0 0 0 0] }\n{ v0 = vadd:f32 v0, v0 }\n{ vst v0 [1 0 0 0] }\n");
}

TEST(Compiler, FourRegistersShareBundles) {
  const auto c = compile_text(kernel_text(kDouble, 16, 256, "f32"), test::params_of("tpu_v6e"));
  // vld 3 cycles: two loads a bundle, the first adds with nothing else to do after them.
  EXPECT_EQ(without_lines(body_of(c.text)),
            "{ v0 = vld [0 0 0 0]; v1 = vld [0 2 0 0] }\n"
            "{ v2 = vld [0 1 0 0]; v3 = vld [0 3 0 0] }\n"
            "{ v0 = vadd:f32 v0, v0; v1 = vadd:f32 v1, v1 }\n"
            "{ v2 = vadd:f32 v2, v2; v3 = vadd:f32 v3, v3 }\n"
            "{ vst v0 [1 0 0 0] }\n{ vst v1 [1 2 0 0] }\n"
            "{ vst v2 [1 1 0 0] }\n{ vst v3 [1 3 0 0] }\n");
}

TEST(Compiler, ManyRegistersBecomeALoop) {
  const auto c = compile_text(kernel_text(kDouble, 512, 1024, "f32"), test::params_of("tpu_v6e"));
  const std::string body = body_of(c.text);
  EXPECT_THAT(body, HasSubstr("{ loop 8 }"));
  EXPECT_THAT(body, HasSubstr("vld [0 0 64 0]"));  // 64 registers a trip
  EXPECT_EQ(std::count(body.begin(), body.end(), '\n'), 1 + 64 + 3 + 2);
}

TEST(Compiler, RaggedEdgesAreStoredUnderAMask) {
  const auto c = compile_text(kernel_text(kDouble, 8, 200, "f32"), test::params_of("tpu_v6e"));
  EXPECT_THAT(c.text, HasSubstr("vst v0 [1 0 0 0]"));
  EXPECT_THAT(c.text, HasSubstr("vst masked v1 [1 1 0 0]"));
}

TEST(Compiler, Bf16IsWidenedWhereTheCoreHasNone) {
  const std::string text = kernel_text(kDouble, 8, 128, "bf16");
  const auto v6e = compile_text(text, test::params_of("tpu_v6e"));
  EXPECT_THAT(v6e.text, HasSubstr("vadd:bf16"));
  const auto v5e = compile_text(text, test::params_of("tpu_v5e"));
  EXPECT_THAT(v5e.text, HasSubstr("vunpack:f32"));
  EXPECT_THAT(v5e.text, HasSubstr("vadd:f32"));
  EXPECT_THAT(v5e.text, HasSubstr("vpack:bf16"));
}

TEST(Compiler, ARowMaximumIsAddedUpInRegistersThenReducedAcrossLanes) {
  const std::string body =
      "    %init = \"arith.constant\"() {value = dense<0xFF800000> : vector<8xf32>} : () -> "
      "vector<8xf32>\n"
      "    %m = \"vector.multi_reduction\"(%x, %init) {kind = #vector.kind<maximumf>, "
      "reduction_dims = array<i64: 1>} : (vector<ROWSxCOLSxTYPE>, vector<8xf32>) -> vector<8xf32>\n"
      "    %s = \"vector.shape_cast\"(%m) : (vector<8xf32>) -> vector<8x1xf32>\n"
      "    %b = \"vector.broadcast\"(%s) : (vector<8x1xf32>) -> vector<ROWSxCOLSxTYPE>\n"
      "    %r = \"arith.subf\"(%x, %b) {fastmath = #arith.fastmath<none>} : "
      "(vector<ROWSxCOLSxTYPE>, vector<ROWSxCOLSxTYPE>) -> vector<ROWSxCOLSxTYPE>\n";
  const auto c = compile_text(kernel_text(body, 8, 512, "f32"), test::params_of("tpu_v6e"));
  const std::string text = body_of(c.text);
  const auto count = [&](const std::string& word) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count("vmax"), 3u);  // four registers of a row
  EXPECT_EQ(count("vreduce.lane"), 1u);
  EXPECT_EQ(count("vsub"), 4u);
  EXPECT_EQ(count("vst v"), 4u + 2);  // results, the partial and the finished maximum
}

TEST(Compiler, SaysWhatItCannotDoAndWhere) {
  const std::string turn =
      "    %r = tpu.transpose %x, [1, 0] : vector<ROWSxCOLSxTYPE> -> vector<ROWSxCOLSxTYPE>\n";
  const auto transposed =
      compile_text(kernel_text(turn, 128, 128, "i8"), test::params_of("tpu_v6e"));
  EXPECT_THAT(transposed.problems,
              HasSubstr("k.mlir:6:5: error: 'tpu.transpose': transposes of 8-bit elements"));
  const auto half = compile_text(kernel_text(kDouble, 8, 128, "f16"), test::params_of("tpu_v6e"));
  EXPECT_THAT(half.problems, HasSubstr("no f16"));
}

// A square of 128 x 128 f32 is 16 registers, each of which goes through the XLU once.
TEST(Compiler, ATransposeSendsEveryRegisterThroughTheXlu) {
  const std::string turn =
      "    %r = tpu.transpose %x, [1, 0] : vector<ROWSxCOLSxTYPE> -> vector<ROWSxCOLSxTYPE>\n";
  const auto c = compile_text(kernel_text(turn, 256, 256, "f32"), test::params_of("tpu_v6e"));
  EXPECT_EQ(c.problems, "");
  EXPECT_EQ(occurrences(c.text, "vxpose"), 64u);
  EXPECT_EQ(occurrences(c.text, "vld"), 64u);
  EXPECT_EQ(occurrences(c.text, "vst v"), 64u);
}

/// x times x, by [1] x [0] or [1] x [1].
std::string square_product(int n, const std::string& type, const std::string& acc, bool transposed,
                           const std::string& precision = "") {
  const std::string numbers = transposed ? "[1], [1], [0], [0], [0, 0, 1, 0], [], []"
                                         : "[1], [0], [0], [1], [0, 0, 1, 1], [], []";
  const std::string zero = acc == "i32" ? "0" : "0.000000e+00";
  return kernel_text(
      "    %z = \"arith.constant\"() {value = dense<" + zero + "> : vector<ROWSxCOLSx" + acc +
          ">} : () -> vector<ROWSxCOLSx" + acc +
          ">\n"
          "    %p = tpu.matmul %x, %x, %z {dimension_numbers = "
          "#tpu.dot_dimension_numbers<" +
          numbers + ">" + precision +
          ", transpose_lhs_hint = false} : vector<ROWSxCOLSxTYPE>, "
          "vector<ROWSxCOLSxTYPE>, vector<ROWSxCOLSx" +
          acc + "> -> vector<ROWSxCOLSx" + acc + ">\n" +
          (acc == type    ? "    %r = \"arith.addf\"(%p, %x) {fastmath = "
                            "#arith.fastmath<none>} : (vector<ROWSxCOLSxTYPE>, "
                            "vector<ROWSxCOLSxTYPE>) -> vector<ROWSxCOLSxTYPE>\n"
           : acc == "i32" ? "    %r = \"arith.trunci\"(%p) : (vector<ROWSxCOLSxi32>) -> "
                            "vector<ROWSxCOLSxi8>\n"
                          : "    %r = \"arith.truncf\"(%p) : (vector<ROWSxCOLSxf32>) -> "
                            "vector<ROWSxCOLSxTYPE>\n"),
      n, n, type);
}

struct Counts {
  std::size_t pushes, products, pops, adds, stores;
  bool operator==(const Counts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.pushes << " pushes, " << c.products << " products, " << c.pops << " pops, "
             << c.adds << " adds, " << c.stores << " stores";
}

Counts matrix_counts(const std::string& text, const TpuParams& params) {
  const Compiled c = compile_text(text, params);
  EXPECT_EQ(c.problems, "");
  const std::string body = body_of(c.text);
  return {occurrences(body, "vmatpush"), occurrences(body, "vmatmul"), occurrences(body, "vpop"),
          occurrences(body, "vadd"), occurrences(body, "vst v")};
}

// 128 x 128 on one array: 16 registers of weights (8 rows each), 16 of rows, 16 results, the add of
// x as they come.
TEST(Compiler, AProductOfOneTileIsPushesRowsAndPops) {
  const auto text = square_product(128, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v5e")), (Counts{16, 16, 16, 16, 16}));
}

// 512 x 512 on four arrays: 4 tiles along K at once, four columns of tiles after each other. Each
// column: 4 x 16 registers of weights; 64 registers of rows for each array, whose 4 results are
// added (3 adds); then the add of x.
TEST(Compiler, FourArraysShareTheSumOverK) {
  const auto text = square_product(512, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v5e")),
            (Counts{4 * 64, 4 * 256, 4 * 256, 4 * 64 * (3 + 1), 4 * 64}));
}

// On two arrays of 256: the same rows, of weights too, are two registers wide, and so are the
// results.
TEST(Compiler, AnArrayOf256TakesTwoRegistersARow) {
  const auto text = square_product(512, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v6e")),
            (Counts{2 * 2 * 32, 2 * 2 * 64, 2 * 2 * 2 * 64, 4 * 64 * (1 + 1), 4 * 64}));
}

// 1024 x 1024 on four arrays: two passes a column; the sums of the first wait in VMEM: a store and
// an add more for each of 128 x 8 results.
TEST(Compiler, SumsThatOnePassCannotTakeWaitInVmem) {
  const auto text = square_product(1024, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v5e")),
            (Counts{64 * 16, 64 * 128, 64 * 128, 1024 * (3 + 4 + 1), 1024 * 2}));
}

// int8: a register holds 32 rows: 4 of weights, 4 of rows, which give 16 results.
TEST(Compiler, AnInt8ProductTakesAQuarterOfTheRegisters) {
  const auto text = square_product(128, "i8", "i32", false);
  const Counts c = matrix_counts(text, test::params_of("tpu_v5e"));
  EXPECT_EQ(c.pushes, 4u);
  EXPECT_EQ(c.products, 4u);
  EXPECT_EQ(c.pops, 16u);
  EXPECT_THAT(compile_text(text, test::params_of("tpu_v5e", {"tpu.core.mxu.rows_per_cycle_8bit=0"}))
                  .problems,
              HasSubstr("the matrix unit of this TPU has no 8-bit integers"));
}

// f8: as many registers as int8, into f32, on an array of 256 columns two of results a row. Not all
// generations have it.
TEST(Compiler, AnF8ProductTakesAQuarterOfTheRegisters) {
  const auto text = square_product(128, "f8E4M3FN", "f32", false);
  const Counts c = matrix_counts(text, test::params_of("tpu_v7x"));
  EXPECT_EQ(c.pushes, 4u);
  EXPECT_EQ(c.products, 4u);
  EXPECT_EQ(c.pops, 2u * 16);
  EXPECT_THAT(compile_text(text, test::params_of("tpu_v4")).problems,
              HasSubstr("the matrix unit of this TPU has no 8-bit floats"));
  EXPECT_THAT(
      compile_text(square_product(128, "i8", "i32", false), test::params_of("tpu_v7x")).problems,
      HasSubstr("the matrix unit of this TPU has no 8-bit integers"));
}

// 512 x 512 on two arrays of 256 that accumulate: a column of tiles each, two tiles along K one
// after the other. Only the 64 x 4 results are popped, and no sums are added but x.
TEST(Compiler, UnitsThatAccumulateAreAskedForResultsOnce) {
  const auto text = square_product(512, "f32", "f32", false);
  const Counts c = matrix_counts(text, test::params_of("tpu_v7x"));
  EXPECT_EQ(c, (Counts{2 * 2 * 32, 2 * 2 * 64, 64 * 4, 64 * 4, 64 * 4}));
  const std::string program = compile_text(text, test::params_of("tpu_v7x")).text;
  EXPECT_EQ(occurrences(program, "vmatmul:f32 keep"), 2u * 64);
}

// 2048 rows are twice what 256 result registers keep the sums of: the weights go in twice.
TEST(Compiler, UnitsThatAccumulateTakeAsManyRowsAsTheyHold) {
  const auto text = square_product(2048, "bf16", "f32", false);
  const Counts c = matrix_counts(text, test::params_of("tpu_v7x"));
  EXPECT_EQ(c.pops, 256u * 16);
}

// 16-bit tiles of 16 rows fill a register: half the loads, adds and stores of 8 rows.
TEST(Compiler, TilesOf16RowsTakeHalfTheInstructions) {
  const auto text = kernel_text(kDouble, 64, 512, "bf16");
  const std::string half = body_of(compile_text(text, test::params_of("tpu_v6e")).text);
  const std::string full = body_of(compile_text(text, test::params_of("tpu_v7x")).text);
  for (const char* op : {"vld", "vadd:bf16", "vst"}) {
    EXPECT_EQ(occurrences(half, op), 32u) << op;
    EXPECT_EQ(occurrences(full, op), 16u) << op;
  }
}

// Widened, a register of 16 rows is two; both are packed into one again.
TEST(Compiler, TilesOf16RowsUnpackIntoTwoRegisters) {
  const std::string wide =
      "    %w = \"arith.extf\"(%x) : (vector<ROWSxCOLSxbf16>) -> vector<ROWSxCOLSxf32>\n"
      "    %e = \"math.exp2\"(%w) : (vector<ROWSxCOLSxf32>) -> vector<ROWSxCOLSxf32>\n"
      "    %r = \"arith.truncf\"(%e) : (vector<ROWSxCOLSxf32>) -> vector<ROWSxCOLSxbf16>\n";
  const std::string body =
      body_of(compile_text(kernel_text(wide, 64, 512, "bf16"), test::params_of("tpu_v7x")).text);
  EXPECT_EQ(occurrences(body, "vld"), 16u);
  EXPECT_EQ(occurrences(body, "vunpack:f32"), 32u);
  EXPECT_EQ(occurrences(body, "vpow2:f32"), 32u);
  EXPECT_EQ(occurrences(body, "vpack:bf16"), 16u);
  EXPECT_EQ(occurrences(body, "vst"), 16u);
}

TEST(Compiler, ATransposedOperandIsTurnedOnItsWayIntoTheArray) {
  const auto c = compile_text(square_product(256, "bf16", "f32", true), test::params_of("tpu_v5e"));
  EXPECT_EQ(c.problems, "");
  EXPECT_EQ(occurrences(c.text, "vmatpush:bf16 transposed"), 2u * 2 * 16);
  EXPECT_EQ(occurrences(c.text, "vxpose"), 0u);
}

// f32 exactly: six products of bf16 parts, so six times the rows and weights of one.
TEST(Compiler, AnExactProductOfF32TakesSixPasses) {
  const auto text =
      square_product(128, "f32", "f32", false, ", precision = #tpu.contract_precision<fp32>");
  const Counts c = matrix_counts(text, test::params_of("tpu_v5e"));
  EXPECT_EQ(c.pushes, 6u * 16);
  EXPECT_EQ(c.products, 6u * 16);
}

TEST(Compiler, SaysThatCmemIsNotModelled) {
  const auto text =
      replaced(kernel_text(kDouble, 8, 128, "f32"), "memory_space<vmem>", "memory_space<cmem>");
  EXPECT_THAT(
      compile_text(text, test::params_of("tpu_v4")).problems,
      HasSubstr("operand 'x_ref': CMEM is not, only VMEM windows, SMEM and HBM are modelled"));
}

TEST(Launch, WindowsThatDoNotFitVmemAreNamed) {
  LaunchFixture f("workloads/pallas/ir/add.mlir",
                  {{"x", DType::kF32, {8192, 1024}, test::zeros()},
                   {"y", DType::kF32, {8192, 1024}, test::zeros()},
                   {"o", DType::kF32, {8192, 1024}, test::zeros()}});
  Machine machine("small", test::params_of("tpu_v5e", {"tpu.vmem.bytes=8 MiB"}), std::nullopt);
  const auto report = machine.launch(f.launch, f.memory, {});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().str(), HasSubstr("12 MiB of VMEM, the core has 8 MiB"));
  EXPECT_THAT(report.error().str(), HasSubstr("x_ref 2 x 2 MiB"));
}

TEST(Launch, WrongOperandsAreNamed) {
  const auto problem = [](const std::vector<test::TensorSpec>& tensors) {
    LaunchFixture f("workloads/pallas/ir/add.mlir", tensors);
    Machine machine("m", test::params_of("tpu_v5e"), std::nullopt);
    const auto report = machine.launch(f.launch, f.memory, {});
    return report ? std::string() : report.error().str();
  };
  const test::TensorSpec x{"x", DType::kF32, {8192, 1024}, test::zeros()};
  test::TensorSpec y = x, o = x;
  y.name = "y";
  o.name = "o";
  EXPECT_EQ(problem({x, y, o}), "");
  EXPECT_THAT(problem({x, y}), HasSubstr("operand 2 ('o_ref') has no argument"));
  y.dtype = DType::kBF16;
  EXPECT_THAT(problem({x, y, o}), HasSubstr("operand 'y_ref' is f32, but tensor 'y' is bf16"));
  y.dtype = DType::kF32;
  o.shape = {8192 * 1024};
  EXPECT_THAT(problem({x, y, o}), HasSubstr("'o_ref' has 1 dimensions, its window 2"));
  o.shape = {4096, 1024};
  EXPECT_THAT(problem({x, y, o}), HasSubstr("block 8 of dimension 0 lies outside the array"));
}

}  // namespace
}  // namespace xpusim::tpu
