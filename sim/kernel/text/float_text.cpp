#include "sim/kernel/text/float_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace xpusim::kernel {
namespace {

/// How a binary format is laid out: sign, exponent, mantissa bits from high to low.
struct Layout {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< f8E4M3FN has none: its largest exponent holds values, all ones is NaN
};

Layout layout(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return {4, 3, false};
    case DType::kF8E5M2:
      return {5, 2, true};
    case DType::kF16:
      return {5, 10, true};
    case DType::kBF16:
      return {8, 7, true};
    case DType::kTF32:
      return {8, 10, true};
    case DType::kF32:
      return {8, 23, true};
    default:
      return {11, 52, true};
  }
}

int total_bits(Layout l) { return 1 + l.exponent_bits + l.mantissa_bits; }
int bias(Layout l) { return (1 << (l.exponent_bits - 1)) - 1; }

std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

std::uint64_t nan_bits(Layout l) {
  const std::uint64_t exponent = mask(l.exponent_bits) << l.mantissa_bits;
  return l.has_infinity ? exponent | (std::uint64_t{1} << (l.mantissa_bits - 1))
                        : exponent | mask(l.mantissa_bits);
}

std::uint64_t overflow_bits(Layout l) {
  return l.has_infinity ? mask(l.exponent_bits) << l.mantissa_bits : nan_bits(l);
}

/// The decimal digits of |value|, exactly, most significant first, without trailing zeros;
/// `exponent` is the power of ten of the last digit.
std::string exact_digits(double value, int& exponent) {
  char buffer[820];
  std::snprintf(buffer, sizeof buffer, "%.*e", 780, std::fabs(value));
  std::string_view text(buffer);
  const auto e = text.find('e');
  std::string digits(1, text[0]);
  digits += text.substr(2, e - 2);
  exponent = std::atoi(text.substr(e + 1).data()) - static_cast<int>(digits.size()) + 1;
  while (digits.size() > 1 && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  return digits;
}

/// LLVM first divides its big integer by a power of ten that surely leaves `precision` digits, so
/// digits beyond are cut, not rounded: 1e-5f is 9.99999974E-6 for MLIR.
void cut_digits(double value, std::string& digits, int& exponent, std::size_t precision) {
  const long double magnitude = std::log2(static_cast<long double>(std::fabs(value)));
  const int fraction = std::max(0, -exponent);
  const int bits = static_cast<int>(std::floor(magnitude + fraction * std::log2(10.0L))) + 1;
  const int needed = (static_cast<int>(precision) * 196 + 58) / 59;
  if (bits <= needed) return;
  const int cut = (bits - needed) * 59 / 196 - std::max(0, exponent);
  if (cut <= 0) return;
  digits.resize(digits.size() - static_cast<std::size_t>(cut));
  exponent += cut;
}

/// Cuts to `precision` digits, rounding half up, and drops trailing zeros.
void round_digits(double value, std::string& digits, int& exponent, std::size_t precision) {
  cut_digits(value, digits, exponent, precision);
  if (digits.size() > precision) {
    const bool up = digits[precision] >= '5';
    exponent += static_cast<int>(digits.size() - precision);
    digits.resize(precision);
    auto i = digits.size();
    while (up && i > 0 && digits[i - 1] == '9') digits[--i] = '0';
    if (up && i > 0) ++digits[i - 1];
    if (up && i == 0) {
      digits.insert(digits.begin(), '1');
    }
  }
  while (digits.size() > 1 && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
}

/// Six significant digits with a padded mantissa: "1.500000e+00".
std::string short_text(double value) {
  if (value == 0) return std::signbit(value) ? "-0.000000e+00" : "0.000000e+00";
  int exponent = 0;
  std::string digits = exact_digits(value, exponent);
  round_digits(value, digits, exponent, 6);
  exponent += static_cast<int>(digits.size()) - 1;
  std::string text = value < 0 ? "-" : "";
  text += digits[0];
  text += '.';
  text += digits.substr(1);
  text.append(7 - digits.size(), '0');
  char tail[16];
  std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
  return text + tail;
}

/// Enough digits for the format: "1.44269502", "1234.5", "9.99999974E-6".
std::string long_text(double value, Layout l) {
  const std::size_t precision = 2 + static_cast<std::size_t>(l.mantissa_bits + 1) * 59 / 196;
  constexpr int kMaxPadding = 3;
  int exponent = 0;
  std::string digits = exact_digits(value, exponent);
  round_digits(value, digits, exponent, precision);
  const int count = static_cast<int>(digits.size());
  const int top = exponent + count - 1;  // power of ten of the first digit
  std::string text = value < 0 ? "-" : "";
  const bool scientific =
      exponent >= 0
          ? exponent > kMaxPadding || digits.size() + static_cast<std::size_t>(exponent) > precision
          : top < -kMaxPadding;
  if (scientific) {
    text += digits[0];
    text += '.';
    text += count == 1 ? "0" : digits.substr(1);
    text += top < 0 ? "E-" : "E+";
    return text + std::to_string(std::abs(top));
  }
  if (exponent >= 0) return text + digits + std::string(static_cast<std::size_t>(exponent), '0');
  if (top >= 0) {
    const auto whole = static_cast<std::size_t>(top + 1);
    return text + digits.substr(0, whole) + "." + digits.substr(whole);
  }
  return text + "0." + std::string(static_cast<std::size_t>(-top - 1), '0') + digits;
}

std::string hex_text(std::uint64_t bits) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0x%llX", static_cast<unsigned long long>(bits));
  return buffer;
}

}  // namespace

double float_from_bits(std::uint64_t bits, DType dtype) {
  if (dtype == DType::kF64) return std::bit_cast<double>(bits);
  if (dtype == DType::kF32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const Layout l = layout(dtype);
  const bool negative = (bits >> (total_bits(l) - 1)) & 1;
  const auto exponent = static_cast<int>((bits >> l.mantissa_bits) & mask(l.exponent_bits));
  const std::uint64_t mantissa = bits & mask(l.mantissa_bits);
  double value = 0;
  if (l.has_infinity && exponent == static_cast<int>(mask(l.exponent_bits))) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  } else if (!l.has_infinity && (bits & mask(total_bits(l) - 1)) == nan_bits(l)) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias(l) - l.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (std::uint64_t{1} << l.mantissa_bits)),
                       exponent - bias(l) - l.mantissa_bits);
  }
  return negative ? -value : value;
}

std::uint64_t float_to_bits(double value, DType dtype) {
  if (dtype == DType::kF64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == DType::kF32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const Layout l = layout(dtype);
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (total_bits(l) - 1);
  if (std::isnan(value)) return sign | nan_bits(l);
  if (std::isinf(value)) return sign | overflow_bits(l);
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int lowest = 1 - bias(l);
  const int scale = std::max(exponent - 1, lowest) - l.mantissa_bits;
  const double steps = std::nearbyint(std::ldexp(std::fabs(value), -scale));  // ties to even
  auto mantissa = static_cast<std::uint64_t>(steps);
  std::uint64_t field = 0;
  if (mantissa >> l.mantissa_bits) {  // normal: the carry of a rounding moves into the exponent
    field = static_cast<std::uint64_t>(scale + l.mantissa_bits + bias(l) - 1);
  }
  const std::uint64_t magnitude = (field << l.mantissa_bits) + mantissa;
  const std::uint64_t largest = l.has_infinity ? overflow_bits(l) - 1 : nan_bits(l) - 1;
  return sign | (magnitude > largest ? overflow_bits(l) : magnitude);
}

std::string float_text(std::uint64_t bits, DType dtype) {
  const double value = float_from_bits(bits, dtype);
  if (!std::isfinite(value)) return hex_text(bits);
  std::string text = short_text(value);
  if (parse_decimal(text, dtype) == bits) return text;
  text = long_text(value, layout(dtype));
  if (text.find('.') != std::string::npos && parse_decimal(text, dtype) == bits) return text;
  return hex_text(bits);
}

std::optional<std::uint64_t> parse_decimal(std::string_view text, DType dtype) {
  const auto parse = [&](auto zero) -> std::optional<decltype(zero)> {
    decltype(zero) value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (stop != end) return std::nullopt;
    if (error == std::errc::result_out_of_range) {  // from_chars leaves the value alone
      value = static_cast<decltype(zero)>(std::strtod(std::string(text).c_str(), nullptr));
    } else if (error != std::errc()) {
      return std::nullopt;
    }
    return value;
  };
  if (dtype == DType::kF32) {
    const auto value = parse(float{});
    if (!value) return std::nullopt;
    return std::bit_cast<std::uint32_t>(*value);
  }
  const auto value = parse(double{});
  if (!value) return std::nullopt;
  return float_to_bits(*value, dtype);
}

}  // namespace xpusim::kernel
