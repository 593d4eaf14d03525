#pragma once

#include <unordered_set>

#include "sim/kernel/ir.h"

namespace xpusim::exec {

/// The values that addresses, masks, control flow and integer results in memory depend on, through
/// the functions that this one calls. With --values off only these are evaluated.
std::unordered_set<const kernel::Value*> needed_values(const kernel::Module& module,
                                                       const kernel::Function& function);

}  // namespace xpusim::exec
