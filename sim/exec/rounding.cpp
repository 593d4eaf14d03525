#include "sim/exec/rounding.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "sim/exec/memory.h"

namespace xpusim::exec {
namespace {

/// A binary float format. `max_bits` is the pattern of the largest finite value.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  std::uint64_t max_bits, infinity_bits, nan_bits;
  bool saturates;  ///< overflow and infinity become the largest finite value (PTX cvt.satfinite)
};

constexpr Format kHalf{5, 10, 15, 0x7bff, 0x7c00, 0x7fff, false};
constexpr Format kBfloat{8, 7, 127, 0x7f7f, 0x7f80, 0x7fff, false};
constexpr Format kTensorFloat{8, 10, 127, 0x3fbff, 0x3fc00, 0x3ffff, false};
constexpr Format kE4M3{4, 3, 7, 0x7e, 0x7f, 0x7f, true};
constexpr Format kE5M2{5, 2, 15, 0x7b, 0x7c, 0x7f, true};
constexpr int kTensorFloatShift = 13;  // tf32 keeps its bits at the top of 32

std::uint64_t round_to(const Format& f, double value) {
  const int width = f.exponent_bits + f.mantissa_bits;
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << width : 0;
  if (std::isnan(value)) return f.nan_bits;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | (f.saturates ? f.max_bits : f.infinity_bits);
  const int least = 1 - f.bias;
  const int exponent = std::max(std::ilogb(magnitude), least);
  // In units of the last place; nearbyint rounds to nearest even. The implicit bit of a normal
  // number and a carry out of the mantissa both add into the exponent field, as they should.
  const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent - least) << f.mantissa_bits) +
                             static_cast<std::uint64_t>(units);
  if (bits > f.max_bits) return sign | (f.saturates ? f.max_bits : f.infinity_bits);
  return sign | bits;
}

double expand(const Format& f, std::uint64_t bits) {
  const int width = f.exponent_bits + f.mantissa_bits;
  const double sign = (bits >> width) & 1 ? -1.0 : 1.0;
  const std::uint64_t magnitude = bits & ((std::uint64_t{1} << width) - 1);
  if (magnitude > f.max_bits) {
    return magnitude == f.infinity_bits && f.infinity_bits != f.nan_bits
               ? sign * std::numeric_limits<double>::infinity()
               : std::numeric_limits<double>::quiet_NaN();
  }
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const std::uint64_t mantissa = magnitude & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  const std::uint64_t implicit = exponent ? std::uint64_t{1} << f.mantissa_bits : 0;
  return sign * std::ldexp(static_cast<double>(mantissa | implicit),
                           std::max(exponent, 1) - f.bias - f.mantissa_bits);
}

std::int64_t to_integer(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kLimit = 9223372036854775807.0;
  if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (value <= -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::int64_t sign_extend(std::uint64_t bits, int width) {
  const int shift = 64 - width;
  return static_cast<std::int64_t>(bits << shift) >> shift;
}

// The bulk forms below have no branches, so that they vectorise.

std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t a = bits & 0x7fffffffu;
  // Below 2^-14: adding 0.5, whose last place is 2^-24, rounds to the subnormal grid.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + 0.5f) - 0x3f000000u;
  const std::uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  std::uint32_t r = a < 0x38800000u ? small : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  return static_cast<std::uint16_t>(a > 0x7f800000u ? 0x7fffu : r | sign);
}

float float_from_half(std::uint16_t h) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(h & 0x7fffu) << 13;
  // Multiplying by 2^112 rebiases the exponent and normalises subnormals.
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) *
                                                   std::bit_cast<float>(0x77800000u));
  const std::uint32_t r = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite;
  return std::bit_cast<float>(r | static_cast<std::uint32_t>(h & 0x8000u) << 16);
}

std::uint16_t bfloat_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}

std::uint32_t tensor_float_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu;
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffe000u : rounded;
}

std::array<float, 256> make_table(const Format& f) {
  std::array<float, 256> table;
  for (std::uint64_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(expand(f, i));
  return table;
}

const float* f8_table(DType d) {
  static const auto e4m3 = make_table(kE4M3);
  static const auto e5m2 = make_table(kE5M2);
  return d == DType::kF8E4M3FN ? e4m3.data() : e5m2.data();
}

template <class T, class F>
void map_elements(const std::byte* in, std::size_t count, float* out, F f) {
  for (std::size_t i = 0; i < count; ++i) {
    T bits;
    std::memcpy(&bits, in + i * sizeof(T), sizeof(T));
    out[i] = f(bits);
  }
}

template <class T, class F>
void map_floats(const float* in, std::size_t count, std::byte* out, F f) {
  for (std::size_t i = 0; i < count; ++i) {
    const T bits = f(in[i]);
    std::memcpy(out + i * sizeof(T), &bits, sizeof(T));
  }
}

}  // namespace

std::uint64_t encode(DType d, double value) {
  switch (d) {
    case DType::kF64:
      return std::bit_cast<std::uint64_t>(value);
    case DType::kF32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::kF16:
      return round_to(kHalf, value);
    case DType::kBF16:
      return round_to(kBfloat, value);
    case DType::kTF32:
      return round_to(kTensorFloat, value) << kTensorFloatShift;
    case DType::kF8E4M3FN:
      return round_to(kE4M3, value);
    case DType::kF8E5M2:
      return round_to(kE5M2, value);
    case DType::kI1:
      return value != 0;
    default:
      break;
  }
  const int width = kernel::bit_width(d);
  const auto bits = static_cast<std::uint64_t>(to_integer(value));
  return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

double decode(DType d, std::uint64_t bits) {
  switch (d) {
    case DType::kF64:
      return std::bit_cast<double>(bits);
    case DType::kF32:
    case DType::kTF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::kF16:
      return expand(kHalf, bits & 0xffff);
    case DType::kBF16:
      return expand(kBfloat, bits & 0xffff);
    case DType::kF8E4M3FN:
      return expand(kE4M3, bits & 0xff);
    case DType::kF8E5M2:
      return expand(kE5M2, bits & 0xff);
    case DType::kI1:
      return static_cast<double>(bits & 1);
    default:
      return static_cast<double>(sign_extend(bits, kernel::bit_width(d)));
  }
}

void widen(DType d, const std::byte* in, std::size_t count, float* out) {
  switch (d) {
    case DType::kF16:
      map_elements<std::uint16_t>(in, count, out, float_from_half);
      break;
    case DType::kBF16:
      map_elements<std::uint16_t>(in, count, out, [](std::uint16_t b) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16);
      });
      break;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2: {
      const float* table = f8_table(d);
      map_elements<std::uint8_t>(in, count, out, [table](std::uint8_t b) { return table[b]; });
      break;
    }
    default:
      std::memcpy(out, in, count * sizeof(float));
  }
}

void narrow(DType d, const float* in, std::size_t count, std::byte* out) {
  switch (d) {
    case DType::kF16:
      map_floats<std::uint16_t>(in, count, out, half_from_float);
      break;
    case DType::kBF16:
      map_floats<std::uint16_t>(in, count, out, bfloat_from_float);
      break;
    case DType::kTF32:
      map_floats<std::uint32_t>(in, count, out, tensor_float_from_float);
      break;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      map_floats<std::uint8_t>(in, count, out, [d](float v) {
        return static_cast<std::uint8_t>(encode(d, static_cast<double>(v)));
      });
      break;
    default:
      std::memcpy(out, in, count * sizeof(float));
  }
}

void round_in_place(DType d, float* values, std::size_t count) {
  if (d == DType::kF32) return;
  constexpr std::size_t kChunk = 512;
  std::array<std::byte, kChunk * sizeof(float)> bits;
  for (std::size_t i = 0; i < count; i += kChunk) {
    const std::size_t n = std::min(kChunk, count - i);
    narrow(d, values + i, n, bits.data());
    widen(d, bits.data(), n, values + i);
  }
}

}  // namespace xpusim::exec
