#pragma once

#include "sim/exec/code.h"

namespace xpusim::exec {

/// The value of an op that is a constant (arith.constant), or null.
kernel::Attr constant_value(const kernel::Op& op);
/// The tile that an attribute stands for.
Tile make_constant(const kernel::AttrData& value, const SlotInfo& slot);

}  // namespace xpusim::exec
