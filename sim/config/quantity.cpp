#include "sim/config/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace xpusim::config {

namespace {

struct UnitName {
  std::string_view name;
  Unit unit;
  double scale;  ///< value in the field's unit of one of these
};

constexpr double kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;

/// Within a unit from the smallest to the largest: format_quantity relies on it. Binary sizes come
/// after the decimal ones, so that they win where both are whole.
constexpr std::array kUnits = {
    UnitName{"%", Unit::kRatio, 0.01},
    UnitName{"cycles", Unit::kCycles, 1},
    UnitName{"B", Unit::kBytes, 1},
    UnitName{"kB", Unit::kBytes, 1e3},
    UnitName{"MB", Unit::kBytes, 1e6},
    UnitName{"GB", Unit::kBytes, 1e9},
    UnitName{"TB", Unit::kBytes, 1e12},
    UnitName{"KiB", Unit::kBytes, kKi},
    UnitName{"MiB", Unit::kBytes, kMi},
    UnitName{"GiB", Unit::kBytes, kGi},
    UnitName{"TiB", Unit::kBytes, kTi},
    UnitName{"Hz", Unit::kHertz, 1},
    UnitName{"kHz", Unit::kHertz, 1e3},
    UnitName{"MHz", Unit::kHertz, 1e6},
    UnitName{"GHz", Unit::kHertz, 1e9},
    UnitName{"B/s", Unit::kBytesPerSecond, 1},
    UnitName{"kB/s", Unit::kBytesPerSecond, 1e3},
    UnitName{"MB/s", Unit::kBytesPerSecond, 1e6},
    UnitName{"GB/s", Unit::kBytesPerSecond, 1e9},
    UnitName{"TB/s", Unit::kBytesPerSecond, 1e12},
    UnitName{"KiB/s", Unit::kBytesPerSecond, kKi},
    UnitName{"MiB/s", Unit::kBytesPerSecond, kMi},
    UnitName{"GiB/s", Unit::kBytesPerSecond, kGi},
    UnitName{"TiB/s", Unit::kBytesPerSecond, kTi},
    UnitName{"B/cycle", Unit::kBytesPerCycle, 1},
    UnitName{"ps", Unit::kNanoseconds, 1e-3},
    UnitName{"ns", Unit::kNanoseconds, 1},
    UnitName{"us", Unit::kNanoseconds, 1e3},
    UnitName{"ms", Unit::kNanoseconds, 1e6},
    UnitName{"s", Unit::kNanoseconds, 1e9},
    UnitName{"fJ", Unit::kPicojoules, 1e-3},
    UnitName{"pJ", Unit::kPicojoules, 1},
    UnitName{"nJ", Unit::kPicojoules, 1e3},
    UnitName{"uJ", Unit::kPicojoules, 1e6},
    UnitName{"mW", Unit::kWatts, 1e-3},
    UnitName{"W", Unit::kWatts, 1},
    UnitName{"kW", Unit::kWatts, 1e3},
    UnitName{"USD/h", Unit::kDollarsPerHour, 1},
    UnitName{"FLOP/s", Unit::kFlopsPerSecond, 1},
    UnitName{"GFLOP/s", Unit::kFlopsPerSecond, 1e9},
    UnitName{"TFLOP/s", Unit::kFlopsPerSecond, 1e12},
    UnitName{"PFLOP/s", Unit::kFlopsPerSecond, 1e15},
};

struct Dimension {
  std::string_view name, symbol, example;
  bool plain;  ///< may be written without a unit
};

/// In the order of Unit.
constexpr std::array kDimensions = {
    Dimension{"a value", "", "", true},
    Dimension{"a count", "", "16", true},
    Dimension{"a ratio", "", "0.85", true},
    Dimension{"a number of cycles", "cycles", "30", true},
    Dimension{"a size", "B", "228 KiB", false},
    Dimension{"a frequency", "Hz", "1.755 GHz", false},
    Dimension{"a bandwidth", "B/s", "4.8 TB/s", false},
    Dimension{"a width per cycle", "B/cycle", "64 B/cycle", true},
    Dimension{"a time", "ns", "30 ns", false},
    Dimension{"an energy", "pJ", "1.2 pJ", false},
    Dimension{"a power", "W", "120 W", false},
    Dimension{"a price", "USD/h", "2.5 USD/h", false},
    Dimension{"a rate of operations", "FLOP/s", "67 TFLOP/s", false},
};
static_assert(kDimensions.size() == static_cast<std::size_t>(Unit::kFlopsPerSecond) + 1);

const Dimension& dimension(Unit unit) { return kDimensions[static_cast<std::size_t>(unit)]; }

const UnitName* find_unit(std::string_view name, Unit unit) {
  const UnitName* other = nullptr;
  for (const UnitName& u : kUnits) {
    if (u.name != name) continue;
    if (u.unit == unit) return &u;
    other = &u;
  }
  return other;
}

std::vector<std::string> unit_names(Unit unit) {
  std::vector<std::string> names;
  for (const UnitName& u : kUnits) {
    if (u.unit == unit) names.emplace_back(u.name);
  }
  return names;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct NumberAndUnit {
  double number;
  std::string_view unit;
};

/// Splits "1.755 GHz"; nothing if it does not start with a finite decimal number.
std::optional<NumberAndUnit> split(std::string_view text) {
  const std::size_t digits = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  if (!is_digit(digits) && !(digits < text.size() && text[digits] == '.')) return {};  // inf, nan
  if (is_digit(digits) && text[digits] == '0' && is_digit(digits + 1)) return {};      // 010
  if (text[0] == '+') text.remove_prefix(1);  // from_chars does not take it
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return {};
  return NumberAndUnit{number, trim(text.substr(static_cast<std::size_t>(end - text.data())))};
}

}  // namespace

std::string_view unit_symbol(Unit unit) { return dimension(unit).symbol; }
std::string_view dimension_name(Unit unit) { return dimension(unit).name; }

Expected<double> parse_quantity(std::string_view text, Unit unit, const SourcePosition& where) {
  const Dimension& wanted = dimension(unit);
  const auto parts = split(trim(text));
  if (!parts) {
    return fail(where, wanted.example.empty() ? fmt::format("'{}' is not a number", text)
                                              : fmt::format("'{}' is not {}; write it like {}",
                                                            text, wanted.name, wanted.example));
  }
  if (parts->unit.empty()) {
    if (wanted.plain) return parts->number;
    return fail(where, fmt::format("'{}' has no unit; write it with a unit, such as {}", text,
                                   wanted.example));
  }
  const UnitName* found = find_unit(parts->unit, unit);
  if (found == nullptr) {
    return fail(where, fmt::format("unknown unit '{}'{}", parts->unit,
                                   did_you_mean(parts->unit, unit_names(unit))));
  }
  if (found->unit != unit) {
    return fail(
        where,
        fmt::format("'{}' is {}, but {} is expected{}", text, dimension_name(found->unit),
                    wanted.name,
                    wanted.example.empty() ? "" : fmt::format(", such as {}", wanted.example)));
  }
  const double value = parts->number * found->scale;
  if (!std::isfinite(value)) return fail(where, fmt::format("'{}' is too large", text));
  return value;
}

std::string format_quantity(double value, Unit unit) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (dimension(unit).plain) return fmt::format("{}", value);
  // The largest unit in which the number is at least 1; of two such, the one with the shorter
  // number.
  std::string best;
  for (const UnitName& u : kUnits) {
    if (u.unit != unit) continue;
    if (!best.empty() && std::abs(value) < u.scale) continue;
    std::string text = fmt::format("{:.6g} {}", value / u.scale, u.name);
    const bool binary = u.name.size() > 1 && u.name[1] == 'i';
    if (best.empty() || !binary || text.size() <= best.size()) best = std::move(text);
  }
  return best;
}

}  // namespace xpusim::config
