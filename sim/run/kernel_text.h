#pragma once

#include <string>

#include "sim/kernel/ir.h"
#include "sim/run/machine.h"

namespace xpusim::run {

/// What a kernel text holds, for people: its form, functions, the kernel's arguments with their
/// attributes, how often each op occurs, and the ops that the executor has no handler for.
std::string describe(const kernel::Module& module);

/// A line that says that a machine runs the module, or what it lacks, with source lines.
std::string describe_support(const kernel::Module& module, const Machine& machine,
                             const Family& family);

}  // namespace xpusim::run
