// Kernels that use more of the language: gathers, transposes, loops, integers, narrow types.

#include <gtest/gtest.h>
#include <Eigen/Core>

#include <cmath>
#include <functional>

#include "tests/exec/kernel_forms.h"

namespace xpusim::exec {
namespace {

using Values = std::vector<double>;

Init randint(double n, std::uint64_t seed) {
  Init i;
  i.kind = Init::Kind::kRandint;
  i.value = n;
  i.seed = seed;
  return i;
}

std::int64_t cdiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The extents of the ranges of a kernel, in order: its BLOCK_M and BLOCK_N.
std::vector<std::int64_t> blocks_of(const kernel::Module& m) {
  std::vector<std::int64_t> sizes;
  for (const auto& op : m.kernel()->entry().ops) {
    if (op->name() == "tt.make_range") sizes.push_back(op->int_attr("end"));
  }
  return sizes;
}

TEST(TritonLanguage, DoesTransposeTransposeRaggedMatrices) {
  for_forms("transpose", [](auto module) {
    const auto sizes = blocks_of(*module);
    const std::int64_t bm = sizes.front();
    const std::int64_t bn = sizes.size() > 2 ? sizes[2] : sizes.back();
    const std::int64_t m = bm + 3, n = 2 * bn - 5;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {m, n}, randn(1));
    k.tensor("out_ptr", DType::kF32, {n, m}, zeros());
    k.integer("M", m);
    k.integer("N", n);
    ASSERT_TRUE(k.run({cdiv(m, 16), cdiv(n, 16), 1}))
        << k.error.message;  // enough for any block size
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_EQ(out[static_cast<std::size_t>(j * m + i)], x[static_cast<std::size_t>(i * n + j)]);
      }
    }
  });
}

TEST(TritonLanguage, DoesAStridedCopyTakeEveryNthElement) {
  for_forms("strided_copy", [](auto module) {
    const std::int64_t block = block_size(*module), n = 2 * block - 9;
    std::int64_t stride = 1;
    for (const auto& op : module->kernel()->entry().ops) {
      const kernel::Attr v = op->name() == "arith.constant" ? op->attr("value") : nullptr;
      if (v && v->kind == kernel::AttrKind::kDenseElements) stride = v->ints[0];
    }
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {n * stride}, randn(1));
    k.tensor("out_ptr", DType::kF32, {n}, zeros());
    k.integer("n", n);
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(out[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(i * stride)])
          << stride;
    }
  });
}

TEST(TritonLanguage, DoGatheredRowsComeFromTheTable) {
  for_forms("gather_rows", [](auto module) {
    const std::int64_t columns = block_size(*module) - 1;
    for (const bool values : {true, false}) {
      KernelRun k(module);
      k.tensor("table_ptr", DType::kF32, {100, columns}, randn(1));
      k.tensor("index_ptr", DType::kI32, {6}, randint(100, 2));
      k.tensor("out_ptr", DType::kF32, {6, columns}, zeros());
      k.integer("n_cols", columns);
      ASSERT_TRUE(k.run({6, 1, 1}, values)) << k.error.message;
      const Values x = k.values("table_ptr"), index = k.values("index_ptr"),
                   out = k.values("out_ptr");
      const auto c = static_cast<std::size_t>(columns);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double expected = x[static_cast<std::size_t>(index[i / c]) * c + i % c];
        ASSERT_EQ(out[i], values ? expected : 0.0);  // without values nothing is written
      }
    }
  });
}

TEST(TritonLanguage, DoAtomicsCountAHistogram) {
  for_forms("histogram_atomic", [](auto module) {
    const std::int64_t n = 3 * block_size(*module) - 17;
    std::int64_t bins = 0;
    for (const auto& op : module->kernel()->entry().ops) {
      if (op->name() == "arith.remsi") bins = op->operands[1]->def->attr("value")->ints[0];
    }
    KernelRun k(module);
    k.tensor("x_ptr", DType::kI32, {n}, randint(1000000, 2));
    k.tensor("hist_ptr", DType::kI32, {bins}, zeros());
    k.integer("n", n);
    ASSERT_TRUE(k.run({3, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), h = k.values("hist_ptr");
    Values expected(h.size());
    for (const double v : x) ++expected[static_cast<std::size_t>(v) % expected.size()];
    EXPECT_EQ(h, expected);
  });
}

TEST(TritonLanguage, DoesArgmaxFindTheFirstLargest) {
  for_forms("row_argmax", [](auto module) {
    const std::int64_t columns = block_size(*module) - 5;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {4, columns}, randint(50, 3));  // with ties
    k.tensor("out_ptr", DType::kI32, {4}, zeros());
    k.integer("n_cols", columns);
    ASSERT_TRUE(k.run({4, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    for (std::size_t r = 0; r < 4; ++r) {
      const auto row = x.begin() + static_cast<std::ptrdiff_t>(r) * columns;
      EXPECT_EQ(out[r], static_cast<double>(std::max_element(row, row + columns) - row));
    }
  });
}

TEST(TritonLanguage, DoesAStencilStayInsideItsImage) {
  for_forms("stencil_5pt", [](auto module) {
    const std::int64_t h = 70, w = 150;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {h, w}, randn(3));
    k.tensor("out_ptr", DType::kF32, {h, w}, zeros());
    k.integer("H", h);
    k.integer("W", w);
    ASSERT_TRUE(k.run({70, 150, 1})) << k.error.message;  // more blocks than needed: masked off
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    const auto at = [&](std::int64_t r, std::int64_t c) {
      return r < 0 || c < 0 || r >= h || c >= w ? 0.0 : x[static_cast<std::size_t>(r * w + c)];
    };
    for (std::int64_t r = 0; r < h; ++r) {
      for (std::int64_t c = 0; c < w; ++c) {
        const double sum = at(r, c) + at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1);
        ASSERT_NEAR(out[static_cast<std::size_t>(r * w + c)], 0.2 * sum, 2e-6);
      }
    }
  });
}

TEST(TritonLanguage, IsIntegerArithmeticThatOfC) {
  for_forms("integer_mix", [](auto module) {
    const std::int64_t n = 2 * block_size(*module) - 1;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kI32, {n}, randint(2147483647, 2));
    k.tensor("out_ptr", DType::kI32, {n}, zeros());
    k.integer("n", n);
    k.integer("divisor", 37);
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    const Values xs = k.values("x_ptr"), out = k.values("out_ptr");
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const auto x = static_cast<std::int32_t>(xs[i]);
      const auto u = static_cast<std::uint32_t>(x);
      const std::uint32_t y =
          static_cast<std::uint32_t>(x / 37 + x % 37) + static_cast<std::uint32_t>(x / 7) * 3u +
          static_cast<std::uint32_t>(x % 1000) + ((u << 3) ^ static_cast<std::uint32_t>(x >> 5));
      ASSERT_EQ(out[i], static_cast<double>(static_cast<std::int32_t>(y))) << x;
    }
  });
}

TEST(TritonLanguage, DoesDequantizeRoundToBf16) {
  for_forms("dequantize", [](auto module) {
    const std::int64_t columns = block_size(*module) - 1;
    KernelRun k(module);
    k.tensor("q_ptr", DType::kI8, {3, columns}, randint(127, 2));
    k.tensor("scale_ptr", DType::kF32, {3}, randn(4));
    k.tensor("out_ptr", DType::kBF16, {3, columns}, zeros());
    k.integer("n_cols", columns);
    ASSERT_TRUE(k.run({3, 1, 1})) << k.error.message;
    const Values q = k.values("q_ptr"), s = k.values("scale_ptr"), out = k.values("out_ptr");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto f = static_cast<float>(q[i] * s[i / static_cast<std::size_t>(columns)]);
      ASSERT_EQ(out[i], decode(DType::kBF16, encode(DType::kBF16, static_cast<double>(f))));
    }
  });
}

TEST(TritonLanguage, DoPersistentProgramsShareTheTiles) {
  for_forms("persistent_scale", [](auto module) {
    const std::int64_t n = 100000;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {n}, randn(4));
    k.tensor("out_ptr", DType::kF32, {n}, zeros());
    k.integer("n", n);
    k.real("factor", 2.0);
    ASSERT_TRUE(k.run({132, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], 2 * x[i]);
  });
}

TEST(TritonLanguage, DoesAScanKeepTheRunningMaximum) {
  for_forms("running_max", [](auto module) {
    const std::int64_t columns = block_size(*module) - 3;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {2, columns}, randn(4));
    k.tensor("out_ptr", DType::kF32, {2, columns}, zeros());
    k.integer("n_cols", columns);
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    Values expected = k.values("x_ptr");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (i % static_cast<std::size_t>(columns) != 0)
        expected[i] = std::max(expected[i], expected[i - 1]);
    }
    EXPECT_EQ(k.values("out_ptr"), expected);
  });
}

TEST(TritonLanguage, DoesAGatherPermuteARow) {
  for_forms("permute_rows", [](auto module) {
    const std::int64_t n = block_size(*module);
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {2, n}, randn(4));
    k.tensor("index_ptr", DType::kI32, {2, n}, randint(static_cast<double>(n), 5));
    k.tensor("out_ptr", DType::kF32, {2, n}, zeros());
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), index = k.values("index_ptr"), out = k.values("out_ptr");
    const auto columns = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], x[i / columns * columns + static_cast<std::size_t>(index[i])]);
    }
  });
}

TEST(TritonLanguage, DoesABlockHistogramCountWithoutAtomicsInside) {
  for_forms("block_histogram", [](auto module) {
    const std::int64_t n = 2 * block_size(*module);
    KernelRun k(module);
    k.tensor("x_ptr", DType::kI32, {n}, randint(1000000, 5));
    k.tensor("hist_ptr", DType::kI32, {256}, zeros());
    k.integer("n", n);
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    Values expected(256);
    for (const double v : k.values("x_ptr")) ++expected[static_cast<std::size_t>(v) % 256];
    EXPECT_EQ(k.values("hist_ptr"), expected);
  });
}

TEST(TritonLanguage, DoesALibraryFunctionRun) {
  for_forms("gelu_tanh", [](auto module) {
    const std::int64_t n = block_size(*module) + 5;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {n}, randn(5));
    k.tensor("out_ptr", DType::kF32, {n}, zeros());
    k.integer("n", n);
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double t = std::tanh(0.7978845608 * (x[i] + 0.044715 * x[i] * x[i] * x[i]));
      ASSERT_NEAR(out[i], 0.5 * x[i] * (1 + t), 2e-6);
    }
  });
}

TEST(TritonLanguage, DoesASortSort) {
  for_forms("sort_rows", [](auto module) {
    const std::int64_t columns = block_size(*module);
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {2, columns}, randn(4));
    k.tensor("out_ptr", DType::kF32, {2, columns}, zeros());
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    Values expected = k.values("x_ptr");
    std::sort(expected.begin(), expected.begin() + columns);
    std::sort(expected.begin() + columns, expected.end());
    EXPECT_EQ(k.values("out_ptr"), expected);
  });
}

TEST(TritonLanguage, DoesADescriptorScaleBlocksInsideItsTensor) {
  for_forms("descriptor_scale", [](auto module) {
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{64, 64}, {100, 212}, {3, 4}}) {
      KernelRun k(module);
      k.tensor("x_ptr", DType::kF32, {m, n}, randn(1));
      k.tensor("out_ptr", DType::kF32, {m, n}, zeros());
      k.descriptor("x_desc", "x_ptr");
      k.descriptor("out_desc", "out_ptr");
      k.real("factor", 3.0);
      ASSERT_TRUE(k.run({cdiv(m, 64), cdiv(n, 64), 1}))
          << k.error.line.str() << ": " << k.error.message;
      Values expected = k.values("x_ptr");
      for (double& v : expected) v = static_cast<float>(3 * v);
      EXPECT_EQ(k.values("out_ptr"), expected);
      EXPECT_EQ(k.counts.load_bytes, static_cast<std::uint64_t>(4 * m * n));
      EXPECT_EQ(k.counts.store_bytes, static_cast<std::uint64_t>(4 * m * n));
    }
  });
}

TEST(TritonLanguage, DoesABlockPointerStayInsideItsMatrix) {
  for_forms("block_pointer_copy", [](auto module) {
    for (const auto& [m, n] :
         {std::pair<std::int64_t, std::int64_t>{64, 64}, {80, 208}, {16, 16}}) {
      KernelRun k(module);
      k.tensor("x_ptr", DType::kF32, {m, n}, randn(1));
      k.tensor("out_ptr", DType::kF32, {m, n}, zeros());
      k.integer("M", m);
      k.integer("N", n);
      ASSERT_TRUE(k.run({cdiv(m, 16), cdiv(n, 16), 1})) << k.error.message;
      EXPECT_EQ(k.values("out_ptr"), k.values("x_ptr"));
    }
  });
}

TEST(TritonLanguage, DoBranchesGoByTheParityOfTheProgram) {
  for_forms("branch_by_parity", [](auto module) {
    const std::int64_t block = block_size(*module);
    for (const std::int64_t n : {std::int64_t{16}, block, 3 * block + 48}) {
      KernelRun k(module);
      k.tensor("x_ptr", DType::kF32, {n}, randn(1));
      k.tensor("y_ptr", DType::kF32, {n}, randn(2));
      k.tensor("out_ptr", DType::kF32, {n}, zeros());
      k.integer("n", n);
      ASSERT_TRUE(k.run({cdiv(n, block), 1, 1})) << k.error.message;
      const Values x = k.values("x_ptr"), y = k.values("y_ptr"), out = k.values("out_ptr");
      for (std::size_t i = 0; i < out.size(); ++i) {
        const bool even = i / static_cast<std::size_t>(block) % 2 == 0;
        ASSERT_NEAR(out[i], even ? x[i] : std::sqrt(std::fabs(y[i])) + 1, 1e-6);
      }
    }
  });
}

TEST(TritonLanguage, DoesAWhileLoopEndWhenItsRowIsSmall) {
  for_forms("halve_until_small", [](auto module) {
    const std::int64_t block = block_size(*module);
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {5, block}, randn(7));
    k.tensor("steps_ptr", DType::kI32, {5}, zeros());
    k.real("limit", 0.01);
    ASSERT_TRUE(k.run({5, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), steps = k.values("steps_ptr");
    for (std::size_t row = 0; row < 5; ++row) {
      double largest = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(block); ++i) {
        largest = std::max(largest, std::fabs(x[row * static_cast<std::size_t>(block) + i]));
      }
      double expected = 0;
      for (; largest > static_cast<double>(0.01f); largest /= 2) ++expected;
      EXPECT_EQ(steps[row], expected);
    }
  });
}

TEST(TritonLanguage, DoRowsUnderALockAddUp) {
  for_forms("locked_sum", [](auto module) {
    const std::int64_t columns = block_size(*module), rows = 16;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {rows, columns}, randn(7));
    k.tensor("lock_ptr", DType::kI32, {4}, zeros());
    k.tensor("out_ptr", DType::kF32, {4, columns}, zeros());
    k.integer("n_rows", rows);
    ASSERT_TRUE(k.run({rows, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    const auto c = static_cast<std::size_t>(columns);
    Values expected(4 * c);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i / c % 4 * c + i % c] += x[i];
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 4e-6);
    EXPECT_EQ(k.values("lock_ptr"), Values(4));
  });
}

TEST(TritonLanguage, DoBlocksClaimSlotsForWhatTheyKeep) {
  for_forms("compact_positive", [](auto module) {
    const std::int64_t n = 3 * block_size(*module) + 5;
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {n}, randn(8));
    k.tensor("count_ptr", DType::kI32, {1}, zeros());
    k.tensor("out_ptr", DType::kF32, {n}, zeros());
    k.integer("n", n);
    ASSERT_TRUE(k.run({4, 1, 1})) << k.error.message;
    Values expected = k.values("x_ptr"), out = k.values("out_ptr");
    std::erase_if(expected, [](double x) { return x <= 0; });
    ASSERT_EQ(k.values("count_ptr")[0], static_cast<double>(expected.size()));
    std::erase_if(out, [](double x) { return x == 0; });
    std::sort(expected.begin(), expected.end());  // blocks claim in any order
    std::sort(out.begin(), out.end());
    EXPECT_EQ(out, expected);
  });
}

std::map<std::string, int> op_counts(const kernel::Module& m) {
  std::map<std::string, int> counts;
  for (const auto& op : m.kernel()->entry().ops) {
    if (!op->results.empty() && op->result()->type->is_shaped()) ++counts[std::string(op->name())];
  }
  return counts;
}

/// One function over and over, by the ops of the text: each round in double precision, rounded to
/// f32. Chains that blow errors up (exp of exp, 3 / x near 0) go to the same infinities and NaNs.
TEST(TritonLanguage, DoRepeatedFunctionsCompose) {
  using Function = std::function<double(double)>;
  const std::map<std::string, Function> kFunctions = {
      {"math.exp2", [](double x) { return std::exp2(x); }},
      {"math.log", [](double x) { return std::log(x); }},
      {"math.sin", [](double x) { return std::sin(x); }},
      {"math.sqrt", [](double x) { return std::sqrt(x); }},
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"math.erf", [](double x) { return std::erf(x); }},
      {"arith.mulf", [](double x) { return x * 1.0001 + 0.5; }}};
  for_forms(
      "repeat_op",
      [&](auto module) {
        auto counts = op_counts(*module);
        const DType d = module->kernel()->entry().args[0]->type->pointee()->dtype;
        std::string op;
        Function f;
        for (const auto& [name, function] : kFunctions) {
          if (counts[name] > 0) op = name, f = function;
        }
        if (counts["math.exp"] > 0) {
          op = "math.exp";
          f = counts["arith.divf"] > 0 ? Function([](double x) { return 1 / (1 + std::exp(-x)); })
                                       : Function([](double x) { return std::exp(x); });
        } else if (counts["arith.divf"] > 0) {
          op = "arith.divf", f = [](double x) { return 3 / x; };
        } else if (counts["arith.divsi"] > 0) {
          op = "arith.divsi", f = [](double x) { return std::trunc(1000003 / (x + 1)); };
        } else if (d == DType::kBF16) {
          op = "arith.addf", f = [](double x) { return x + 1; };
        }
        ASSERT_TRUE(f);
        SCOPED_TRACE(op);
        const std::int64_t n = 2 * block_size(*module);
        KernelRun k(module);
        k.tensor("x_ptr", d, {n}, kernel::is_float(d) ? randn(3) : randint(1000, 3));
        k.tensor("out_ptr", d, {n}, zeros());
        ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
        const Values x = k.values("x_ptr"), out = k.values("out_ptr");
        for (std::size_t i = 0; i < out.size(); ++i) {
          double v = x[i];
          for (int r = 0; r < counts[op]; ++r) v = decode(d, encode(d, f(v)));
          if (std::isnan(v) && std::isnan(out[i])) continue;
          if (v == out[i]) continue;
          ASSERT_NEAR(out[i], v, kernel::is_float(d) ? 1e-4 * std::fabs(v) + 1e-6 : 0) << x[i];
        }
      },
      1e-5);
}

/// The shape of the tile that a kernel stores.
std::pair<std::int64_t, std::int64_t> stored_shape(const kernel::Module& m) {
  for (const auto& op : m.kernel()->entry().ops) {
    if (op->name() != "tt.store") continue;
    const auto& shape = op->operands[1]->type->shape;
    return {shape[0], shape[1]};
  }
  return {0, 0};
}

int reduction_count(const kernel::Module& m) {
  const auto& ops = m.kernel()->entry().ops;
  return static_cast<int>(std::count_if(ops.begin(), ops.end(),
                                        [](const auto& op) { return op->name() == "tt.reduce"; }));
}

TEST(TritonLanguage, DoMaximaOfRowsAndSumsOfColumnsTakeTurns) {
  for_forms(
      "repeat_shuffle",
      [](auto module) {
        const auto [m, n] = stored_shape(*module);
        KernelRun k(module);
        k.tensor("x_ptr", DType::kF32, {2, m, n}, randn(3));
        k.tensor("out_ptr", DType::kF32, {2, m, n}, zeros());
        ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
        const Values x = k.values("x_ptr"), out = k.values("out_ptr");
        using Matrix = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        for (std::int64_t block = 0; block < 2; ++block) {
          Matrix v = Eigen::Map<const Matrix>(x.data() + block * m * n, m, n);
          for (int r = 0; r < reduction_count(*module) / 2; ++r) {
            v.colwise() -= v.rowwise().maxCoeff().eval();
            v.rowwise() += (v.colwise().sum() * 0.001).eval();
          }
          const Matrix actual = Eigen::Map<const Matrix>(out.data() + block * m * n, m, n);
          EXPECT_LT((actual - v).abs().maxCoeff(), 1e-5 * v.abs().maxCoeff());
        }
      },
      1e-5);
}

TEST(TritonLanguage, DoTransposesAddUp) {
  for_forms("repeat_transpose", [](auto module) {
    const auto [m, n] = stored_shape(*module);
    int rounds = 0;
    for (const auto& op : module->kernel()->entry().ops) rounds += op->name() == "tt.trans";
    KernelRun k(module);
    k.tensor("x_ptr", DType::kF32, {2, m, n}, randn(3));
    k.tensor("out_ptr", DType::kF32, {2, m, n}, zeros());
    ASSERT_TRUE(k.run({2, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), out = k.values("out_ptr");
    using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    for (std::int64_t block = 0; block < 2; ++block) {
      Matrix v = Eigen::Map<const Matrix>(x.data() + block * m * n, m, n);
      for (int r = 0; r < rounds; ++r) v = (v.transpose() + v).eval();
      const Matrix actual = Eigen::Map<const Matrix>(out.data() + block * m * n, m, n);
      EXPECT_LT((actual - v).cwiseAbs().maxCoeff(), 1e-6 * v.cwiseAbs().maxCoeff());
    }
  });
}

}  // namespace
}  // namespace xpusim::exec
