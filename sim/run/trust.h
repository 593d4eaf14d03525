#pragma once

// What a past comparison with real chips says about a run, and what it does not.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/run/runner.h"

namespace xpusim::run {

/// The values of the parameters that can change a time, by path; what a chip costs is none.
using ParameterValues = std::map<std::string, std::string>;
ParameterValues values_of(const std::vector<config::ParamDoc>& parameters);

/// "gpu.sm.count is 1, not 132" for each that differs from what was compared. A parameter that the
/// comparison did not know yet counts as changed if it is not at its default.
std::vector<std::string> changes(const std::vector<config::ParamDoc>& parameters,
                                 const ParameterValues& compared);

/// What a kernel does: the names of its ops, but for constants and the ends of blocks.
std::set<std::string> kinds_of_ops(const kernel::Module& module);

/// What kind of kernel has these ops: "matrix products", "atomics", "reductions" or "element-wise",
/// the first that fits. It is coarse on purpose: a measured error says something about a kernel of
/// the same kind, and a kind needs several measured kernels to have one.
std::string kind_of_kernel(const std::set<std::string>& ops);

/// What the last `correlate` of the machine of this name measured (traces/correlation/NAME.json);
/// none: it was never compared. The parameters that were compared are those that the correlation
/// names or, where it names none, those of the machine that is shipped under the name.
std::optional<ExpectedError> expected_error(const LoadedMachine& machine);
/// The same of its kernels: of a system, what was measured for its chips.
std::optional<ExpectedError> expected_kernel_error(const LoadedMachine& machine);

/// "4.2 % off on the mean, 20 % at worst, over 12 measured launches of its kind, reductions (...)";
/// over all launches if none of this kind was compared.
std::string error_text(const ExpectedError& error, const std::string& kind);

/// That a launch of this time lies far outside of those that were compared, or "".
std::string outside_times(const KindError& kind, double ns);

/// The kinds of ops that no compared kernel has; none if the correlation does not say.
std::vector<std::string> never_compared(const kernel::Module& module, const ExpectedError& error);

}  // namespace xpusim::run
