// Wrong texts: each gives a message with its position that says what is wrong and what would be
// right.

#include <gmock/gmock.h>

#include "tests/kernel/reading.h"

namespace xpusim::kernel::testing {
namespace {

using ::testing::HasSubstr;

struct BadBody {
  const char* name;
  const char* args;
  const char* body;      ///< begins in line 3, column 1
  const char* position;  ///< "3:10"
  const char* message;
};

class BadBodies : public ::testing::TestWithParam<BadBody> {};

TEST_P(BadBodies, AreNamedWithTheirPosition) {
  const BadBody& bad = GetParam();
  const std::string text = problems(function(bad.args, bad.body));
  EXPECT_THAT(text, HasSubstr(bad.message));
  EXPECT_THAT(text, HasSubstr("test.ttir:" + std::string(bad.position) + ": error: "));
}

const BadBody kBadBodies[] = {
    {"UnknownOp", "%x: f32", "%y = tt.lod %x : f32", "3:6",
     "unknown op 'tt.lod'; did you mean 'tt.load'?"},
    {"UndefinedValue", "%limit: f32", "%y = arith.negf %limt : f32", "3:17",
     "use of undefined value '%limt'; did you mean '%limit'?"},
    {"Redefinition", "%x: f32", "%x = arith.negf %x : f32", "3:1",
     "redefinition of value '%x', first defined at line 2"},
    {"UseOfAnotherType", "%x: f32", "%y = arith.negf %x : f64", "3:17",
     "'%x' is of type 'f32', but 'arith.negf' uses it as 'f64'"},
    {"WrongClassOfType", "%x: f32", "%y = arith.addi %x, %x : f32", "3:17",
     "'arith.addi' needs 'lhs' to be an integer"},
    {"MissingColon", "%x: f32", "%y = arith.negf %x f32", "3:20",
     "expected ':' in 'arith.negf', found 'f32'"},
    {"MissingComma", "%x: f32", "%y = arith.addf %x %x : f32", "3:20",
     "expected ',' in 'arith.addf'"},
    {"UnknownType", "%x: f32", "%y = arith.negf %x : f33", "3:22",
     "unknown type 'f33'; did you mean 'f"},
    {"UnknownPredicate", "%x: i32", "%y = arith.cmpi slr, %x, %x : i32", "3:17",
     "unknown predicate 'slr'; did you mean 'sl"},
    {"NoPredicate", "%x: i32", "%y = arith.cmpi %x, %x : i32", "3:17",
     "expected predicate, one of: eq, ne, slt"},
    {"UnknownAtomic", "%p: !tt.ptr<f32>, %x: f32",
     "%y = tt.atomic_rmw addf, acq_rel, gpu, %p, %x : (!tt.ptr<f32>, f32) -> f32", "3:20",
     "unknown atomic_rmw_op 'addf'"},
    {"LoadOfAFloat", "%x: f32", "%y = tt.load %x : f32", "3:14",
     "'tt.load' needs 'ptr' to be a pointer or a tensor of pointers, it is 'f32'"},
    {"MaskOfAnotherShape", "%p: tensor<8x!tt.ptr<f32>>, %m: tensor<4xi1>",
     "%y = tt.load %p, %m : tensor<8x!tt.ptr<f32>>", "3:18",
     "'%m' is of type 'tensor<4xi1>', but 'tt.load' uses it as 'tensor<8xi1>'"},
    {"StoreOfAnotherElement", "%p: !tt.ptr<f32>, %x: f16", "tt.store %p, %x : !tt.ptr<f32>", "3:14",
     "'%x' is of type 'f16', but 'tt.store' uses it as 'f32'"},
    {"TooManyTypes", "%x: f32", "%y = arith.select %x, %x : f32", "3:19",
     "'arith.select' needs 3 operands"},
    {"TooManyNames", "%x: f32", "%y:2 = arith.negf %x : f32", "3:1",
     "'arith.negf' has 1 results, but 2 are named"},
    {"NoSuchResult", "%x: f32", "%y = arith.negf %x#1 : f32", "3:17",
     "'%x' has 1 results; there is no '#1'"},
    {"NoSuchAlias", "%x: f32", "%y = arith.constant dense<0> : tensor<4xi32, #blocked>", "3:46",
     "unknown attribute alias '#blocked'"},
    {"DenseCount", "", "%y = arith.constant dense<[1, 2]> : tensor<4xi32>", "3:21",
     "dense attribute has 2 elements, its type 'tensor<4xi32>' needs 4"},
    {"DenseOfIntegersAsFloats", "", "%y = arith.constant dense<1> : tensor<4xf32>", "3:27",
     "write it with a decimal point"},
    {"ConstantTooLarge", "", "%y = arith.constant 300 : i8", "3:21",
     "'300' is no value of type 'i8'"},
    {"ConstantWithoutType", "", "%y = arith.constant 3", "3:21",
     "the value of a constant needs a type"},
    {"RangeOfAnotherLength", "",
     "%y = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<4xi32>", "3:6",
     "gives 8 values of i32, its result is 'tensor<4xi32>'"},
    {"BadBroadcast", "%x: tensor<3xf32>", "%y = tt.broadcast %x : tensor<3xf32> -> tensor<4xf32>",
     "3:6", "cannot broadcast shape [3] to [4]"},
    {"BadExpand", "%x: tensor<3xf32>",
     "%y = tt.expand_dims %x {axis = 0 : i32} : tensor<3xf32> -> tensor<3x1xf32>", "3:6",
     "with axis 0 cannot turn shape [3] into [3, 1]"},
    {"BadReshape", "%x: tensor<3xf32>", "%y = tt.reshape %x : tensor<3xf32> -> tensor<4xf32>",
     "3:6", "cannot turn 3 elements into 4"},
    {"BadDot", "%a: tensor<16x32xf16>, %c: tensor<16x16xf32>",
     "%y = tt.dot %a, %a, %c : tensor<16x32xf16> * tensor<16x32xf16> -> tensor<16x16xf32>", "3:6",
     "cannot multiply shapes [16, 32] and [16, 32] into [16, 16]"},
    {"BadCast", "%x: f32", "%y = arith.truncf %x : f32 to f64", "3:6",
     "must make its operand narrower, 'f32' to 'f64' does not"},
    {"GenericWithoutType", "%x: f32", "%y = \"arith.negf\"(%x)", "4:5",
     "expected ':' and the types of an op in generic form"},
    {"GenericCount", "%x: f32", "%y = \"arith.negf\"(%x) : (f32, f32) -> f32", "4:5",
     "'arith.negf' has 1 operands, but 2 types for them"},
    {"GenericOnly", "%x: tensor<4xf32>", "%y = tt.reduce %x : f32", "3:6",
     "'tt.reduce' has no custom form"},
    {"ReduceOverNoAxis", "%x: tensor<4xf32>",
     "%y = \"tt.reduce\"(%x) <{axis = 1 : i32}> ({\n^bb0(%a: f32, %b: f32):\n  tt.reduce.return %a "
     ": f32\n}) : (tensor<4xf32>) -> f32",
     "3:6", "needs an 'axis' below its operands' rank, 1"},
    {"LoopYieldsTooLittle", "%n: i32, %x: f32",
     "%y = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (f32) : i32 {\n}", "3:6",
     "expects 1 values from 'scf.yield'"},
    {"LoopOfOtherTypes", "%n: i32, %x: f32",
     "%y = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (i32) : i32 {\nscf.yield %n : "
     "i32\n}",
     "3:36", "'%x' is of type 'f32', but 'scf.for' uses it as 'i32'"},
    {"IfOfAFloat", "%x: f32", "scf.if %x {\n}", "3:8",
     "'%x' is of type 'f32', but 'scf.if' uses it as 'i1'"},
    {"NoSuchBlock", "", "cf.br ^bb7", "3:7", "branch to undefined block '^bb7'"},
    {"AttributeTwice", "", "%y = tt.make_range {end = 4 : i32, end = 4 : i32} : tensor<4xi32>",
     "3:36", "attribute 'end' is given twice"},
    {"OpenString", "%c: i1", "tt.assert %c, \"open : i1", "3:15",
     "a string without its closing quote"},
    {"StrayCharacter", "", "%y = & 4", "3:6", "expected an op, found '&'"},
};

INSTANTIATE_TEST_SUITE_P(Kernel, BadBodies, ::testing::ValuesIn(kBadBodies),
                         [](const auto& bad) { return std::string(bad.param.name); });

TEST(BadText, EndsTooEarly) {
  EXPECT_EQ(problems("module {\n  tt.func public @f(%x: f32) {\n"),
            "test.ttir:3:1: error: expected an op or '}', found the end of the text\n");
}

TEST(BadText, IsEmpty) {
  EXPECT_THAT(problems(""), HasSubstr("the text has no module"));
  EXPECT_THAT(problems("module {\n}\nmodule {\n}\n"),
              HasSubstr("expected one module and nothing else"));
}

TEST(BadText, NamesUnknownAliases) {
  EXPECT_THAT(
      problems("module {\n} loc(#loc9)\n#loc8 = loc(unknown)\n"),
      HasSubstr("test.ttir:2:7: error: unknown location alias '#loc9'; did you mean '#loc8'?"));
  EXPECT_THAT(problems("#a = #b\n#b = #a\nmodule attributes {x = #a} {\n}\n"),
              HasSubstr("is defined in terms of itself"));
  EXPECT_THAT(problems("#a = 1 : i32\n#a = 2 : i32\nmodule {\n}\n"),
              HasSubstr("2:1: error: redefinition of alias '#a'"));
  EXPECT_THAT(read_module("#a = 8#a = 8", "k.mlir").error().str(),
              HasSubstr("1:7: error: redefinition of alias '#a'"));
}

TEST(BadText, ReportsEveryProblemAtOnce) {
  const std::string text = problems(function("%x: f32", R"(    %a = tt.lod %x : f32
    %b = arith.negf %a : f32
    %c = arith.negf %nowhere : f32
    %d = arith.addi %x, %x : f32)"));
  EXPECT_THAT(text, HasSubstr("3:10: error: unknown op 'tt.lod'"));
  EXPECT_THAT(text, HasSubstr("5:21: error: use of undefined value '%nowhere'"));
  EXPECT_THAT(text, HasSubstr("6:21: error: 'arith.addi' needs"));
  // %a, whose op is unknown, is no second problem.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST(BadText, StopsAfterTwentyProblems) {
  std::string body;
  for (int i = 0; i < 100; ++i) body += "    tt.nothing_" + std::to_string(i) + "\n";
  const std::string text = problems(function("", body));
  EXPECT_THAT(text, HasSubstr("too many errors"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 21);
}

TEST(BadText, MayNotNestWithoutEnd) {
  const std::string deep(100'000, '[');
  EXPECT_THAT(problems("module attributes {a = " + deep + "} {\n}\n"),
              HasSubstr("nested too deeply"));
  std::string ifs = "module {\n  tt.func @f(%c: i1) {\n";
  for (int i = 0; i < 10'000; ++i) ifs += "scf.if %c {\n";
  EXPECT_THAT(problems(ifs), HasSubstr("nested too deeply"));
}

/// Each alias doubles the one before: a few lines stand for 2^60 characters.
TEST(BadText, MayNotStandForAnEndlessOne) {
  std::string attrs = "#a0 = [1, 2]\n", locs = "#l0 = loc(\"x\")\n";
  for (int i = 1; i < 60; ++i) {
    const std::string n = std::to_string(i), p = std::to_string(i - 1);
    attrs += "#a" + n + " = [#a" + p + ", #a" + p + "]\n";
    locs += "#l" + n + " = loc(callsite(#l" + p + " at #l" + p + "))\n";
  }
  EXPECT_THAT(problems(attrs + "module {\n}\n"),
              HasSubstr("too large once its aliases are expanded"));
  EXPECT_THAT(problems(locs + "module {\n}\n"),
              HasSubstr("too large once its aliases are expanded"));
}

TEST(BadText, HasShapesThatNoMachineHolds) {
  EXPECT_THAT(problems("module {\n  tt.func private @f(tensor<99999999999x99999999999xf32>)\n}\n"),
              HasSubstr("shape has too many elements"));
  EXPECT_THAT(problems("module {\n  tt.func private @f(tensor<999999999999999999999999xf32>)\n}\n"),
              HasSubstr("dimension is too large"));
}

TEST(BadText, OfAFileThatIsNotThere) {
  const auto module = read_module_file("/no/such/kernel.ttir");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().str(), "/no/such/kernel.ttir: error: cannot open the kernel file\n");
}

TEST(BadText, WithAFunctionThatContradictsItself) {
  EXPECT_THAT(
      problems("module {\n  tt.func @f(%x: f32) -> i32 {\n    tt.return %x : f32\n  }\n}\n"),
      HasSubstr("returns other types at line 3 than its type says"));
  EXPECT_THAT(problems("module {\n  tt.func @f(%x: f32) {\n  }\n}\n"),
              HasSubstr("does not end with a return"));
  EXPECT_THAT(
      problems("module {\n  \"func.func\"() ({\n  ^bb0(%x: f32):\n    \"func.return\"() : () -> "
               "()\n  }) {function_type = (i32) -> (), sym_name = \"f\"} : () -> ()\n}\n"),
      HasSubstr("has a parameter '%x' of type 'f32', its type says 'i32'"));
}

}  // namespace
}  // namespace xpusim::kernel::testing
