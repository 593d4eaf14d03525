#pragma once

#include "sim/exec/code.h"

namespace xpusim::exec {

// The handlers of element-wise arithmetic; Instruction::code is a FloatOp or an IntOp.
Step floating_op(Frame& f, const Instruction& in);
Step integer_op(Frame& f, const Instruction& in);

}  // namespace xpusim::exec
