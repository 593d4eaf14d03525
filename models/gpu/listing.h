#pragma once

// What a kernel became and how that ran, for people: `explain`.

#include <string>

#include "models/gpu/program/program.h"
#include "sim/run/machine.h"

namespace xpusim::gpu {

/// The warp program's instructions by source line: how many there are and were executed, the cycles
/// of the sub-cores charged to the line, its most frequent instructions and what its warps waited
/// for most; with `all` every instruction, in order.
std::string list_program(const Program& program, const run::LaunchReport& report, bool all);

}  // namespace xpusim::gpu
