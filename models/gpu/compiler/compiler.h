#pragma once

// From a block kernel in TTGIR form to a warp program.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/gpu/compiler/params.h"
#include "models/gpu/program/program.h"
#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// The site of a memory or control op in the execution trace (exec::Prepared::site), or kNoSite.
using SiteOf = std::function<std::uint32_t(const kernel::Op&)>;

/// Compiles a function of a TTGIR module. What the layouts say about threads and registers becomes
/// warp instructions; a model of the vendor's assembler schedules them, allocates registers and
/// sets control words. Ops without a lowering are errors that name the op and its line.
Expected<Program> compile(const kernel::Module& module, const kernel::Function& function,
                          const SiteOf& site_of, const CompilerParams& params);

/// The names of the ops in a module that have no lowering for the GPU, each once, sorted.
std::vector<std::string> unsupported_ops(const kernel::Module& module);

}  // namespace xpusim::gpu
