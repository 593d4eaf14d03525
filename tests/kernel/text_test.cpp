// Types, attributes, numbers and locations: what they mean once read, and how they are spelled.

#include <cmath>
#include <limits>

#include "sim/kernel/text/float_text.h"
#include "tests/kernel/reading.h"

namespace xpusim::kernel::testing {
namespace {

Type read_type(const std::string& text) {
  static std::vector<Module> kept;
  kept.push_back(read("module {\n  tt.func private @f(" + text + ")\n}\n"));
  if (!kept.back().op) return nullptr;
  return kept.back().functions.at(0).op->attr("function_type")->type->inputs.at(0);
}

Attr read_attr(const std::string& text) {
  static std::vector<Module> kept;
  kept.push_back(read("module attributes {a = " + text + "} {\n}\n"));
  return kept.back().op ? kept.back().op->attr("a") : nullptr;
}

TEST(Types, KeepTheirSpelling) {
  for (const char* text :
       {"i1",
        "i4",
        "index",
        "bf16",
        "f8E4M3FN",
        "f8E5M2",
        "tf32",
        "ui8",
        "none",
        "tensor<128x64xbf16>",
        "tensor<f32>",
        "tensor<?x4xi32>",
        "vector<8x128xf32>",
        "tensor<4x!tt.ptr<f16>>",
        "!tt.ptr<f32, 3>",
        "!tt.ptr<tensor<16x16xf16>>",
        "tensor<64xf32, #ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, 4], "
        "threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}>>",
        "tensor<16x8xf16, #ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, "
        "versionMinor = 0, warpsPerCTA = [1, 4], instrShape = [16, 8]}>, kWidth = 2}>>",
        "tensor<8xi32, #ttg.linear<{register = [[1], [2]], lane = [], warp = [], block = []}>>",
        "!ttg.memdesc<2x64xbf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order "
        "= [1, 0]}>, #ttg.shared_memory, mutable>",
        "!ttg.memdesc<32xbf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = "
        "[0]}>, #ttg.shared_memory, mutable, 4x32>",
        "!tt.tensordesc<tensor<128x64xbf16>>",
        "!ttg.async.token",
        "!tpu.semaphore",
        "memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>",
        "memref<8x128xf32, #tpu.tiled<(8,128),[1,1]>, #tpu.memory_space<vmem>>",
        "memref<8x128xf32, strided<[256, 1], offset: ?>, #tpu.memory_space<vmem>>",
        "(i32, f32) -> (f32, f32)",
        "() -> i32",
        "tuple<i32, f32>",
        "!llvm.ptr<3>"}) {
    const Type type = read_type(text);
    ASSERT_NE(type, nullptr) << text;
    EXPECT_EQ(type->text, text);
  }
}

TEST(Types, OfPointersKnowWhatTheyPointTo) {
  const Type tile = read_type("tensor<4x8x!tt.ptr<bf16>>");
  EXPECT_TRUE(tile->is_pointer_like());
  EXPECT_EQ(tile->pointee()->dtype, DType::kBF16);
  EXPECT_EQ(tile->dtype, DType::kNone);
  EXPECT_EQ(tile->count(), 32);
  EXPECT_EQ(read_type("f32")->pointee(), nullptr);
  EXPECT_EQ(read_type("f32")->count(), 1);
  EXPECT_EQ(read_type("!tt.ptr<i8>")->pointee()->text, "i8");
}

TEST(Types, OfSubviewsKnowTheirAllocation) {
  const Type type = read_type(
      "!ttg.memdesc<16x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, "
      "elementBitWidth = 16}>, #ttg.shared_memory, 3x16x64>");
  EXPECT_FALSE(type->is_mutable);
  EXPECT_EQ(type->alloc_shape, (std::vector<std::int64_t>{3, 16, 64}));
  EXPECT_FALSE(type->encoding->get("transposed")->integer);
  EXPECT_EQ(type->encoding->get("swizzlingByteWidth")->integer, 128);
}

TEST(Types, ThatAreEqualAreTheSamePointer) {
  Context c;
  EXPECT_EQ(c.tensor({4, 2}, c.scalar(DType::kF32)), c.tensor({4, 2}, c.scalar(DType::kF32)));
  EXPECT_NE(c.tensor({4, 2}, c.scalar(DType::kF32)), c.tensor({4, 2}, c.scalar(DType::kF16)));
  EXPECT_NE(c.tensor({4}, c.scalar(DType::kF32)), c.vector({4}, c.scalar(DType::kF32)));
  EXPECT_EQ(c.like(c.tensor({4}, c.scalar(DType::kF32)), c.scalar(DType::kI1))->text,
            "tensor<4xi1>");
  EXPECT_EQ(c.like(c.scalar(DType::kF32), c.scalar(DType::kI1)), c.scalar(DType::kI1));
}

TEST(Types, NewerSpellingOfDescriptorsIsTheSameType) {
  EXPECT_EQ(read_type("!tt.tensordesc<128x64xbf16>")->text, "!tt.tensordesc<tensor<128x64xbf16>>");
}

TEST(Attributes, KeepTheirSpelling) {
  for (const char* text : {"1 : i32",
                           "-5 : i64",
                           "true",
                           "false",
                           "unit",
                           "\"text\"",
                           "\"a \\22quote\\22\\0A\"",
                           "@symbol",
                           "@\"odd name\"",
                           "[1, 2]",
                           "[]",
                           "{b = 1 : i32, c}",
                           "{\"ttg.num-warps\" = 4 : i32}",
                           "f32",
                           "array<i64: 1, -2>",
                           "array<i32>",
                           "array<i1: true, false>",
                           "array<f32: 1.000000e+00>",
                           "dense<0> : tensor<4xi32>",
                           "dense<[1, 2, 3]> : tensor<3xi8>",
                           "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>",
                           "dense<[true, false]> : tensor<2xi1>",
                           "dense<true> : tensor<8xi1>",
                           "dense<> : tensor<0xi32>",
                           "dense<-1.000000e+06> : vector<4xf32>",
                           "dense<0xFF800000> : tensor<4xf32>",
                           "dense<0x7FC0> : tensor<2xbf16>",
                           "1.000000e+00 : f32",
                           "0x7F800000 : f32",
                           "#arith.fastmath<none>",
                           "#tpu.memory_space<vmem>",
                           "#ttg.shared_memory",
                           "#tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>",
                           "affine_map<(d0, d1) -> (d1, d0)>",
                           "(i32) -> f32",
                           "18446744073709551615 : ui64",
                           "-9223372036854775808 : i64"}) {
    const Attr attr = read_attr(text);
    ASSERT_NE(attr, nullptr) << text;
    EXPECT_EQ(attr->text, text);
  }
}

TEST(Attributes, OfIntegersAreSignExtended) {
  EXPECT_EQ(read_attr("255 : i8")->integer, -1);
  EXPECT_EQ(read_attr("255 : i8")->text, "-1 : i8");
  EXPECT_EQ(read_attr("-128 : i8")->integer, -128);
  EXPECT_EQ(read_attr("0xFFFFFFFF : i32")->integer, -1);
  EXPECT_EQ(read_attr("1 : i1")->kind, AttrKind::kBool);
  EXPECT_EQ(read_attr("dense<[255, 1]> : tensor<2xi8>")->ints, (std::vector<std::int64_t>{-1, 1}));
  EXPECT_EQ(read_attr("dense<[true, false]> : tensor<2xi1>")->ints,
            (std::vector<std::int64_t>{1, 0}));
}

TEST(Attributes, OfFloatsKeepBitsAndValue) {
  const Attr a = read_attr("1.44269502 : f32");
  EXPECT_EQ(a->integer, 0x3FB8AA3B);
  EXPECT_EQ(a->real, static_cast<double>(1.44269502f));
  EXPECT_TRUE(std::isinf(read_attr("0xFF800000 : f32")->real));
  EXPECT_EQ(read_attr("dense<1.000000e+00> : tensor<8xbf16>")->ints,
            (std::vector<std::int64_t>{0x3F80}));
  EXPECT_EQ(read_attr("dense<[1.0, -2.0]> : tensor<2xf16>")->ints,
            (std::vector<std::int64_t>{0x3C00, 0xC000}));
}

TEST(Attributes, ManyElementsAreOneHexString) {
  std::string list;
  for (int i = 0; i < 101; ++i) list += (i ? ", " : "") + std::to_string(i - 50);
  const Attr attr = read_attr("dense<[" + list + "]> : tensor<101xi16>");
  EXPECT_EQ(attr->text.substr(0, 20), "dense<\"0xCEFFCFFFD0F");
  const Attr again = read_attr(attr->text);
  EXPECT_EQ(again->ints, attr->ints);
  EXPECT_EQ(again->ints[0], -50);
  EXPECT_EQ(again->text, attr->text);
}

TEST(Attributes, ThroughAliasesAreExpanded) {
  const Module m =
      read("#a = #ttg.shared_memory\n#b = [#a, #a]\nmodule attributes {x = #b} {\n}\n");
  EXPECT_EQ(m.op->attr("x")->text, "[#ttg.shared_memory, #ttg.shared_memory]");
  EXPECT_EQ(print_module(m),
            "#a = #ttg.shared_memory\n#b = [#a, #a]\nmodule attributes {x = #b} {\n}\n");
}

TEST(Attributes, AliasesMayStandBehindTheirUse) {
  const Module m = read("module attributes {x = #late} {\n}\n#late = \"here\"\n");
  EXPECT_EQ(m.op->str_attr("x"), "here");
}

// Each line is what MLIR prints for these bits.
TEST(Floats, AreSpelledAsMlirSpellsThem) {
  const std::vector<std::tuple<DType, std::uint64_t, const char*>> cases = {
      {DType::kF32, 0x00000000, "0.000000e+00"}, {DType::kF32, 0x80000000, "-0.000000e+00"},
      {DType::kF32, 0x3F800000, "1.000000e+00"}, {DType::kF32, 0xC9742400, "-1.000000e+06"},
      {DType::kF32, 0x3FB8AA3B, "1.44269502"},   {DType::kF32, 0x3F4C422A, "0.797884583"},
      {DType::kF32, 0x3D372713, "4.471500e-02"}, {DType::kF32, 0x3727C5AC, "9.99999974E-6"},
      {DType::kF32, 0x7F800000, "0x7F800000"},   {DType::kF32, 0xFF800000, "0xFF800000"},
      {DType::kF32, 0x7FC00001, "0x7FC00001"},   {DType::kF32, 0x3F800347, "1.000100e+00"},
      {DType::kBF16, 0x3F80, "1.000000e+00"},    {DType::kBF16, 0xFF80, "0xFF80"},
      {DType::kF16, 0x3C00, "1.000000e+00"},     {DType::kF64, 0x3FF0000000000000, "1.000000e+00"},
      {DType::kF8E4M3FN, 0x38, "1.000000e+00"},  {DType::kF8E4M3FN, 0x7F, "0x7F"},
      {DType::kF8E5M2, 0x3C, "1.000000e+00"},    {DType::kF8E5M2, 0x7C, "0x7C"}};
  for (const auto& [dtype, bits, text] : cases) EXPECT_EQ(float_text(bits, dtype), text);
}

/// Every value of the small formats, and a spread of the large ones, survives its text.
TEST(Floats, RoundTripBitExactly) {
  const auto check = [](std::uint64_t bits, DType dtype) {
    const std::string text = float_text(bits, dtype);
    if (text.starts_with("0x")) {
      EXPECT_EQ(std::stoull(text, nullptr, 16), bits);
    } else {
      EXPECT_EQ(parse_decimal(text, dtype), bits) << text << " " << name(dtype);
    }
  };
  for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E5M2}) {
    for (std::uint64_t bits = 0; bits < 256; ++bits) check(bits, dtype);
  }
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (std::uint64_t bits = 0; bits < 65536; bits += 7) check(bits, dtype);
  }
  for (std::uint64_t bits = 1; bits < (std::uint64_t{1} << 32); bits += 10'000'019)
    check(bits, DType::kF32);
  std::uint64_t state = 1;
  for (int i = 0; i < 300; ++i)
    check(state = state * 6364136223846793005u + 1442695040888963407u, DType::kF64);
}

TEST(Floats, RoundToTheNearestTiesToEven) {
  EXPECT_EQ(float_to_bits(1.0 + 1.0 / 256, DType::kBF16), 0x3F80u);  // a tie, down to even
  EXPECT_EQ(float_to_bits(1.0 + 3.0 / 256, DType::kBF16), 0x3F82u);  // a tie, up to even
  EXPECT_EQ(float_to_bits(65520.0, DType::kF16), 0x7C00u);           // rounds to infinity
  EXPECT_EQ(float_to_bits(65519.0, DType::kF16), 0x7BFFu);
  EXPECT_EQ(float_to_bits(448.0, DType::kF8E4M3FN), 0x7Eu);         // the largest
  EXPECT_EQ(float_to_bits(1e9, DType::kF8E4M3FN), 0x7Fu);           // no infinity: NaN
  EXPECT_EQ(float_to_bits(std::ldexp(1.0, -24), DType::kF16), 1u);  // the least subnormal
  EXPECT_EQ(float_to_bits(std::ldexp(1.0, -26), DType::kF16), 0u);
  EXPECT_EQ(float_to_bits(std::ldexp(1023.75, -24), DType::kF16),
            0x0400u);  // carries into a normal
  EXPECT_EQ(float_from_bits(0x7E, DType::kF8E4M3FN), 448.0);
  EXPECT_EQ(float_from_bits(0x01, DType::kF8E5M2), std::ldexp(1.0, -16));
}

TEST(Locations, LeadToTheUsersOwnLine) {
  const auto line = [](const std::string& loc) {
    const Module m = read("module {\n} loc(" + loc + ")\n");
    EXPECT_EQ(m.op->loc->text, "loc(" + loc + ")");
    return user_line(m.op->loc).str();
  };
  EXPECT_EQ(line("\"a.py\":3:4"), "a.py:3:4");
  EXPECT_EQ(line("\"a.py\":3:4 to :9"), "a.py:3:4");
  EXPECT_EQ(line("\"a.py\":3:4 to 5:9"), "a.py:3:4");
  EXPECT_EQ(line("\"x\"(\"a.py\":3:4)"), "a.py:3:4");
  EXPECT_EQ(line("callsite(\"lib.py\":1:2 at \"a.py\":3:4)"), "a.py:3:4");
  EXPECT_EQ(line("callsite(callsite(\"in.py\":1:1 at \"lib.py\":1:2) at \"x\"(\"a.py\":3:4))"),
            "a.py:3:4");
  EXPECT_EQ(line("callsite(\"lib.py\":1:2 at unknown)"), "lib.py:1:2");
  EXPECT_EQ(line("fused[unknown, \"a.py\":3:4]"), "a.py:3:4");
  EXPECT_EQ(line("fused<\"meta\">[\"a.py\":3:4]"), "a.py:3:4");
  EXPECT_EQ(line("unknown"), "");
  EXPECT_EQ(line("\"name\""), "");
}

TEST(Locations, OfATextWithoutAnyAreItsLines) {
  const Module m = read(function("", "    %c = arith.constant 1 : i32"));
  const Op& op = only_op(m, "arith.constant");
  EXPECT_EQ(op.loc, nullptr);
  EXPECT_EQ(op.line().str(), "test.ttir:3:5");
}

}  // namespace
}  // namespace xpusim::kernel::testing
