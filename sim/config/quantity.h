#pragma once

#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"
#include "sim/config/param.h"

namespace xpusim::config {

/// A quantity with a unit ("1.755 GHz") in the unit asked for. A unit is required where there is a
/// dimension; counts, ratios (also "85 %"), cycles and bytes per cycle may be plain numbers.
Expected<double> parse_quantity(std::string_view text, Unit unit, const SourcePosition& where);

/// The shortest usual way to write a value held in `unit`: 1.755e9 Hz is "1.755 GHz", 233472 bytes
/// are "228 KiB". parse_quantity reads it back.
std::string format_quantity(double value, Unit unit);

std::string_view unit_symbol(Unit unit);     ///< "Hz", "B/s", "" for plain numbers
std::string_view dimension_name(Unit unit);  ///< "a frequency", "a count"

}  // namespace xpusim::config
