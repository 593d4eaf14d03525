#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::run {

/// A program's source lines for a recording: {file, line, ir: [...]} of each, where `ir` are the
/// places in the kernel's text whose ops come from it.
nlohmann::ordered_json recorded_lines(const std::vector<SourcePosition>& lines,
                                      const kernel::Module& module);

}  // namespace xpusim::run
