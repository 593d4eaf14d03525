// Small kernels, an op or two each, with hand-computed results.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<double>;

DType dtype_of(std::string_view name) {
  for (int d = 0; d <= static_cast<int>(DType::kF64); ++d) {
    if (kernel::name(static_cast<DType>(d)) == name) return static_cast<DType>(d);
  }
  return DType::kNone;
}

Init data(DType d, const Values& values) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(d));
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = encode(d, values[i]);
    std::memcpy(&(*bytes)[i * size], &bits, size);
  }
  Init init;
  init.kind = Init::Kind::kData;
  init.data = bytes;
  return init;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// Runs `body` on tiles %a and %b of four elements of type `in`; it makes %r of type `out`. In the
/// body IN and OUT stand for the tile types.
Values run_op(const std::string& body, const std::string& in, const std::string& out,
              const Values& a, const Values& b) {
  std::string text = R"(
module {
  tt.func public @f(%x: !tt.ptr<in>, %y: !tt.ptr<in>, %o: !tt.ptr<out>) {
    %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %xs = tt.splat %x : !tt.ptr<in> -> tensor<4x!tt.ptr<in>>
    %xp = tt.addptr %xs, %i : tensor<4x!tt.ptr<in>>, tensor<4xi32>
    %a = tt.load %xp : tensor<4x!tt.ptr<in>>
    %ys = tt.splat %y : !tt.ptr<in> -> tensor<4x!tt.ptr<in>>
    %yp = tt.addptr %ys, %i : tensor<4x!tt.ptr<in>>, tensor<4xi32>
    %b = tt.load %yp : tensor<4x!tt.ptr<in>>
    BODY
    %os = tt.splat %o : !tt.ptr<out> -> tensor<4x!tt.ptr<out>>
    %op = tt.addptr %os, %i : tensor<4x!tt.ptr<out>>, tensor<4xi32>
    tt.store %op, %r : tensor<4x!tt.ptr<out>>
    tt.return
  }
})";
  text = replaced(text, "BODY", body);
  text = replaced(text, "<in>", "<" + in + ">");
  text = replaced(text, "<out>", "<" + out + ">");
  text = replaced(replaced(text, "IN", "tensor<4x" + in + ">"), "OUT", "tensor<4x" + out + ">");
  const auto module = read_kernel_text(text);
  if (!module) {
    ADD_FAILURE() << text;
    return {};
  }
  KernelRun k(module);
  k.tensor("x", dtype_of(in), {4}, data(dtype_of(in), a));
  k.tensor("y", dtype_of(in), {4}, data(dtype_of(in), b));
  k.tensor("o", dtype_of(out), {4}, zeros());
  EXPECT_TRUE(k.run({1, 1, 1})) << k.error.message << "\n" << body;
  return k.values("o");
}

Values binary(const std::string& op, const std::string& type, const Values& a, const Values& b) {
  return run_op("%r = " + op + " %a, %b : IN", type, type, a, b);
}
Values unary(const std::string& op, const std::string& type, const Values& a) {
  return run_op("%r = " + op + " %a : IN", type, type, a, a);
}
Values cast(const std::string& op, const std::string& from, const std::string& to,
            const Values& a) {
  return run_op("%r = " + op + " %a : IN to OUT", from, to, a, a);
}
Values compared(const std::string& op, const std::string& type, const Values& a, const Values& b) {
  return run_op("%m = " + op + ", %a, %b : IN\n%r = arith.extui %m : tensor<4xi1> to OUT", type,
                "i32", a, b);
}

TEST(Ops, WhatDoIntegerOpsGive) {
  const Values a{7, -7, 2147483647, 6}, b{2, 2, 1, 3};
  EXPECT_THAT(binary("arith.addi", "i32", a, b), ElementsAre(9, -5, -2147483648.0, 9));
  EXPECT_THAT(binary("arith.subi", "i32", a, b), ElementsAre(5, -9, 2147483646, 3));
  EXPECT_THAT(binary("arith.muli", "i32", a, b), ElementsAre(14, -14, 2147483647, 18));
  EXPECT_THAT(binary("arith.divsi", "i32", a, b), ElementsAre(3, -3, 2147483647, 2));
  EXPECT_THAT(binary("arith.remsi", "i32", a, b), ElementsAre(1, -1, 0, 0));
  EXPECT_THAT(binary("arith.divui", "i32", a, b), ElementsAre(3, 2147483644, 2147483647, 2));
  EXPECT_THAT(binary("arith.remui", "i32", a, b), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(binary("arith.andi", "i32", a, b), ElementsAre(2, 0, 1, 2));
  EXPECT_THAT(binary("arith.ori", "i32", a, b), ElementsAre(7, -5, 2147483647, 7));
  EXPECT_THAT(binary("arith.xori", "i32", a, b), ElementsAre(5, -5, 2147483646, 5));
  EXPECT_THAT(binary("arith.shli", "i32", a, b), ElementsAre(28, -28, -2, 48));
  EXPECT_THAT(binary("arith.shrsi", "i32", a, b), ElementsAre(1, -2, 1073741823, 0));
  EXPECT_THAT(binary("arith.shrui", "i32", a, b), ElementsAre(1, 1073741822, 1073741823, 0));
  EXPECT_THAT(binary("arith.minsi", "i32", a, b), ElementsAre(2, -7, 1, 3));
  EXPECT_THAT(binary("arith.maxui", "i32", a, b), ElementsAre(7, -7, 2147483647, 6));
  EXPECT_THAT(binary("arith.addi", "i8", {127, -128, 1, 0}, {1, -1, 1, 0}),
              ElementsAre(-128, 127, 2, 0));
  EXPECT_THAT(binary("arith.muli", "i64", {4294967296.0, 3, 0, -1}, {2, 3, 5, 7}),
              ElementsAre(8589934592.0, 9, 0, -7));
}

TEST(Ops, WhatDoFloatOpsGive) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(binary("arith.addf", "f32", {1, 2, 16777216, -1}, {0.5, 3, 1, 1}),
              ElementsAre(1.5, 5, 16777216, 0));
  EXPECT_THAT(binary("arith.subf", "f64", {1, 2, 1e300, -1}, {0.5, 3, 1, 1}),
              ElementsAre(0.5, -1, 1e300, -2));
  EXPECT_THAT(binary("arith.mulf", "f16", {300, 2, 0.5, -1}, {300, 3, 0.5, 1}),
              ElementsAre(inf, 6, 0.25, -1));
  EXPECT_THAT(binary("arith.addf", "bf16", {256, 2, 1, -1}, {1, 3, 0.00390625, 1}),
              ElementsAre(256, 5, 1, 0));
  EXPECT_THAT(binary("arith.divf", "f32", {1, -1, 6, 1}, {0, 0, 3, 4}),
              ElementsAre(inf, -inf, 2, 0.25));
  EXPECT_THAT(binary("arith.maxnumf", "f32", {nan, 1, 2, -1}, {3, nan, 1, -2}),
              ElementsAre(3, 1, 2, -1));
  EXPECT_THAT(binary("arith.minnumf", "f32", {nan, 1, 2, -1}, {3, nan, 1, -2}),
              ElementsAre(3, 1, 1, -2));
  const Values m = binary("arith.maximumf", "f32", {nan, 1, 2, -1}, {3, nan, 1, -2});
  EXPECT_TRUE(std::isnan(m[0]) && std::isnan(m[1]));
  EXPECT_EQ(m[2], 2);
  for (const double zero :
       binary("arith.minimumf", "f32", {0, -0.0, 0, 0}, {-0.0, 0, -0.0, -0.0})) {
    EXPECT_TRUE(std::signbit(zero));
  }
  for (const double zero :
       binary("arith.maximumf", "f32", {0, -0.0, 0, 0}, {-0.0, 0, -0.0, -0.0})) {
    EXPECT_FALSE(std::signbit(zero));
  }
  EXPECT_THAT(unary("arith.negf", "f32", {1, -2, 0, 4}), ElementsAre(-1, 2, -0.0, -4));
  EXPECT_THAT(run_op("%r = math.fma %a, %b, %a : IN", "f32", "f32", {1, 2, 3, 4}, {5, 6, 7, 8}),
              ElementsAre(6, 14, 24, 36));
}

TEST(Ops, DoMathFunctionsAgreeWithTheLibrary) {
  const Values x{0.3, 1.7, 2.5, 0.9};
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"math.exp", [](double v) { return std::exp(v); }},
      {"math.exp2", [](double v) { return std::exp2(v); }},
      {"math.log", [](double v) { return std::log(v); }},
      {"math.log2", [](double v) { return std::log2(v); }},
      {"math.sqrt", [](double v) { return std::sqrt(v); }},
      {"math.rsqrt", [](double v) { return 1 / std::sqrt(v); }},
      {"math.sin", [](double v) { return std::sin(v); }},
      {"math.cos", [](double v) { return std::cos(v); }},
      {"math.erf", [](double v) { return std::erf(v); }},
      {"math.tanh", [](double v) { return std::tanh(v); }},
      {"math.absf", [](double v) { return std::fabs(v); }},
      {"math.floor", [](double v) { return std::floor(v); }},
      {"math.ceil", [](double v) { return std::ceil(v); }}};
  for (const auto& [name, f] : functions) {
    for (const auto& [type, tolerance] :
         {std::pair{"f32", 4e-7}, {"f64", 1e-15}, {"f16", 5e-4}, {"bf16", 4e-3}}) {
      const Values r = unary(name, type, x);
      ASSERT_EQ(r.size(), 4u) << name;
      for (std::size_t i = 0; i < 4; ++i) {
        const double exact = decode(dtype_of(type), encode(dtype_of(type), x[i]));
        EXPECT_NEAR(r[i], f(exact), tolerance * (1 + std::fabs(f(exact)))) << name << " " << type;
      }
    }
  }
}

TEST(Ops, WhatDoCastsGive) {
  EXPECT_THAT(cast("arith.extsi", "i8", "i32", {-1, 127, -128, 5}), ElementsAre(-1, 127, -128, 5));
  EXPECT_THAT(cast("arith.extui", "i8", "i32", {-1, 127, -128, 5}), ElementsAre(255, 127, 128, 5));
  EXPECT_THAT(cast("arith.trunci", "i32", "i8", {257, -129, 128, 5}), ElementsAre(1, 127, -128, 5));
  EXPECT_THAT(cast("arith.sitofp", "i32", "f32", {-3, 16777217, 5, 0}),
              ElementsAre(-3, 16777216, 5, 0));
  EXPECT_THAT(cast("arith.uitofp", "i8", "f32", {-1, 1, 5, 0}), ElementsAre(255, 1, 5, 0));
  EXPECT_THAT(cast("arith.fptosi", "f32", "i32", {-3.9, 3.9, 1e20, std::nan("")}),
              ElementsAre(-3, 3, 2147483647, 0));
  EXPECT_THAT(cast("arith.fptoui", "f32", "i8", {-3.9, 3.9, 300, 200}), ElementsAre(0, 3, -1, -56));
  EXPECT_THAT(cast("arith.truncf", "f32", "f16", {1.0 + 3.0 / 2048, 65520, 0.1, -2}),
              ElementsAre(1.0 + 4.0 / 2048, HUGE_VAL, 0.0999755859375, -2));
  EXPECT_THAT(cast("arith.extf", "bf16", "f32", {1, 0.1, -2, 3}),
              ElementsAre(1, 0.10009765625, -2, 3));
  EXPECT_THAT(run_op("%r = tt.bitcast %a : IN -> OUT", "f32", "i32", {1, -0.0, 2, 0}, {0, 0, 0, 0}),
              ElementsAre(0x3f800000, -2147483648.0, 0x40000000, 0));
}

TEST(Ops, WhatDoComparisonsGive) {
  const Values a{1, 2, 3, -1}, b{2, 2, 1, 1};
  EXPECT_THAT(compared("arith.cmpi eq", "i32", a, b), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(compared("arith.cmpi slt", "i32", a, b), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(compared("arith.cmpi ult", "i32", a, b), ElementsAre(1, 0, 0, 0));
  const Values nan{std::nan(""), 2, 3, -1};
  EXPECT_THAT(compared("arith.cmpf olt", "f32", nan, b), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(compared("arith.cmpf ult", "f32", nan, b), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(compared("arith.cmpf une", "f32", nan, b), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(compared("arith.cmpf uno", "f32", nan, b), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(run_op("%m = arith.cmpf ogt, %a, %b : IN\n"
                     "%r = arith.select %m, %a, %b : tensor<4xi1>, IN",
                     "f32", "f32", a, b),
              ElementsAre(2, 2, 3, 1));
}

TEST(Ops, DoesADenseMaskGuardEachElement) {
  // Elements of %y that are positive are copied to themselves from x + 4 (out of bounds where
  // masked).
  const std::string body = R"(
    %zero = arith.constant dense<0> : tensor<4xi32>
    %m = arith.cmpi sgt, %b, %zero : tensor<4xi32>
    %p = tt.addptr %xs, %a : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    %other = arith.constant dense<-5> : tensor<4xi32>
    %r = tt.load %p, %m, %other : tensor<4x!tt.ptr<i32>>)";
  EXPECT_THAT(run_op(body, "i32", "i32", {3, 1000000, 0, -70000}, {1, 0, 1, -1}),
              ElementsAre(-70000, -5, 3, -5));
}

TEST(Ops, WhatDoReductionsGive) {
  const auto reduce = [](const std::string& op, const std::string& type, const Values& a) {
    const std::string body = "%s = \"tt.reduce\"(%a) <{axis = 0 : i32}> ({\n^bb0(%p: " + type +
                             ", %q: " + type + "):\n%c = " + op + " %p, %q : " + type +
                             "\ntt.reduce.return %c : " + type + "\n}) : (IN) -> " + type +
                             "\n%r = tt.splat %s : " + type + " -> IN";
    return run_op(body, type, type, a, a)[0];
  };
  EXPECT_EQ(reduce("arith.addf", "f32", {1, 2, 3, 4}), 10);
  EXPECT_EQ(reduce("arith.maxnumf", "f32", {1, 7, 3, 4}), 7);
  EXPECT_EQ(reduce("arith.minnumf", "f16", {3, 7, -3, 4}), -3);
  EXPECT_EQ(reduce("arith.addf", "bf16", {256, 1, 1, 1}), 258);  // (256+1 -> 256) + (1+1)
  EXPECT_EQ(reduce("arith.addi", "i32", {1, 2, 3, 4}), 10);
  EXPECT_EQ(reduce("arith.xori", "i32", {1, 2, 4, 9}), 14);
  EXPECT_EQ(reduce("arith.maxsi", "i8", {1, -2, 3, 100}), 100);
  EXPECT_EQ(reduce("arith.subi", "i32", {9, 1, 2, 3}), (9 - 2) - (1 - 3));  // by halves
}

TEST(Ops, DoAtomicsGiveTheOldValueAndTakeEffectInOrder) {
  const auto rmw = [](const std::string& op, const std::string& type, double start, double value) {
    const std::string text =
        "module {\ntt.func public @f(%p: !tt.ptr<" + type + ">, %o: !tt.ptr<" + type +
        ">, %v: " + type + ") {\n%t = arith.constant true\n%old = tt.atomic_rmw " + op +
        ", acq_rel, gpu, %p, %v, %t : (!tt.ptr<" + type + ">, " + type + ", i1) -> " + type +
        "\ntt.store %o, %old : !tt.ptr<" + type + ">\ntt.return\n}\n}";
    const auto module = read_kernel_text(text);
    if (!module) return std::pair{-99.0, -99.0};
    KernelRun k(module);
    const DType d = dtype_of(type);
    k.tensor("p", d, {1}, data(d, {start}));
    k.tensor("o", d, {1}, zeros());
    if (kernel::is_float(d)) {
      k.real("v", value);
    } else {
      k.integer("v", static_cast<std::int64_t>(value));
    }
    EXPECT_TRUE(k.run({1, 1, 1})) << k.error.message;
    EXPECT_EQ(k.effects, 1);
    return std::pair{k.values("p")[0], k.values("o")[0]};
  };
  EXPECT_EQ(rmw("add", "i32", 5, 3), std::pair(8.0, 5.0));
  EXPECT_EQ(rmw("fadd", "f32", 5, 0.5), std::pair(5.5, 5.0));
  EXPECT_EQ(rmw("fadd", "f16", 2048, 1), std::pair(2048.0, 2048.0));  // rounds in its own format
  EXPECT_EQ(rmw("max", "i32", -5, 3), std::pair(3.0, -5.0));
  EXPECT_EQ(rmw("umax", "i32", -5, 3), std::pair(-5.0, -5.0));
  EXPECT_EQ(rmw("min", "i32", -5, 3), std::pair(-5.0, -5.0));
  EXPECT_EQ(rmw("umin", "i32", -5, 3), std::pair(3.0, -5.0));
  EXPECT_EQ(rmw("and", "i32", 6, 3), std::pair(2.0, 6.0));
  EXPECT_EQ(rmw("or", "i32", 6, 3), std::pair(7.0, 6.0));
  EXPECT_EQ(rmw("xor", "i32", 6, 3), std::pair(5.0, 6.0));
  EXPECT_EQ(rmw("exch", "i64", 6, 3), std::pair(3.0, 6.0));
}

/// Runs a kernel of one i32 result and one i32 argument.
double run_scalar(const std::string& body, std::int64_t n) {
  const auto module = read_kernel_text("module {\n" + body + "\n}");
  if (!module) {
    ADD_FAILURE() << body;
    return -1;
  }
  KernelRun k(module);
  k.tensor("o", DType::kI32, {1}, zeros());
  k.integer("n", n);
  EXPECT_TRUE(k.run({1, 1, 1})) << k.error.message;
  return k.values("o")[0];
}

TEST(Ops, DoLoopsCarryTheirValuesAlsoSwapped) {
  // Fibonacci: (a, b) = (b, a + b) n times.
  const std::string text = R"(
  tt.func public @f(%o: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %c1) -> (i32, i32) : i32 {
      %s = arith.addi %a, %b : i32
      scf.yield %b, %s : i32, i32
    }
    tt.store %o, %r#0 : !tt.ptr<i32>
    tt.return
  })";
  EXPECT_EQ(run_scalar(text, 10), 55);
  EXPECT_EQ(run_scalar(text, 0), 0);
  EXPECT_EQ(run_scalar(text, -3), 0);
}

TEST(Ops, DoesAWhileLoopStopAndPassItsValues) {
  const std::string text = R"(
  tt.func public @f(%o: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %r:2 = scf.while (%x = %n, %steps = %c0) : (i32, i32) -> (i32, i32) {
      %go = arith.cmpi sgt, %x, %c1 : i32
      scf.condition(%go) %steps, %x : i32, i32
    } do {
    ^bb0(%steps: i32, %x: i32):
      %half = arith.divsi %x, %c2 : i32
      %more = arith.addi %steps, %c1 : i32
      scf.yield %half, %more : i32, i32
    }
    tt.store %o, %r#0 : !tt.ptr<i32>
    tt.return
  })";
  EXPECT_EQ(run_scalar(text, 1000), 9);
  EXPECT_EQ(run_scalar(text, 1), 0);
}

TEST(Ops, DoCallsAndBranchesReturnTheirValues) {
  const std::string text = R"(
  tt.func public @f(%o: !tt.ptr<i32>, %n: i32) {
    %c7 = arith.constant 7 : i32
    %a = tt.call @clamp(%n, %c7) : (i32, i32) -> i32
    %b = tt.call @clamp(%a, %n) : (i32, i32) -> i32
    %s = arith.addi %a, %b : i32
    tt.store %o, %s : !tt.ptr<i32>
    tt.return
  }
  tt.func private @clamp(%x: i32, %limit: i32) -> i32 {
    %over = arith.cmpi sgt, %x, %limit : i32
    cf.cond_br %over, ^bb1, ^bb2
  ^bb1:
    tt.return %limit : i32
  ^bb2:
    tt.return %x : i32
  })";
  EXPECT_EQ(run_scalar(text, 3), 6);
  EXPECT_EQ(run_scalar(text, 100), 14);
}

TEST(Ops, IsAStepThatIsNotPositiveAnError) {
  const auto module = read_kernel_text(R"(
module {
  tt.func public @f(%n: i32) {
    %c0 = arith.constant 0 : i32
    scf.for %i = %c0 to %n step %c0  : i32 {
    }
    tt.return
  }
})");
  ASSERT_TRUE(module);
  KernelRun k(module);
  k.integer("n", 4);
  EXPECT_FALSE(k.run({1, 1, 1}));
  EXPECT_THAT(k.error.message, HasSubstr("step of a loop must be positive"));
  EXPECT_EQ(k.error.line.line, 5);
}

}  // namespace
}  // namespace xpusim::exec
