// Products in the instructions of the matrix units: how many does each kind take?

#include <gmock/gmock.h>

#include "tests/tpu/compiled.h"

namespace xpusim::tpu {
namespace {

using test::body_of;
using test::compile_text;
using test::Compiled;
using test::kernel_text;
using test::occurrences;
using ::testing::HasSubstr;

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
TEST(Products, AProductOfOneTileIsPushesRowsAndPops) {
  const auto text = square_product(128, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v5e")), (Counts{16, 16, 16, 16, 16}));
}

// 512 x 512 on four arrays: 4 tiles along K at once, four columns of tiles after each other. Each
// column: 4 x 16 registers of weights; 64 registers of rows for each array, whose 4 results are
// added (3 adds); then the add of x.
TEST(Products, FourArraysShareTheSumOverK) {
  const auto text = square_product(512, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v5e")),
            (Counts{4 * 64, 4 * 256, 4 * 256, 4 * 64 * (3 + 1), 4 * 64}));
}

// On two arrays of 256: the same rows, of weights too, are two registers wide, and so are the
// results.
TEST(Products, AnArrayOf256TakesTwoRegistersARow) {
  const auto text = square_product(512, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v6e")),
            (Counts{2 * 2 * 32, 2 * 2 * 64, 2 * 2 * 2 * 64, 4 * 64 * (1 + 1), 4 * 64}));
}

// 1024 x 1024 on four arrays: two passes a column; the sums of the first wait in VMEM: a store and
// an add more for each of 128 x 8 results.
TEST(Products, SumsThatOnePassCannotTakeWaitInVmem) {
  const auto text = square_product(1024, "f32", "f32", false);
  EXPECT_EQ(matrix_counts(text, test::params_of("tpu_v5e")),
            (Counts{64 * 16, 64 * 128, 64 * 128, 1024 * (3 + 4 + 1), 1024 * 2}));
}

// int8: a register holds 32 rows: 4 of weights, 4 of rows, which give 16 results.
TEST(Products, AnInt8ProductTakesAQuarterOfTheRegisters) {
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
TEST(Products, AnF8ProductTakesAQuarterOfTheRegisters) {
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
TEST(Products, UnitsThatAccumulateAreAskedForResultsOnce) {
  const auto text = square_product(512, "f32", "f32", false);
  const Counts c = matrix_counts(text, test::params_of("tpu_v7x"));
  EXPECT_EQ(c, (Counts{2 * 2 * 32, 2 * 2 * 64, 64 * 4, 64 * 4, 64 * 4}));
  const std::string program = compile_text(text, test::params_of("tpu_v7x")).text;
  EXPECT_EQ(occurrences(program, "vmatmul:f32 keep"), 2u * 64);
}

// 2048 rows are twice what 256 result registers keep the sums of: the weights go in twice.
TEST(Products, UnitsThatAccumulateTakeAsManyRowsAsTheyHold) {
  const auto text = square_product(2048, "bf16", "f32", false);
  const Counts c = matrix_counts(text, test::params_of("tpu_v7x"));
  EXPECT_EQ(c.pops, 256u * 16);
  EXPECT_EQ(c.pushes, 2u * 8 * 8 * 32);  // of 8 x 8 tiles of 32 registers' rows
  EXPECT_EQ(c.products, 256u * 8 * 8);
}

TEST(Products, ATransposedOperandIsTurnedOnItsWayIntoTheArray) {
  const auto c = compile_text(square_product(256, "bf16", "f32", true), test::params_of("tpu_v5e"));
  EXPECT_EQ(c.problems, "");
  EXPECT_EQ(occurrences(c.text, "vmatpush:bf16 transposed"), 2u * 2 * 16);
  EXPECT_EQ(occurrences(c.text, "vxpose"), 0u);
}

// f32 exactly: six products of bf16 parts, so six times the rows and weights of one.
TEST(Products, AnExactProductOfF32TakesSixPasses) {
  const auto text =
      square_product(128, "f32", "f32", false, ", precision = #tpu.contract_precision<fp32>");
  const Counts c = matrix_counts(text, test::params_of("tpu_v5e"));
  EXPECT_EQ(c.pushes, 6u * 16);
  EXPECT_EQ(c.products, 6u * 16);
}

/// Four products of 8 x 128 and 128 x 128 of which one factor is the same `x` for all.
std::string batches_of(const std::string& lhs, const std::string& rhs, int rows) {
  const auto zeros = [](const std::string& name, const std::string& type) {
    return "    %" + name + " = \"arith.constant\"() {value = dense<0.000000e+00> : vector<" +
           type + ">} : () -> vector<" + type + ">\n";
  };
  return kernel_text(
      zeros("rows", "4x8x128xf32") + zeros("columns", "4x128x128xf32") +
          "    %all = \"vector.broadcast\"(%x) : (vector<ROWSxCOLSxTYPE>) -> "
          "vector<4xROWSxCOLSxTYPE>\n    %p = tpu.matmul " +
          lhs + ", " + rhs +
          ", %rows {dimension_numbers = #tpu.dot_dimension_numbers<[2], [1], [1], [2], "
          "[0, 0, 0, 1, 1, 2], [0], [0]>, transpose_lhs_hint = false} : vector<4x8x128xf32>, "
          "vector<4x128x128xf32>, vector<4x8x128xf32> -> vector<4x8x128xf32>\n" +
          test::kDouble,
      rows, 128, "f32");
}

TEST(Products, FactorsThatAreBroadcastOverBatchesAreRefused) {
  const TpuParams params = test::params_of("tpu_v5e");
  EXPECT_EQ(compile_text(batches_of("%rows", "%columns", 8), params).problems, "");
  const char* refused = "'tpu.matmul': factors whose registers repeat (broadcasts)";
  EXPECT_THAT(compile_text(batches_of("%all", "%columns", 8), params).problems, HasSubstr(refused));
  EXPECT_THAT(compile_text(batches_of("%rows", "%all", 128), params).problems, HasSubstr(refused));
}

}  // namespace
}  // namespace xpusim::tpu
