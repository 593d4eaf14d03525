#pragma once

#include <string_view>

#include "sim/config/tree.h"

namespace xpusim::run {

/// Changes a parameter of a launch file before it is parsed (paths: see Setting in sweep.h). The
/// new value keeps its origin, so that complaints about it lead to where it was written.
Expected<void> set_launch_parameter(config::Node& launch_file, std::string_view path,
                                    const config::Node& value);

}  // namespace xpusim::run
