// The measured Pallas kernels at the shapes that they were compiled for, whole launches through the
// window pipeline, against references in double precision. Where the whole grid would take long,
// the text's grid is cut down in the dimensions that the kernel's own constants leave free, and
// rows are sampled.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "tests/exec/mosaic_harness.h"

namespace xpusim::exec {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Map = Eigen::Map<const Matrix>;
using Values = std::vector<double>;

Init randint(double n, std::uint64_t seed) {
  Init i;
  i.kind = Init::Kind::kRandint;
  i.value = n;
  i.seed = seed;
  return i;
}

constexpr double kF32 = 1e-5, kBF16 = 0x1p-7;

void expect_near(double got, double want, double tolerance, std::size_t at) {
  const bool same = got == want || (std::isnan(got) && std::isnan(want));
  ASSERT_TRUE(same || std::fabs(got - want) <= tolerance * (1 + std::fabs(want)))
      << got << " instead of " << want << " at " << at;
}

void expect_near(const Values& got, const Values& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_near(got[i], want[i], tolerance, i);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// All texts of workloads/pallas/ir that begin with one of these, but for those that take all of K
/// at once: their grids have no step to sum over.
std::vector<std::string> texts(const std::vector<std::string>& prefixes) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(pallas_path("ir"))) {
    const std::string stem = entry.path().stem().string();
    for (const std::string& p : prefixes)
      if (stem.starts_with(p) && !stem.ends_with("_whole")) found.push_back(stem);
  }
  std::sort(found.begin(), found.end());
  return found;
}
std::string stem_of(const testing::TestParamInfo<std::string>& info) { return info.param; }

/// The shape of the memref argument behind the grid's indices.
std::vector<std::int64_t> window(const MosaicKernel& k, std::size_t number) {
  const kernel::Function& f = *k.module->kernel();
  const kernel::Attr bounds = f.op->attr("iteration_bounds");
  const std::size_t grid = bounds ? bounds->int_list().size() : 0;
  return f.entry().args[grid + number]->type->shape;
}
std::vector<std::int64_t> grid(const MosaicKernel& k) {
  return k.module->kernel()->op->attr("iteration_bounds")->int_list();
}

TEST(PallasKernels, DoesAddAdd) {
  MosaicKernel k("ir/add");
  k.operand(DType::kF32, {8192, 1024}, randn(1));
  k.operand(DType::kF32, {8192, 1024}, randn(2));
  k.operand(DType::kF32, {8192, 1024}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  Values want = k.values(0);
  const Values y = k.values(1);
  for (std::size_t i = 0; i < y.size(); ++i) want[i] += y[i];
  expect_near(k.values(2), want, kF32);
  EXPECT_EQ(k.result.steps, 16u);
  EXPECT_EQ(k.result.fetches, 32u);
  EXPECT_EQ(k.result.write_backs, 16u);
}

TEST(PallasKernels, DoesMulAddReluAgree) {
  MosaicKernel k("ir/mul_add_relu");
  for (std::uint64_t i = 0; i < 3; ++i) k.operand(DType::kF32, {8192, 1024}, randn(i));
  k.operand(DType::kF32, {8192, 1024}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  Values want = k.values(0);
  const Values w = k.values(1), b = k.values(2);
  for (std::size_t i = 0; i < w.size(); ++i) want[i] = std::max(want[i] * w[i] + b[i], 0.0);
  expect_near(k.values(3), want, kF32);
}

class Copies : public testing::TestWithParam<std::string> {};
TEST_P(Copies, AreTheyExact) {
  MosaicKernel k("ir/" + GetParam());
  k.operand(DType::kBF16, {16384, 1024}, randn(1));
  k.operand(DType::kBF16, {16384, 1024}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  EXPECT_EQ(k.bytes(1), k.bytes(0));
}
INSTANTIATE_TEST_SUITE_P(Pallas, Copies, testing::ValuesIn(texts({"hbm_copy"})), stem_of);

void softmax(double* row, std::size_t n) {
  const double max = *std::max_element(row, row + n);
  double sum = 0;
  for (std::size_t c = 0; c < n; ++c) sum += row[c] = std::exp(row[c] - max);
  for (std::size_t c = 0; c < n; ++c) row[c] /= sum;
}

/// Compares every `step`-th row with what `reference` makes of the same row of operand 0.
template <class F>
void check_rows(const MosaicKernel& k, std::size_t output, std::size_t columns, std::size_t step,
                F reference) {
  const Values x = k.values(0), got = k.values(output);
  ASSERT_EQ(x.size(), got.size());
  for (std::size_t r = 0; r < x.size() / columns; r += step) {
    Values row(x.begin() + static_cast<std::ptrdiff_t>(r * columns),
               x.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
    reference(r, row);
    for (std::size_t c = 0; c < columns; ++c) {
      expect_near(got[r * columns + c], row[c], kF32, r * columns + c);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(PallasKernels, DoesSoftmaxNormaliseEachRow) {
  MosaicKernel k("ir/softmax");
  k.operand(DType::kF32, {8192, 4096}, randn(1));
  k.operand(DType::kF32, {8192, 4096}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  check_rows(k, 1, 4096, 37, [](std::size_t, Values& row) { softmax(row.data(), row.size()); });
}

TEST(PallasKernels, DoesLayerNormNormaliseEachRow) {
  MosaicKernel k("ir/layer_norm");
  k.operand(DType::kF32, {8192, 4096}, randn(1));
  k.operand(DType::kF32, {1, 4096}, randn(2));
  k.operand(DType::kF32, {1, 4096}, randn(3));
  k.operand(DType::kF32, {8192, 4096}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  const Values w = k.values(1), b = k.values(2);
  check_rows(k, 3, 4096, 37, [&](std::size_t, Values& row) {
    Eigen::Map<Eigen::ArrayXd> x(row.data(), static_cast<Eigen::Index>(row.size()));
    x -= x.mean();
    x *= 1 / std::sqrt(x.square().mean() + 1e-5);
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = row[c] * w[c] + b[c];
  });
  EXPECT_EQ(k.result.fetches, 64u + 2) << "weights and biases come once";
}

TEST(PallasKernels, DoesACausalMaskFollowTheGrid) {
  MosaicKernel k("ir/causal_mask_softmax");
  k.operand(DType::kF32, {2048, 2048}, randn(1));
  k.operand(DType::kF32, {2048, 2048}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  check_rows(k, 1, 2048, 7, [](std::size_t r, Values& row) {
    for (std::size_t c = r + 1; c < row.size(); ++c) row[c] = -1e30;
    softmax(row.data(), row.size());
  });
}

TEST(PallasKernels, DoesATransposeSwapRowsAndColumns) {
  MosaicKernel k("ir/transpose");
  k.operand(DType::kF32, {4096, 4096}, randn(1));
  k.operand(DType::kF32, {4096, 4096}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  const Values x = k.values(0), got = k.values(1);
  EXPECT_EQ(Map(got.data(), 4096, 4096), Map(x.data(), 4096, 4096).transpose());
}

TEST(PallasKernels, DoesAPrefetchedTablePickBlocks) {
  MosaicKernel k("ir/gather_blocks");
  std::vector<std::int32_t> table(256);
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<std::int32_t>(i / 2 * 37 % 128);  // each twice in a row
  k.integers({256}, table);
  k.operand(DType::kF32, {1024, 1024}, randn(1));
  k.operand(DType::kF32, {2048, 1024}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  const Values x = k.values(1), got = k.values(2);
  const auto block = std::size_t{8} * 1024;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], x[static_cast<std::size_t>(table[i / block]) * block + i % block]) << i;
  EXPECT_EQ(k.result.fetches, 128u);
  EXPECT_EQ(k.result.skipped_fetches, 128u);
  EXPECT_EQ(k.result.write_backs, 256u);
}

TEST(PallasKernels, DoesAPrefetchedLengthEndTheSum) {
  MosaicKernel k("ir/sum_rows_by_length");
  std::vector<std::int32_t> lengths(64);
  for (std::size_t i = 0; i < 64; ++i) lengths[i] = static_cast<std::int32_t>(i * 23 % 65 * 8);
  k.integers({64}, lengths);
  k.operand(DType::kF32, {64, 512, 128}, randn(1));
  k.operand(DType::kF32, {64, 8, 128}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  const Values x = k.values(1);
  Values want(std::size_t{64} * 8 * 128);
  for (std::size_t b = 0; b < 64; ++b) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(lengths[b]); ++r) {
      for (std::size_t c = 0; c < 128; ++c)
        want[(b * 8 + r % 8) * 128 + c] += x[(b * 512 + r) * 128 + c];
    }
  }
  expect_near(k.values(2), want, kF32);
}

TEST(PallasKernels, DoManualCopiesCarryEveryBlock) {
  MosaicKernel k("ir/manual_dma");
  k.operand(DType::kF32, {4096, 1024}, randn(1));
  k.operand(DType::kF32, {4096, 1024}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  Values want = k.values(0);
  for (double& v : want) v *= 2;
  EXPECT_EQ(k.values(1), want);
  EXPECT_EQ(k.result.fetches, 0u) << "operands in HBM have no window";
}

TEST(PallasKernels, DoesADoubleBufferKeepItsHalvesApart) {
  MosaicKernel k("ir/double_buffer");
  k.operand(DType::kF32, {4096, 1024}, randn(1));
  k.operand(DType::kF32, {4096, 1024}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  Values want = k.values(0);
  for (double& v : want) v = std::tanh(v);
  expect_near(k.values(1), want, kF32);
}

/// One chip has nobody to send to.
class Rings : public testing::TestWithParam<std::string> {};
TEST_P(Rings, IsARemoteCopyRefusedByName) {
  MosaicKernel k("ir/" + GetParam());
  const auto shape = window(k, 1);
  k.operand(DType::kF32, {256, 1024}, randn(1));
  k.operand(DType::kF32, shape, unwritten());
  EXPECT_FALSE(k.run());
  EXPECT_NE(k.problems.find("a remote copy"), std::string::npos) << k.problems;
  EXPECT_NE(k.problems.find("pallas_kernels.py"), std::string::npos) << k.problems;
}
INSTANTIATE_TEST_SUITE_P(Pallas, Rings, testing::ValuesIn(texts({"ring_all_gather"})), stem_of);

/// Rows that tell all row blocks apart.
std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t block) {
  std::vector<std::int64_t> sample;
  for (std::int64_t b = 0; b < rows; b += block) {
    sample.push_back(b + b / block % block);
    sample.push_back(std::min(b + block, rows) - 1);
  }
  return sample;
}

/// rows of a * b, of row-major [m, k] and [k, n].
Matrix product_rows(const Values& a, const Values& b, const std::vector<std::int64_t>& rows,
                    std::int64_t m, std::int64_t k, std::int64_t n) {
  Matrix picked(static_cast<Eigen::Index>(rows.size()), k);
  for (std::size_t r = 0; r < rows.size(); ++r)
    picked.row(static_cast<Eigen::Index>(r)) = Map(a.data(), m, k).row(rows[r]);
  return picked * Map(b.data(), k, n);
}

class Products : public testing::TestWithParam<std::string> {};
TEST_P(Products, DoTheySumOverAllBlocks) {
  const std::string stem = GetParam();
  std::vector<std::int64_t> blocks;
  {
    MosaicKernel whole("ir/" + stem);
    blocks = grid(whole);
  }
  for (std::size_t d = 0; d < 2; ++d) blocks[d] = std::min<std::int64_t>(blocks[d], 2);
  MosaicKernel probe("ir/" + stem);
  const auto lhs = window(probe, 0), rhs = window(probe, 1);
  const std::int64_t k = blocks[2] * lhs[1];
  if (lhs[0] * rhs[1] * k > (std::int64_t{1} << 30)) blocks[0] = 1;
  if (lhs[0] * rhs[1] * k > (std::int64_t{1} << 31)) blocks[1] = 1;
  const std::int64_t m = blocks[0] * lhs[0], n = blocks[1] * rhs[1];
  MosaicKernel kernel("ir/" + stem, blocks);
  const bool integers = stem.starts_with("int8");
  const DType in = integers ? DType::kI8 : DType::kBF16, out = integers ? DType::kI32 : in;
  kernel.operand(in, {m, k}, integers ? randint(100, 1) : randn(1));
  kernel.operand(in, {k, n}, integers ? randint(100, 2) : randn(2));
  kernel.operand(out, {m, n}, unwritten());
  ASSERT_TRUE(kernel.run()) << kernel.problems;
  const auto rows = sampled_rows(m, lhs[0]);
  const Matrix want = product_rows(kernel.values(0), kernel.values(1), rows, m, k, n);
  const Values got = kernel.values(2);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      double w = want(static_cast<Eigen::Index>(r), c);
      if (stem.find("relu") != std::string::npos) w = std::max(w, 0.0);
      const auto at = static_cast<std::size_t>(rows[r] * n + c);
      expect_near(got[at], w, integers ? 0 : kBF16, at);
      if (HasFatalFailure()) return;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Pallas, Products,
                         testing::ValuesIn(texts({"matmul", "int8_matmul", "v6e_dot"})), stem_of);

class Attention : public testing::TestWithParam<std::string> {};
TEST_P(Attention, DoRunningMaximaGiveTheWholeSoftmax) {
  std::vector<std::int64_t> blocks;
  {
    MosaicKernel whole("ir/" + GetParam());
    blocks = grid(whole);
  }
  const std::int64_t keys = blocks[2] * 512, dim = 128;
  blocks[0] = 2;
  blocks[1] = 1;
  if (keys > 2048) blocks[0] = 1;
  MosaicKernel k("ir/" + GetParam(), blocks);
  k.operand(DType::kBF16, {blocks[0], 512, dim}, randn(1));
  for (const std::uint64_t seed : {2, 3})
    k.operand(DType::kBF16, {blocks[0], keys, dim}, randn(seed));
  k.operand(DType::kBF16, {blocks[0], 512, dim}, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  const Values q = k.values(0), key = k.values(1), v = k.values(2), got = k.values(3);
  for (std::int64_t h = 0; h < blocks[0]; ++h) {
    const Map queries(q.data() + h * 512 * dim, 512, dim);
    Matrix scores = queries * Map(key.data() + h * keys * dim, keys, dim).transpose();
    scores /= std::sqrt(static_cast<double>(dim));
    for (Eigen::Index r = 0; r < 512; ++r)
      softmax(scores.row(r).data(), static_cast<std::size_t>(keys));
    const Matrix want = scores * Map(v.data() + h * keys * dim, keys, dim);
    for (Eigen::Index i = 0; i < want.size(); ++i) {
      const auto at = static_cast<std::size_t>(h * 512 * dim + i);
      expect_near(got[at], want.data()[i], kBF16, at);
      if (HasFatalFailure()) return;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Pallas, Attention, testing::ValuesIn(texts({"flash"})), stem_of);

double to_bf16(double x) { return decode(DType::kBF16, encode(DType::kBF16, x)); }

/// Each step rounds to bf16. One that falls on the other side of a tie than in double precision may
/// differ from then on; bf16 has few values, so that befalls many elements at once.
class Chains : public testing::TestWithParam<std::string> {};
TEST_P(Chains, DoesEachStepRoundToBf16) {
  const std::string stem = GetParam();
  MosaicKernel k("ir/" + stem);
  const auto shape = window(k, 0);
  k.operand(DType::kBF16, shape, randn(1));
  k.operand(DType::kBF16, shape, randn(2));
  k.operand(DType::kBF16, shape, unwritten());
  ASSERT_TRUE(k.run()) << k.problems;
  const Values x = k.values(0), y = k.values(1), got = k.values(2);
  const bool adds = stem.find("add") != std::string::npos;
  const int steps = stem.ends_with("r20") ? 20 : 4;
  std::size_t different = 0, checked = 0;
  for (std::size_t i = 0; i < x.size(); i += 13, ++checked) {
    double v = x[i];
    for (int s = 0; s < steps; ++s) v = to_bf16(adds ? v + y[i] : std::exp(v));
    different += v != got[i];
  }
  EXPECT_LE(different, checked / 200);
}
INSTANTIATE_TEST_SUITE_P(Pallas, Chains, testing::ValuesIn(texts({"vmem_chain"})), stem_of);

}  // namespace
}  // namespace xpusim::exec
