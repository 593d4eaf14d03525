#include "sim/exec/generator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/exec/rounding.h"

namespace xpusim::exec {
namespace {

constexpr std::size_t kChunk = 256;

__extension__ using Wide = unsigned __int128;

/// A bijective mix of 64 bits (the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::uint64_t stream(std::uint64_t seed) { return mix(seed + 0x9e3779b97f4a7c15ull); }

std::uint64_t hash(std::uint64_t stream_key, std::uint64_t index) {
  return mix(stream_key + index * 0x9e3779b97f4a7c15ull);
}

/// ln(u) for u in (0, 1]: u = m * 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m-1)/(m+1)).
float natural_log(float u) {
  const auto bits = std::bit_cast<std::uint32_t>(u);
  const std::uint32_t shifted = bits - 0x3f3504f3u;  // sqrt(1/2)
  const auto exponent = static_cast<std::int32_t>(shifted) >> 23;
  const float m = std::bit_cast<float>((shifted & 0x7fffffu) + 0x3f3504f3u);
  const float s = (m - 1.0f) / (m + 1.0f);
  const float s2 = s * s;
  const float series =
      2.0f * s * (1.0f + s2 * (1.0f / 3 + s2 * (1.0f / 5 + s2 * (1.0f / 7 + s2 * (1.0f / 9)))));
  return series + static_cast<float>(exponent) * 0.69314718f;
}

/// sin(2 pi x) for |x| <= 1/4, by its series (error below 1e-7).
float sin_turns(float x) {
  const float y = 6.28318531f * x;
  const float y2 = y * y;
  return y * (1.0f +
              y2 * (-1.0f / 6 +
                    y2 * (1.0f / 120 +
                          y2 * (-1.0f / 5040 + y2 * (1.0f / 362880 + y2 * (-1.0f / 39916800))))));
}

void normal_chunk(std::uint64_t key, std::uint64_t first, std::size_t count, float* out) {
  std::array<std::uint32_t, kChunk> high, low;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t h = hash(key, first + i);
    high[i] = static_cast<std::uint32_t>(h >> 32);
    low[i] = static_cast<std::uint32_t>(h);
  }
  for (std::size_t i = 0; i < count; ++i) {
    // The upper half makes the radius: all 32 bits, so that the tail reaches 6.7 sigma.
    const float u = (static_cast<float>(high[i]) + 0.5f) * 0x1p-32f;
    const float radius = std::sqrt(-2.0f * std::min(natural_log(u), 0.0f));
    const float turn = static_cast<float>(static_cast<std::int32_t>(low[i])) * 0x1p-32f;
    out[i] = radius * sin_turns(0.25f - std::fabs(turn));  // cos(2 pi turn)
  }
}

void store_element(DType dtype, std::uint64_t bits, std::byte* out) {
  std::memcpy(out, &bits, static_cast<std::size_t>(kernel::byte_size(dtype)));
}

void fill(DType dtype, double value, std::size_t count, std::byte* out) {
  const std::uint64_t bits = encode(dtype, value);
  const auto size = static_cast<std::size_t>(kernel::byte_size(dtype));
  if (bits == 0) {
    std::memset(out, 0, count * size);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * size, &bits, size);
}

void fill_normal(std::uint64_t seed, DType dtype, std::uint64_t first, std::size_t count,
                 std::byte* out) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(dtype));
  const std::uint64_t key = stream(seed);
  std::array<float, kChunk> values;
  for (std::size_t done = 0; done < count; done += kChunk) {
    const std::size_t n = std::min(kChunk, count - done);
    std::byte* to = out + done * size;
    normal_chunk(key, first + done, n, values.data());
    if (kernel::is_float(dtype) && dtype != DType::kF64) {
      narrow(dtype, values.data(), n, to);
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        store_element(dtype, encode(dtype, static_cast<double>(values[i])), to + i * size);
      }
    }
  }
}

/// Uniform in [0, limit): the high part of hash * limit.
void fill_integers(const Init& init, DType dtype, std::uint64_t first, std::size_t count,
                   std::byte* out) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(dtype));
  const auto limit = static_cast<std::uint64_t>(std::max(init.value, 1.0));
  const std::uint64_t key = stream(init.seed);
  const bool integer = kernel::is_integer(dtype) && dtype != DType::kI1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t h = hash(key, first + i);
    const auto value = static_cast<std::uint64_t>((static_cast<Wide>(h) * limit) >> 64);
    store_element(dtype, integer ? value : encode(dtype, static_cast<double>(value)),
                  out + i * size);
  }
}

void fill_arange(DType dtype, std::uint64_t first, std::size_t count, std::byte* out) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(dtype));
  const bool integer = kernel::is_integer(dtype) && dtype != DType::kI1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = first + i;
    store_element(dtype, integer ? value : encode(dtype, static_cast<double>(value)),
                  out + i * size);
  }
}

}  // namespace

void generate(const Init& init, DType dtype, std::uint64_t first, std::size_t count,
              std::byte* out) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(dtype));
  first += init.first;
  switch (init.kind) {
    case Init::Kind::kZeros:
    case Init::Kind::kUnwritten:
      std::memset(out, 0, count * size);
      break;
    case Init::Kind::kOnes:
      fill(dtype, 1, count, out);
      break;
    case Init::Kind::kFull:
      fill(dtype, init.value, count, out);
      break;
    case Init::Kind::kArange:
      fill_arange(dtype, first, count, out);
      break;
    case Init::Kind::kRandn:
      fill_normal(init.seed, dtype, first, count, out);
      break;
    case Init::Kind::kRandint:
      fill_integers(init, dtype, first, count, out);
      break;
    case Init::Kind::kData:
      std::memcpy(out, init.data->data() + first * size, count * size);
      break;
  }
}

}  // namespace xpusim::exec
