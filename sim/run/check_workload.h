#pragma once

#include "sim/run/machine.h"
#include "sim/run/runner.h"
#include "sim/run/workload.h"

namespace xpusim::run {

/// What is wrong with a workload's files before it runs on machines of a family: kernels that are
/// not there or cannot be read, arguments, grids and constexprs that do not fit them, names that a
/// reference does not know. What machines refuse is no problem here: a form that they do not take,
/// ops that they lack, tensors for which they have no room. Left out: the shapes within a
/// reference, which its evaluation tells.
Expected<void> check_workload(const Workload& workload, const Family& family,
                              const RunSettings& settings);

/// Whether a place is in one of a workload's expectations.
bool is_of_expectation(const Workload& workload, const SourcePosition& where);

}  // namespace xpusim::run
