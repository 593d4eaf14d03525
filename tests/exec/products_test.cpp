// Matrix products and attention, through tiles and through shared memory, against double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/exec/kernel_forms.h"

namespace xpusim::exec {
namespace {

using testing::HasSubstr;
using Values = std::vector<double>;

const kernel::Op* find_op(const kernel::Region& region,
                          const std::function<bool(const kernel::Op&)>& is) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      if (is(*op)) return op.get();
      for (const auto& inner : op->regions) {
        if (const kernel::Op* found = find_op(*inner, is)) return found;
      }
    }
  }
  return nullptr;
}

const kernel::Op* first_dot(const kernel::Module& m) {
  return find_op(*m.kernel()->op->regions[0], [](const kernel::Op& op) {
    return op.name() == "tt.dot" || op.name() == "ttng.warp_group_dot";
  });
}

DType pointee(const kernel::Module& m, std::size_t argument) {
  return m.kernel()->entry().args[argument]->type->pointee()->dtype;
}

Init input(DType d, std::uint64_t seed) {
  Init i = randn(seed);
  if (kernel::is_integer(d)) {
    i.kind = Init::Kind::kRandint;
    i.value = 100;
  }
  return i;
}

/// Entry (r, c) of a * b, a [m, k], b [k, n], and the sum of the magnitudes of its terms.
std::pair<double, double> entry(const Values& a, const Values& b, std::int64_t r, std::int64_t c,
                                std::int64_t k, std::int64_t n) {
  double sum = 0, size = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    const double term =
        a[static_cast<std::size_t>(r * k + i)] * b[static_cast<std::size_t>(i * n + c)];
    sum += term;
    size += std::fabs(term);
  }
  return {sum, size};
}

void expect_product(const KernelRun& run, std::int64_t m, std::int64_t n, std::int64_t k,
                    double tolerance) {
  const Values a = run.values("a_ptr"), b = run.values("b_ptr"), c = run.values("c_ptr");
  for (std::int64_t r = 0; r < m; r += 3) {
    for (std::int64_t j = 0; j < n; j += 7) {
      const auto [sum, size] = entry(a, b, r, j, k, n);
      ASSERT_NEAR(c[static_cast<std::size_t>(r * n + j)], sum, tolerance * size + 1e-6)
          << r << ", " << j;
    }
  }
}

TEST(Products, DoesMatmulMultiplyRaggedMatrices) {
  for_forms(
      "matmul",
      [](auto module) {
        const auto& tile = first_dot(*module)->result()->type->shape;
        const std::int64_t m = tile[0] + 16, n = 2 * tile[1] - 16, k = 208;
        KernelRun run(module);
        run.tensor("a_ptr", pointee(*module, 0), {m, k}, randn(1));
        run.tensor("b_ptr", pointee(*module, 1), {k, n}, randn(2));
        run.tensor("c_ptr", pointee(*module, 2), {m, n}, zeros());
        for (const auto& [name, value] : std::map<std::string, std::int64_t>{{"M", m},
                                                                             {"N", n},
                                                                             {"K", k},
                                                                             {"stride_am", k},
                                                                             {"stride_bk", n},
                                                                             {"stride_cm", n},
                                                                             {"stride_ak", 1},
                                                                             {"stride_bn", 1},
                                                                             {"stride_cn", 1}}) {
          run.integer(name, value);
        }
        const std::array<std::int64_t, 3> grid{2 * 2, 1, 1};
        ASSERT_TRUE(run.run(grid)) << run.error.message;
        expect_product(run, m, n, k, 0.005);  // the result is bf16
        const WorkCounts with_values = run.counts;
        ASSERT_TRUE(run.run(grid, false)) << run.error.message;
        EXPECT_EQ(run.counts.load_bytes, with_values.load_bytes);
        EXPECT_EQ(run.counts.flops, with_values.flops);
      },
      0.004);
}

TEST(Products, DoTypedMatmulsKeepTheirPrecision) {
  for_forms(
      "typed_matmul",
      [](auto module) {
        const kernel::Op* dot = first_dot(*module);
        const auto& tile = dot->result()->type->shape;
        const std::int64_t m = tile[0], n = 2 * tile[1], k = 256;
        const DType in = pointee(*module, 0);
        KernelRun run(module);
        run.tensor("a_ptr", in, {m, k}, input(in, 1));
        run.tensor("b_ptr", in, {k, n}, input(in, 2));
        run.tensor("c_ptr", pointee(*module, 2), {m, n}, zeros());
        run.integer("M", m);
        run.integer("N", n);
        run.integer("K", k);
        ASSERT_TRUE(run.run({1, 2, 1})) << run.error.message;
        double tolerance = 2e-6;
        if (in == DType::kF32) tolerance = 1e-3;  // tf32
        if (in == DType::kF64) tolerance = 1e-14;
        if (kernel::is_integer(in)) tolerance = 0;
        if (pointee(*module, 2) == DType::kF16 || pointee(*module, 2) == DType::kBF16)
          tolerance = 0.005;
        expect_product(run, m, n, k, tolerance);
        EXPECT_EQ(run.counts.flops, static_cast<std::uint64_t>(2 * m * n * k));
      },
      0.004);
}

TEST(Products, DoesFlashAttentionAttend) {
  for_forms(
      "flash_attention",
      [](auto module) {
        const kernel::Op* dot = first_dot(*module);
        const std::int64_t block = dot->result()->type->shape[0],
                           depth = dot->operands[0]->type->shape[1];
        const bool causal = find_op(*module->kernel()->op->regions[0], [](const kernel::Op& op) {
                              return op.name() == "arith.cmpi" && op.int_attr("predicate") == 5 &&
                                     op.result()->type->is_shaped();
                            }) != nullptr;
        const std::int64_t heads = 2, seq = block + 64;
        KernelRun run(module);
        for (const char* name : {"q_ptr", "k_ptr", "v_ptr"}) {
          run.tensor(name, pointee(*module, 0), {heads, seq, depth},
                     randn(static_cast<std::uint64_t>(name[0])));
        }
        run.tensor("o_ptr", pointee(*module, 3), {heads, seq, depth}, zeros());
        const double scale = 1 / std::sqrt(static_cast<double>(depth));
        run.real("scale", scale);
        run.integer("seq", seq);
        run.integer("stride_h", seq * depth);
        run.integer("stride_s", depth);
        ASSERT_TRUE(run.run({2, heads, 1})) << run.error.message;
        const Values q = run.values("q_ptr"), k = run.values("k_ptr"), v = run.values("v_ptr"),
                     o = run.values("o_ptr");
        const auto at = [&](std::int64_t h, std::int64_t s, std::int64_t d) {
          return static_cast<std::size_t>((h * seq + s) * depth + d);
        };
        for (std::int64_t row = 0; row < seq; row += 13) {
          Values p;
          double sum = 0;
          for (std::int64_t j = 0; j < (causal ? row + 1 : seq); ++j) {
            double s = 0;
            for (std::int64_t d = 0; d < depth; ++d) s += q[at(1, row, d)] * k[at(1, j, d)];
            p.push_back(std::exp(s * scale));
            sum += p.back();
          }
          for (std::int64_t d = 0; d < depth; d += 5) {
            double expected = 0;
            for (std::size_t j = 0; j < p.size(); ++j)
              expected += p[j] / sum * v[at(1, static_cast<std::int64_t>(j), d)];
            ASSERT_NEAR(o[at(1, row, d)], expected, 0.02) << row << ", " << d;
          }
        }
      },
      0.008);
}

TEST(Products, IsAReadBeforeTheWaitARace) {
  const char* text = R"(
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%x: !tt.ptr<f32>) {
    %i = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #blocked>
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #blocked>
    %p = tt.addptr %s, %i : tensor<32x!tt.ptr<f32>, #blocked>, tensor<32xi32, #blocked>
    %a = ttg.local_alloc : () -> !ttg.memdesc<32xf32, #shared, #smem, mutable>
    %t = ttg.async_copy_global_to_local %p, %a : tensor<32x!tt.ptr<f32>, #blocked> -> <32xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %t
    WAIT
    %v = ttg.local_load %a : !ttg.memdesc<32xf32, #shared, #smem, mutable> -> tensor<32xf32, #blocked>
    tt.store %p, %v : tensor<32x!tt.ptr<f32>, #blocked>
    tt.return
  }
})";
  for (const auto& [wait, fine] : {std::pair{"%w = ttg.async_wait %g {num = 0 : i32}", true},
                                   {"%w = ttg.async_wait %g {num = 1 : i32}", false},
                                   {"", false}}) {
    std::string kernel = text;
    kernel.replace(kernel.find("WAIT"), 4, wait);
    const auto module = read_kernel_text(kernel);
    ASSERT_TRUE(module);
    for (const bool values : {true, false}) {
      KernelRun run(module);
      run.tensor("x", DType::kF32, {32}, randn(1));
      EXPECT_EQ(run.run({1, 1, 1}, values), fine) << wait;
      EXPECT_THAT(run.error.message, HasSubstr(fine ? "" : "race: ttg.local_load reads memory"));
    }
  }
}

TEST(Products, DoesADescriptorMatmulCopyItsTilesByTma) {
  for_forms(
      "descriptor_matmul",
      [](auto module) {
        const auto& tile = first_dot(*module)->result()->type->shape;
        // Ragged in all dimensions; rows are multiples of 16 bytes, as TMA has them.
        for (const auto& [m, n, k] :
             {std::array{tile[0], tile[1], std::int64_t{64}},
              std::array{tile[0] + 24, 2 * tile[1] - 16, std::int64_t{208}},
              std::array{std::int64_t{40}, std::int64_t{48}, std::int64_t{16}}}) {
          SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k);
          KernelRun run(module);
          run.tensor("a_ptr", DType::kBF16, {m, k}, randn(1));
          run.tensor("b_ptr", DType::kBF16, {k, n}, randn(2));
          run.tensor("c_ptr", DType::kBF16, {m, n}, zeros());
          for (const char* name : {"a", "b", "c"}) {
            run.descriptor(std::string(name) + "_desc", std::string(name) + "_ptr");
          }
          run.integer("M", m);
          run.integer("N", n);
          run.integer("K", k);
          const std::array<std::int64_t, 3> grid{(m + tile[0] - 1) / tile[0],
                                                 (n + tile[1] - 1) / tile[1], 1};
          ASSERT_TRUE(run.run(grid)) << run.error.line.str() << ": " << run.error.message;
          expect_product(run, m, n, k, 0.005);  // the result is bf16
          const WorkCounts with_values = run.counts;
          ASSERT_TRUE(run.run(grid, false)) << run.error.message;
          EXPECT_EQ(run.counts.load_bytes, with_values.load_bytes);
          EXPECT_EQ(run.counts.store_bytes, static_cast<std::uint64_t>(2 * m * n));
        }
      },
      0.004);
}

}  // namespace
}  // namespace xpusim::exec
