#pragma once

#include <set>
#include <string>

#include "sim/config/diagnostics.h"
#include "sim/kernel/ir.h"
#include "sim/run/workload.h"

namespace xpusim::run {

/// Says which constexprs of a launch cannot be those that its Triton kernel was compiled with, as
/// far as that can be known. The kernel's text keeps neither their names nor their values; it does
/// name the lines of its Python source. Where that file lies beside the text or in a folder above:
///
/// * a constexpr is a parameter of the function in the source, or a name that the grid or the
///   launch file's `variants` use;
/// * a range that the source writes as `arange(0, NAME)` is as long as NAME says.
void check_constexprs(const LaunchSpec& launch, const kernel::Module& module,
                      const std::set<std::string>& variants, Diagnostics& problems);

}  // namespace xpusim::run
