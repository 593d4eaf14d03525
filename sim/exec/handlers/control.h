#pragma once

#include "sim/exec/code.h"

namespace xpusim::exec {

// What the code builder makes of control flow.
Step jump(Frame& f, const Instruction& in);
Step branch_if_false(Frame& f, const Instruction& in);  ///< records the decision, 1 or 0
Step copy_slots(Frame& f, const Instruction& in);       ///< operands: pairs of source and target
Step enter_for(Frame& f, const Instruction& in);  ///< operands: bounds, step; result: the variable
Step next_for(Frame& f, const Instruction& in);
Step finish(Frame& f, const Instruction& in);      ///< the end of the kernel, or of a partition
Step fork_warps(Frame& f, const Instruction& in);  ///< more warps begin at the target
Step join_warps(Frame& f, const Instruction& in);  ///< waits for the end of these

}  // namespace xpusim::exec
