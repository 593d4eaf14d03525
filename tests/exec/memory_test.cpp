#include "sim/exec/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "sim/exec/generator.h"

namespace xpusim::exec {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

Init init(Init::Kind kind, double value = 0, std::uint64_t seed = 0) {
  Init i;
  i.kind = kind;
  i.value = value;
  i.seed = seed;
  return i;
}

template <class T>
T read(const DeviceMemory& m, std::uint64_t address) {
  T v;
  m.read(address, {reinterpret_cast<std::byte*>(&v), sizeof v});
  return v;
}

template <class T>
void write(DeviceMemory& m, std::uint64_t address, T v) {
  m.write(address, {reinterpret_cast<const std::byte*>(&v), sizeof v});
}

TEST(DeviceMemory, AreTensorsAlignedAndKeptApart) {
  DeviceMemory m(kMiB);
  const auto a = m.allocate("a", DType::kF32, {3}, init(Init::Kind::kZeros));
  const auto b = m.allocate("b", DType::kF32, {3}, init(Init::Kind::kZeros));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a % 256, 0u);
  EXPECT_EQ(*b % 256, 0u);
  EXPECT_GE(*b, *a + 12 + DeviceMemory::kGuardBytes);
  EXPECT_NE(*a, 0u);
}

TEST(DeviceMemory, WhichTensorHoldsAnAddress) {
  DeviceMemory m(kMiB);
  const auto a = *m.allocate("a", DType::kF32, {4}, init(Init::Kind::kZeros));
  const auto b = *m.allocate("b", DType::kF32, {4}, init(Init::Kind::kZeros));
  EXPECT_EQ(m.find(a)->name, "a");
  EXPECT_EQ(m.find(b + 15)->name, "b");
  EXPECT_EQ(m.find(a + 15)->name, "a");
  EXPECT_EQ(m.find(a + 16), nullptr);
  EXPECT_EQ(m.find(b + 16), nullptr);
  EXPECT_EQ(m.find(a - 1), nullptr);
  EXPECT_EQ(m.find("b")->address, b);
  EXPECT_EQ(m.nearest(a + 20)->name, "a");
  EXPECT_EQ(m.nearest(b - 1)->name, "b");
}

TEST(DeviceMemory, DoesATensorThatDoesNotFitFailByName) {
  DeviceMemory m(1000);
  ASSERT_TRUE(m.allocate("a", DType::kI8, {300}, init(Init::Kind::kZeros)));
  const auto b = m.allocate("big", DType::kF32, {200}, init(Init::Kind::kZeros));
  ASSERT_FALSE(b);
  EXPECT_THAT(b.error().str(), HasSubstr("tensor 'big' needs 800 B of device memory"));
  const auto huge =
      m.allocate("huge", DType::kF64, {std::int64_t{1} << 40, std::int64_t{1} << 40}, {});
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().str(), HasSubstr("'huge'"));
}

TEST(DeviceMemory, IsHostMemorySpentOnlyOnWhatIsWritten) {
  DeviceMemory m(std::uint64_t{64} << 30);
  const auto a = *m.allocate("a", DType::kF32, {std::int64_t{8} << 30}, init(Init::Kind::kRandn));
  read<float>(m, a + (std::uint64_t{16} << 30));
  EXPECT_EQ(m.resident_bytes(), 0u);
  write(m, a + (std::uint64_t{16} << 30), 1.5f);
  EXPECT_EQ(m.resident_bytes(), DeviceMemory::kPageBytes);
  EXPECT_EQ(read<float>(m, a + (std::uint64_t{16} << 30)), 1.5f);
}

TEST(DeviceMemory, DoUnwrittenElementsKeepTheirGeneratedValueBesideWrittenOnes) {
  DeviceMemory m(kMiB);
  const auto a = *m.allocate("a", DType::kF32, {50000}, init(Init::Kind::kRandn, 0, 7));
  const auto before = m.as_doubles(*m.find("a"));
  write(m, a + 4 * 20000, 3.0f);
  const auto after = m.as_doubles(*m.find("a"));
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(after[i], i == 20000 ? 3.0 : before[i]) << i;
  }
}

TEST(DeviceMemory, DoReadsAcrossPagesAndInsideElementsAgree) {
  DeviceMemory m(4 * kMiB);
  const auto a = *m.allocate("a", DType::kI32, {100000}, init(Init::Kind::kArange));
  std::vector<std::int32_t> all(100000);
  m.read(a, std::as_writable_bytes(std::span(all)));
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
  // 7 bytes that begin at the third byte of element 16383, the last of a page.
  std::array<std::byte, 7> part, expected;
  std::memcpy(expected.data(), reinterpret_cast<const std::byte*>(all.data()) + 16383 * 4 + 2, 7);
  m.read(a + 16383 * 4 + 2, part);
  EXPECT_EQ(part, expected);
}

TEST(DeviceMemory, DoesDataStandAsGiven) {
  auto bytes = std::make_shared<std::vector<std::byte>>(8);
  const float values[] = {1.5f, -2.0f};
  std::memcpy(bytes->data(), values, 8);
  Init i = init(Init::Kind::kData);
  i.data = bytes;
  DeviceMemory m(kMiB);
  ASSERT_TRUE(m.allocate("x", DType::kF32, {2}, i));
  EXPECT_EQ(m.as_doubles(*m.find("x")), (std::vector<double>{1.5, -2.0}));
  EXPECT_FALSE(m.allocate("y", DType::kF32, {3}, i));
}

TEST(DeviceMemory, IsWhatNobodyWroteKnown) {
  DeviceMemory m(kMiB);
  const auto a = *m.allocate("a", DType::kF32, {100}, init(Init::Kind::kUnwritten));
  const auto b = *m.allocate("b", DType::kF32, {100}, init(Init::Kind::kZeros));
  write(m, a + 8, 1.0f);
  EXPECT_EQ(m.first_unwritten(a + 8, 4), std::nullopt);
  EXPECT_EQ(m.first_unwritten(a + 8, 8), a + 12);
  EXPECT_EQ(m.first_unwritten(b, 400), std::nullopt);
}

TEST(Generator, IsAnElementTheSameHoweverItIsReached) {
  for (const auto kind : {Init::Kind::kRandn, Init::Kind::kRandint, Init::Kind::kArange}) {
    for (const DType d : {DType::kF32, DType::kF16, DType::kI32, DType::kF64, DType::kBF16}) {
      const Init i = init(kind, 1000, 3);
      const auto size = static_cast<std::size_t>(kernel::byte_size(d));
      std::vector<std::byte> all(1000 * size), one(size);
      generate(i, d, 0, 1000, all.data());
      for (const std::size_t k : {0u, 1u, 255u, 256u, 511u, 777u, 999u}) {
        generate(i, d, k, 1, one.data());
        EXPECT_EQ(std::memcmp(one.data(), &all[k * size], size), 0) << k;
      }
    }
  }
}

std::vector<float> normals(std::uint64_t seed, std::size_t n) {
  std::vector<float> v(n);
  generate(init(Init::Kind::kRandn, 0, seed), DType::kF32, 0, n,
           reinterpret_cast<std::byte*>(v.data()));
  return v;
}

TEST(Generator, HasRandnTheMomentsOfTheNormalDistribution) {
  const auto v = normals(1, 4'000'000);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  for (const float x : v) {
    const double d = static_cast<double>(x);
    m1 += d, m2 += d * d, m3 += d * d * d, m4 += d * d * d * d;
  }
  const double n = static_cast<double>(v.size());
  EXPECT_NEAR(m1 / n, 0, 0.002);  // four standard errors
  EXPECT_NEAR(m2 / n, 1, 0.003);
  EXPECT_NEAR(m3 / n, 0, 0.008);
  EXPECT_NEAR(m4 / n, 3, 0.02);
}

TEST(Generator, HasRandnTheTailsOfTheNormalDistribution) {
  const auto v = normals(2, 8'000'000);
  const double n = static_cast<double>(v.size());
  for (const double sigma : {0.5, 1.0, 2.0, 3.0, 4.0, 4.5}) {
    const double expected = n * std::erfc(sigma / std::sqrt(2.0));
    double beyond = 0, above = 0;
    for (const float x : v) {
      beyond += std::fabs(static_cast<double>(x)) > sigma;
      above += static_cast<double>(x) > sigma;
    }
    EXPECT_NEAR(beyond, expected, 4 * std::sqrt(expected) + 1) << sigma;
    EXPECT_NEAR(above, expected / 2, 4 * std::sqrt(expected / 2) + 1) << sigma;
  }
}

TEST(Generator, AreNeighboursAndSeedsUncorrelated) {
  const auto a = normals(1, 1'000'000), b = normals(2, 1'000'000);
  double lag = 0, seeds = 0;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) {
    lag += static_cast<double>(a[i] * a[i + 1]);
    seeds += static_cast<double>(a[i] * b[i]);
  }
  EXPECT_NEAR(lag / 1e6, 0, 0.004);
  EXPECT_NEAR(seeds / 1e6, 0, 0.004);
}

TEST(Generator, IsRandintUniformBelowItsLimit) {
  std::vector<std::int32_t> v(700'000);
  generate(init(Init::Kind::kRandint, 7, 5), DType::kI32, 0, v.size(),
           reinterpret_cast<std::byte*>(v.data()));
  std::array<int, 7> count{};
  for (const auto x : v) {
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 7);
    ++count[static_cast<std::size_t>(x)];
  }
  for (const int c : count) EXPECT_NEAR(c, 100'000, 1500);
}

TEST(Generator, DoFullAndOnesRoundToTheDtype) {
  std::uint16_t h[2];
  generate(init(Init::Kind::kFull, 1.0 + 3.0 / 2048), DType::kF16, 5, 2,
           reinterpret_cast<std::byte*>(h));
  EXPECT_EQ(h[1], 0x3c02);
  std::int8_t i[2];
  generate(init(Init::Kind::kOnes), DType::kI8, 0, 2, reinterpret_cast<std::byte*>(i));
  EXPECT_EQ(i[0], 1);
}

TEST(DeviceMemory, GoesBackToTheContentsThatWereKept) {
  DeviceMemory m(kMiB);
  const auto a = m.allocate("a", DType::kI32, {1000}, init(Init::Kind::kArange));
  const auto b = m.allocate("b", DType::kI32, {1000}, init(Init::Kind::kUnwritten));
  ASSERT_TRUE(a && b);
  write<std::int32_t>(m, *a, 7);
  write<std::int32_t>(m, *b, 8);
  const auto kept = m.contents();
  write<std::int32_t>(m, *a, 70);
  write<std::int32_t>(m, *a + 4, 71);
  write<std::int32_t>(m, *b + 4, 9);
  for (int i = 0; i < 2; ++i) {  // as often as one likes
    m.set_contents(*kept);
    EXPECT_EQ(read<std::int32_t>(m, *a), 7);
    EXPECT_EQ(read<std::int32_t>(m, *a + 4), 1);
    EXPECT_EQ(read<std::int32_t>(m, *b), 8);
    EXPECT_EQ(m.first_unwritten(*b, 8), *b + 4);
    write<std::int32_t>(m, *a, 70);
  }
}

}  // namespace
}  // namespace xpusim::exec
