#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace xpusim::run {

/// A number as a configuration writes it: "1.6 GHz" is 1.6 and "GHz"; "16" has no unit.
struct WrittenNumber {
  double value = 0;
  std::string unit;

  std::string str() const;  ///< up to twelve significant digits, and the unit
};

/// None if the text does not begin with a finite number, or if more than a unit follows.
std::optional<WrittenNumber> parse_number(std::string_view text);

/// The same quantity in another unit of its dimension ("1 GHz" in MHz is 1000); none if the units
/// are of different dimensions.
std::optional<double> value_in(const WrittenNumber& number, const std::string& unit);

}  // namespace xpusim::run
