// Every kernel family of workloads/triton, in both forms, at small shapes: against references that
// the test computes in double precision.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "tests/exec/kernel_forms.h"

namespace xpusim::exec {
namespace {

using Values = std::vector<double>;
constexpr double kRelative = 3e-6, kAbsolute = 3e-6;  // f32 arithmetic in another order

void expect_near(const Values& actual, const Values& expected, double scale = 1) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], scale * (kAbsolute + kRelative * std::fabs(expected[i])))
        << "element " << i;
  }
}

std::int64_t cdiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Lengths around a block: one element, a ragged one, one whole block, and several with a ragged
/// end.
std::vector<std::int64_t> lengths(std::int64_t block) {
  return {1, block - 3, block, 3 * block + 5};
}

/// An element-wise kernel over inputs of one length.
void check_elementwise(const std::string& kernel, const std::vector<std::string>& inputs,
                       const std::function<double(const Values&)>& reference, int flops) {
  for_forms(kernel, [&](auto module) {
    const std::int64_t block = block_size(*module);
    for (const std::int64_t n : lengths(block)) {
      KernelRun k(module);
      std::uint64_t seed = 1;
      for (const auto& name : inputs) k.tensor(name, DType::kF32, {n}, randn(seed++));
      k.tensor("out_ptr", DType::kF32, {n}, zeros());
      k.integer("n", n);
      ASSERT_TRUE(k.run({cdiv(n, block), 1, 1})) << k.error.message;
      std::vector<Values> in;
      for (const auto& name : inputs) in.push_back(k.values(name));
      Values expected(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        Values x;
        for (const auto& v : in) x.push_back(v[i]);
        expected[i] = reference(x);
      }
      expect_near(k.values("out_ptr"), expected);
      // Work is that of the elements in the tensor, not of the masked ones.
      const auto u = static_cast<std::uint64_t>(n);
      EXPECT_EQ(k.counts.flops, u * static_cast<std::uint64_t>(flops));
      EXPECT_EQ(k.counts.load_bytes, 4 * u * inputs.size());
      EXPECT_EQ(k.counts.store_bytes, 4 * u);
    }
  });
}

TEST(TritonKernels, DoesVectorAddAdd) {
  check_elementwise(
      "vector_add", {"x_ptr", "y_ptr"}, [](const Values& x) { return x[0] + x[1]; }, 1);
}

TEST(TritonKernels, DoesVectorMulMultiply) {
  check_elementwise(
      "vector_mul", {"x_ptr", "y_ptr"}, [](const Values& x) { return x[0] * x[1]; }, 1);
}

TEST(TritonKernels, DoesReluCutAtZero) {
  check_elementwise(
      "relu", {"x_ptr"}, [](const Values& x) { return std::max(x[0], 0.0); }, 1);
}

TEST(TritonKernels, DoesFusedMulAddReluAgree) {
  check_elementwise(
      "fused_mul_add_relu", {"x_ptr", "w_ptr", "b_ptr"},
      [](const Values& x) { return std::max(x[0] * x[1] + x[2], 0.0); }, 3);
}

/// Rows that are shorter than the block, and as long.
struct Rows {
  std::int64_t rows, columns, stride;
  std::size_t at(std::int64_t r, std::int64_t c) const {
    return static_cast<std::size_t>(r * stride + c);
  }
};

void for_rows(const std::string& kernel,
              const std::function<void(KernelRun&, const Rows&)>& check) {
  for_forms(kernel, [&](auto module) {
    const std::int64_t block = block_size(*module);
    for (const std::int64_t columns : {block, block - 7, std::int64_t{1}}) {
      SCOPED_TRACE(columns);
      KernelRun k(module);
      check(k, {5, columns, columns});
    }
  });
}

/// e^(x - max), the sum of it, and the maximum, of one row.
struct SoftmaxRow {
  Values numerator;
  double sum = 0, max = -INFINITY;
  SoftmaxRow(const Values& x, const Rows& r, std::int64_t row) {
    for (std::int64_t c = 0; c < r.columns; ++c) max = std::max(max, x[r.at(row, c)]);
    for (std::int64_t c = 0; c < r.columns; ++c) {
      numerator.push_back(std::exp(x[r.at(row, c)] - max));
      sum += numerator.back();
    }
  }
};

TEST(TritonKernels, DoesSoftmaxNormaliseRows) {
  for_rows("softmax", [](KernelRun& k, const Rows& r) {
    k.tensor("in_ptr", DType::kF32, {r.rows, r.columns}, randn(3));
    k.tensor("out_ptr", DType::kF32, {r.rows, r.columns}, zeros());
    k.integer("in_row_stride", r.stride);
    k.integer("out_row_stride", r.stride);
    k.integer("n_cols", r.columns);
    ASSERT_TRUE(k.run({r.rows, 1, 1})) << k.error.message;
    const Values x = k.values("in_ptr");
    Values expected(x.size());
    for (std::int64_t row = 0; row < r.rows; ++row) {
      const SoftmaxRow s(x, r, row);
      for (std::int64_t c = 0; c < r.columns; ++c) {
        expected[r.at(row, c)] = s.numerator[static_cast<std::size_t>(c)] / s.sum;
      }
    }
    expect_near(k.values("out_ptr"), expected);
  });
}

TEST(TritonKernels, DoesRowMaxFindTheMaximum) {
  for_rows("row_max", [](KernelRun& k, const Rows& r) {
    k.tensor("in_ptr", DType::kF32, {r.rows, r.columns}, randn(4));
    k.tensor("out_ptr", DType::kF32, {r.rows}, zeros());
    k.integer("in_row_stride", r.stride);
    k.integer("n_cols", r.columns);
    ASSERT_TRUE(k.run({r.rows, 1, 1})) << k.error.message;
    const Values x = k.values("in_ptr");
    Values expected;
    for (std::int64_t row = 0; row < r.rows; ++row) expected.push_back(SoftmaxRow(x, r, row).max);
    EXPECT_EQ(k.values("out_ptr"), expected);
  });
}

TEST(TritonKernels, DoesExpAndSumGiveNumeratorsAndDenominators) {
  for_rows("exp_and_sum", [](KernelRun& k, const Rows& r) {
    k.tensor("in_ptr", DType::kF32, {r.rows, r.columns}, randn(4));
    k.tensor("max_ptr", DType::kF32, {r.rows}, randn(9));
    k.tensor("num_ptr", DType::kF32, {r.rows, r.columns}, zeros());
    k.tensor("den_ptr", DType::kF32, {r.rows}, zeros());
    k.integer("row_stride", r.stride);
    k.integer("n_cols", r.columns);
    ASSERT_TRUE(k.run({r.rows, 1, 1})) << k.error.message;
    const Values x = k.values("in_ptr"), max = k.values("max_ptr");
    Values numerators(x.size()), sums(static_cast<std::size_t>(r.rows));
    for (std::int64_t row = 0; row < r.rows; ++row) {
      for (std::int64_t c = 0; c < r.columns; ++c) {
        const double e = std::exp(x[r.at(row, c)] - max[static_cast<std::size_t>(row)]);
        numerators[r.at(row, c)] = e;
        sums[static_cast<std::size_t>(row)] += e;
      }
    }
    expect_near(k.values("num_ptr"), numerators);
    expect_near(k.values("den_ptr"), sums);
  });
}

TEST(TritonKernels, DoesRowDivideDivide) {
  for_rows("row_divide", [](KernelRun& k, const Rows& r) {
    k.tensor("num_ptr", DType::kF32, {r.rows, r.columns}, randn(4));
    k.tensor("den_ptr", DType::kF32, {r.rows}, randn(9));
    k.tensor("out_ptr", DType::kF32, {r.rows, r.columns}, zeros());
    k.integer("row_stride", r.stride);
    k.integer("n_cols", r.columns);
    ASSERT_TRUE(k.run({r.rows, 1, 1})) << k.error.message;
    const Values x = k.values("num_ptr"), d = k.values("den_ptr");
    Values expected(x.size());
    for (std::int64_t row = 0; row < r.rows; ++row) {
      for (std::int64_t c = 0; c < r.columns; ++c) {
        expected[r.at(row, c)] = x[r.at(row, c)] / d[static_cast<std::size_t>(row)];
      }
    }
    expect_near(k.values("out_ptr"), expected);
  });
}

TEST(TritonKernels, DoesLayerNormNormalise) {
  for_rows("layer_norm", [](KernelRun& k, const Rows& r) {
    constexpr double kEps = 1e-5;
    k.tensor("x_ptr", DType::kF32, {r.rows, r.columns}, randn(4));
    k.tensor("w_ptr", DType::kF32, {r.columns}, randn(5));
    k.tensor("b_ptr", DType::kF32, {r.columns}, randn(6));
    k.tensor("out_ptr", DType::kF32, {r.rows, r.columns}, zeros());
    k.integer("row_stride", r.stride);
    k.integer("n_cols", r.columns);
    k.real("eps", kEps);
    ASSERT_TRUE(k.run({r.rows, 1, 1})) << k.error.message;
    const Values x = k.values("x_ptr"), w = k.values("w_ptr"), b = k.values("b_ptr");
    Values expected(x.size());
    const double n = static_cast<double>(r.columns);
    for (std::int64_t row = 0; row < r.rows; ++row) {
      double mean = 0, variance = 0;
      for (std::int64_t c = 0; c < r.columns; ++c) mean += x[r.at(row, c)] / n;
      for (std::int64_t c = 0; c < r.columns; ++c)
        variance += std::pow(x[r.at(row, c)] - mean, 2) / n;
      for (std::int64_t c = 0; c < r.columns; ++c) {
        const auto i = static_cast<std::size_t>(c);
        expected[r.at(row, c)] =
            (x[r.at(row, c)] - mean) / std::sqrt(variance + kEps) * w[i] + b[i];
      }
    }
    expect_near(k.values("out_ptr"), expected, 3);
  });
}

/// sum over the block of relu(2 x + 1)
TEST(TritonKernels, DoesChainPartialSumItsBlock) {
  for_forms("chain_partial", [](auto module) {
    const std::int64_t block = block_size(*module);
    for (const std::int64_t n : lengths(block)) {
      const std::int64_t blocks = cdiv(n, block);
      KernelRun k(module);
      k.tensor("x_ptr", DType::kF32, {n}, randn(1));
      k.tensor("part_ptr", DType::kF32, {blocks}, zeros());
      k.integer("n", n);
      ASSERT_TRUE(k.run({blocks, 1, 1})) << k.error.message;
      const Values x = k.values("x_ptr");
      Values expected(static_cast<std::size_t>(blocks));
      for (std::size_t i = 0; i < x.size(); ++i) {
        expected[i / static_cast<std::size_t>(block)] += std::max(2 * x[i] + 1, 0.0);
      }
      expect_near(k.values("part_ptr"), expected);
    }
  });
}

TEST(TritonKernels, DoesChainApplyDivideByTheTotal) {
  for_forms("chain_apply", [](auto module) {
    const std::int64_t block = block_size(*module);
    for (const std::int64_t n : lengths(block)) {
      KernelRun k(module);
      k.tensor("x_ptr", DType::kF32, {n}, randn(1));
      k.tensor("total_ptr", DType::kF32, {1}, randn(2));
      k.tensor("out_ptr", DType::kF32, {n}, zeros());
      k.integer("n", n);
      ASSERT_TRUE(k.run({cdiv(n, block), 1, 1})) << k.error.message;
      Values expected = k.values("x_ptr");
      for (double& v : expected) v = std::max(2 * v + 1, 0.0) / k.values("total_ptr")[0];
      expect_near(k.values("out_ptr"), expected);
    }
  });
}

TEST(TritonKernels, DoesReduceSumAddUpWithAtomics) {
  for_forms("reduce_sum", [](auto module) {
    const std::int64_t block = block_size(*module);
    for (const std::int64_t n : lengths(block)) {
      KernelRun k(module);
      k.tensor("x_ptr", DType::kF32, {n}, randn(1));
      k.tensor("out_ptr", DType::kF32, {1}, zeros());
      k.integer("n", n);
      ASSERT_TRUE(k.run({cdiv(n, block), 1, 1})) << k.error.message;
      EXPECT_EQ(k.effects, 0);  // nobody uses the old value: it may run ahead
      const Values x = k.values("x_ptr");
      const double magnitude = std::accumulate(x.begin(), x.end(), 0.0,
                                               [](double s, double v) { return s + std::fabs(v); });
      EXPECT_NEAR(k.values("out_ptr")[0], std::accumulate(x.begin(), x.end(), 0.0),
                  1e-6 * magnitude);
    }
  });
}

}  // namespace
}  // namespace xpusim::exec
