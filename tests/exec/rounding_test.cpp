#include "sim/exec/rounding.h"

#include <gtest/gtest.h>
#include <algorithm>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "sim/exec/memory.h"

namespace xpusim::exec {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST(Rounding, WhichBitsDoHandPickedValuesTakeInF16) {
  EXPECT_EQ(encode(DType::kF16, 1.0), 0x3c00u);
  EXPECT_EQ(encode(DType::kF16, -2.0), 0xc000u);
  EXPECT_EQ(encode(DType::kF16, 65504.0), 0x7bffu);  // the largest
  EXPECT_EQ(encode(DType::kF16, 65519.0), 0x7bffu);  // below half way to the next
  EXPECT_EQ(encode(DType::kF16, 65520.0), 0x7c00u);  // half way: to even, infinity
  EXPECT_EQ(encode(DType::kF16, kInf), 0x7c00u);
  EXPECT_EQ(encode(DType::kF16, -kInf), 0xfc00u);
  EXPECT_EQ(encode(DType::kF16, std::ldexp(1, -24)), 0x0001u);  // the least subnormal
  EXPECT_EQ(encode(DType::kF16, std::ldexp(1, -25)), 0x0000u);  // half of it: to even
  EXPECT_EQ(encode(DType::kF16, std::ldexp(3, -25)), 0x0002u);  // 1.5 of it: to even
  EXPECT_EQ(encode(DType::kF16, std::ldexp(1023, -24)), 0x03ffu);
  EXPECT_EQ(encode(DType::kF16, std::ldexp(1, -14)), 0x0400u);  // the least normal
  EXPECT_EQ(encode(DType::kF16, 1.0 + 1.0 / 2048), 0x3c00u);    // ties to even, down
  EXPECT_EQ(encode(DType::kF16, 1.0 + 3.0 / 2048), 0x3c02u);    // and up
  EXPECT_EQ(encode(DType::kF16, -0.0), 0x8000u);
  EXPECT_TRUE(std::isnan(decode(DType::kF16, encode(DType::kF16, kNan))));
}

TEST(Rounding, WhichBitsDoHandPickedValuesTakeInBf16AndTf32) {
  EXPECT_EQ(encode(DType::kBF16, 1.0), 0x3f80u);
  EXPECT_EQ(encode(DType::kBF16, 1.0 + 1.0 / 256), 0x3f80u);
  EXPECT_EQ(encode(DType::kBF16, 1.0 + 3.0 / 256), 0x3f82u);
  EXPECT_EQ(encode(DType::kBF16, std::ldexp(1, -133)), 0x0001u);  // the least subnormal
  EXPECT_EQ(encode(DType::kBF16, 3.3895313892515355e38), 0x7f7fu);
  EXPECT_EQ(encode(DType::kBF16, 3.4e38), 0x7f80u);
  EXPECT_EQ(encode(DType::kTF32, 1.0), 0x3f800000u);
  EXPECT_EQ(encode(DType::kTF32, 1.0 + 1.0 / 2048), 0x3f800000u);
  EXPECT_EQ(encode(DType::kTF32, 1.0 + 3.0 / 2048), 0x3f804000u);
}

TEST(Rounding, WhichBitsDoHandPickedValuesTakeInF8) {
  EXPECT_EQ(encode(DType::kF8E4M3FN, 1.0), 0x38u);
  EXPECT_EQ(encode(DType::kF8E4M3FN, 448.0), 0x7eu);
  EXPECT_EQ(encode(DType::kF8E4M3FN, 464.0), 0x7eu);  // saturates
  EXPECT_EQ(encode(DType::kF8E4M3FN, 1e9), 0x7eu);
  EXPECT_EQ(encode(DType::kF8E4M3FN, -kInf), 0xfeu);
  EXPECT_EQ(encode(DType::kF8E4M3FN, kNan), 0x7fu);
  EXPECT_EQ(encode(DType::kF8E4M3FN, std::ldexp(1, -9)), 0x01u);
  EXPECT_EQ(encode(DType::kF8E4M3FN, std::ldexp(1, -10)), 0x00u);
  EXPECT_EQ(encode(DType::kF8E4M3FN, 1.0625), 0x38u);  // tie to even
  EXPECT_EQ(encode(DType::kF8E4M3FN, 1.1875), 0x3au);
  EXPECT_EQ(encode(DType::kF8E5M2, 1.0), 0x3cu);
  EXPECT_EQ(encode(DType::kF8E5M2, 57344.0), 0x7bu);
  EXPECT_EQ(encode(DType::kF8E5M2, 1e6), 0x7bu);
  EXPECT_EQ(decode(DType::kF8E5M2, 0x7c), kInf);
  EXPECT_TRUE(std::isnan(decode(DType::kF8E4M3FN, 0x7f)));
  EXPECT_EQ(decode(DType::kF8E4M3FN, 0x7e), 448.0);
}

TEST(Rounding, AreIntegersCutToTheirWidth) {
  EXPECT_EQ(encode(DType::kI8, -1), 0xffu);
  EXPECT_EQ(decode(DType::kI8, 0xff), -1.0);
  EXPECT_EQ(encode(DType::kI1, 3), 1u);
  EXPECT_EQ(decode(DType::kI64, ~0ull), -1.0);
  EXPECT_EQ(encode(DType::kF64, 0.5), std::bit_cast<std::uint64_t>(0.5));
}

/// The bulk conversions against the single ones, for every bit pattern of the narrow formats.
TEST(Rounding, DoBulkConversionsAgreeWithSingleOnes) {
  for (const DType d : {DType::kF16, DType::kBF16, DType::kF8E4M3FN, DType::kF8E5M2}) {
    const std::size_t size = static_cast<std::size_t>(kernel::byte_size(d));
    const std::uint64_t patterns = std::uint64_t{1} << (8 * size);
    std::vector<std::byte> bits(patterns * size), back(bits.size());
    for (std::uint64_t p = 0; p < patterns; ++p) std::memcpy(&bits[p * size], &p, size);
    std::vector<float> wide(patterns);
    widen(d, bits.data(), patterns, wide.data());
    narrow(d, wide.data(), patterns, back.data());
    for (std::uint64_t p = 0; p < patterns; ++p) {
      const double exact = decode(d, p);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(wide[p])) << p;
        continue;
      }
      ASSERT_EQ(static_cast<double>(wide[p]), exact) << p;
      std::uint64_t again = 0;
      std::memcpy(&again, &back[p * size], size);
      ASSERT_EQ(again, encode(d, exact)) << p;
    }
  }
}

TEST(Rounding, DoBulkRoundingsAgreeWithSingleOnesBetweenTheGridPoints) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 400000; ++i) {
    values.push_back(std::bit_cast<float>(i * 10737u + (i % 7)));  // over all exponents
  }
  for (const DType d : {DType::kF16, DType::kBF16, DType::kTF32}) {
    const std::size_t size = static_cast<std::size_t>(kernel::byte_size(d));
    std::vector<std::byte> out(values.size() * size);
    narrow(d, values.data(), values.size(), out.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      std::uint64_t bits = 0;
      std::memcpy(&bits, &out[i * size], size);
      ASSERT_EQ(bits, encode(d, static_cast<double>(values[i])))
          << values[i] << " as " << kernel::name(d);
    }
  }
}

/// A format as nothing but the list of its values: all patterns from 0 up, as doubles.
struct ValueTable {
  DType dtype;
  std::vector<double> values;  ///< finite ones, by pattern; they ascend
  double overflow;             ///< what lies here or above rounds past the largest
  bool saturates;
};

ValueTable table_of(DType d, std::uint64_t largest, bool saturates) {
  ValueTable t{d, {}, 0, saturates};
  for (std::uint64_t bits = 0; bits <= largest; ++bits) t.values.push_back(decode(d, bits));
  const std::size_t n = t.values.size();
  t.overflow = t.values[n - 1] + (t.values[n - 1] - t.values[n - 2]) / 2;
  return t;
}

/// The nearest of all values, found by search; of two the one with the even pattern.
std::uint64_t nearest(const ValueTable& t, double magnitude) {
  const std::uint64_t largest = t.values.size() - 1;
  if (magnitude >= t.overflow) return t.saturates ? largest : largest + 1;
  const auto above = std::lower_bound(t.values.begin(), t.values.end(), magnitude);
  if (above == t.values.end()) return largest;
  const auto high = static_cast<std::uint64_t>(above - t.values.begin());
  if (high == 0 || *above == magnitude) return high;
  const double up = *above - magnitude, down = magnitude - t.values[high - 1];
  if (up != down) return up < down ? high : high - 1;
  return high % 2 == 0 ? high : high - 1;
}

const std::vector<ValueTable>& tables() {
  static const std::vector<ValueTable> all = {
      table_of(DType::kF16, 0x7bff, false), table_of(DType::kBF16, 0x7f7f, false),
      table_of(DType::kF8E4M3FN, 0x7e, true), table_of(DType::kF8E5M2, 0x7b, true)};
  return all;
}

TEST(Rounding, DoAllPatternsOfANarrowFormatComeBack) {
  for (const ValueTable& t : tables()) {
    const int width = kernel::bit_width(t.dtype);
    for (std::size_t bits = 0; bits < t.values.size(); ++bits) {
      ASSERT_LT(bits == 0 ? -1 : t.values[bits - 1], t.values[bits]);
      ASSERT_EQ(encode(t.dtype, t.values[bits]), bits);
      ASSERT_EQ(encode(t.dtype, -t.values[bits]), bits | std::uint64_t{1} << (width - 1));
    }
  }
}

/// At every midpoint of neighbours, and one f32 to either side.
TEST(Rounding, DoAllMidpointsGoToTheEvenNeighbour) {
  for (const ValueTable& t : tables()) {
    for (std::size_t bits = 0; bits + 1 < t.values.size(); ++bits) {
      const auto middle = static_cast<float>((t.values[bits] + t.values[bits + 1]) / 2);
      for (const float v : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e30f)}) {
        std::uint32_t bulk = 0;
        narrow(t.dtype, &v, 1, reinterpret_cast<std::byte*>(&bulk));
        ASSERT_EQ(bulk, nearest(t, static_cast<double>(v))) << v;
        ASSERT_EQ(encode(t.dtype, static_cast<double>(v)), bulk) << v;
      }
    }
  }
}

/// Four million patterns of f32 that a stride coprime to 2^32 visits: all exponents and signs.
TEST(Rounding, DoF32PatternsGoToTheNearestOfAllValues) {
  constexpr std::uint32_t kStride = 0x9e3779b1u, kCount = 1u << 22;
  for (const ValueTable& t : tables()) {
    const int sign_bit = kernel::bit_width(t.dtype) - 1;
    std::uint32_t pattern = 1;
    for (std::uint32_t i = 0; i < kCount; ++i, pattern += kStride) {
      const auto v = std::bit_cast<float>(pattern);
      if (std::isnan(v)) continue;
      std::uint32_t bulk = 0;
      narrow(t.dtype, &v, 1, reinterpret_cast<std::byte*>(&bulk));
      const std::uint64_t sign = std::signbit(v) ? std::uint64_t{1} << sign_bit : 0;
      ASSERT_EQ(bulk, nearest(t, std::fabs(static_cast<double>(v))) | sign) << v;
    }
  }
}

}  // namespace
}  // namespace xpusim::exec
