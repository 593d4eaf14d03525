#include "sim/run/written_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "sim/config/quantity.h"

namespace xpusim::run {

std::string WrittenNumber::str() const {
  return fmt::format("{:.12g}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::optional<WrittenNumber> parse_number(std::string_view text) {
  WrittenNumber n;
  const char* last = text.data() + text.size();
  auto [end, ec] = std::from_chars(text.data(), last, n.value);
  if (ec != std::errc() || !std::isfinite(n.value)) return std::nullopt;
  while (end != last && *end == ' ') ++end;
  n.unit.assign(end, last);
  const auto is_unit = [](unsigned char c) { return std::isalpha(c) != 0 || c == '/' || c == '%'; };
  if (!std::all_of(n.unit.begin(), n.unit.end(), is_unit)) return std::nullopt;
  return n;
}

std::optional<double> value_in(const WrittenNumber& number, const std::string& unit) {
  if (number.unit == unit) return number.value;
  for (int u = 0; u <= static_cast<int>(config::Unit::kFlopsPerSecond); ++u) {
    const auto dimension = static_cast<config::Unit>(u);
    auto from = config::parse_quantity("1 " + number.unit, dimension, {});
    auto to = config::parse_quantity("1 " + unit, dimension, {});
    if (from && to) return number.value * (*from / *to);
  }
  return std::nullopt;
}

}  // namespace xpusim::run
