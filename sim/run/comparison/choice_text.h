#pragma once

#include <string>

#include "sim/run/comparison/comparison.h"

namespace xpusim::run {

/// "fastest  h200, 1.3 times as fast as tpu_v6e", and why in a line below it.
std::string choice_text(const Comparison& comparison, const Choice& choice, Aim aim,
                        const std::string& indent);

/// "h200 (1.3)", "~ h200 (1.03)" within the errors, "? h200 (1.3)" where they are not known, "only
/// h200": for a table.
std::string choice_cell(const Comparison& comparison, const Choice& choice);

}  // namespace xpusim::run
