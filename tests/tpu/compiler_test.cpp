// From kernel text to bundles: what does the compiler make of small kernels, and what does it
// refuse?

#include <gmock/gmock.h>

#include "tests/tpu/compiled.h"

namespace xpusim::tpu {
namespace {

using test::body_of;
using test::compile_text;
using test::kDouble;
using test::kernel_text;
using test::occurrences;
using test::without_lines;
using ::testing::HasSubstr;

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

TEST(Compiler, SaysThatCmemIsNotModelled) {
  const auto text = test::replaced(kernel_text(kDouble, 8, 128, "f32"), "memory_space<vmem>",
                                   "memory_space<cmem>");
  EXPECT_THAT(
      compile_text(text, test::params_of("tpu_v4")).problems,
      HasSubstr("operand 'x_ref': CMEM is not, only VMEM windows, SMEM and HBM are modelled"));
}

}  // namespace
}  // namespace xpusim::tpu
