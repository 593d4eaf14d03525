#pragma once

#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// Whether the vendor's compiler counts this loop (scf.for) in 64 bits: where the counter goes into
/// addresses and is known not to pass 2^31, LLVM widens it (IndVarSimplify), and with it all that
/// is compared with it. Seen in the listings of causal attention, whose bound is a multiple of the
/// block (and not in those of full attention, bound by an argument), and of persistent loops over
/// cdiv(n, BLOCK) tiles. Left out: bounds that are known by other facts.
bool counts_in_64_bits(const kernel::Op& loop);

}  // namespace xpusim::gpu
