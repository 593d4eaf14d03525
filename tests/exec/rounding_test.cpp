#include "sim/exec/rounding.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace xpusim::exec
