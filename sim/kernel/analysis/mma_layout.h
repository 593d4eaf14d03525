#pragma once

// The layouts of the operands and results of matrix instructions: the fragments of mma.sync and
// wgmma (PTX ISA, "Matrix Fragments for mma.m16n8k..." and "Register Fragments for
// wgmma.mma_async"), tiled over the warps of a block as Triton does.

#include "sim/kernel/analysis/linear_layout.h"

namespace xpusim::kernel {

/// The layout of the result of a matrix instruction (#ttg.nvidia_mma): version 2 is mma.sync
/// (instrShape [m, n], or [1, m, n] for batches of matrices), version 3 is wgmma (instrShape
/// [m, n, k], m of one of the four warps). In every 8 x 8 elements a lane holds two neighbours of
/// row lane / 4. Registers go over the 8 columns' neighbours, the second 8 rows, the columns of
/// the instruction; then instructions repeat along n, then along m. Warps go along n first with
/// mma.sync, along m first with wgmma. Versions 1 (Volta) and 5 (Blackwell) are not modelled.
Expected<LinearLayout> mma_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                  const SourcePosition& where);

/// The layout of a factor of a matrix product (#ttg.dot_op) in registers. Of an mma's factor a lane
/// holds kWidth neighbours along k; warps that differ only in the other factor hold copies. Of a
/// blocked parent's factor (products by fused multiply-adds) a thread holds all of k. wgmma reads
/// its right factor from shared memory: no layout.
Expected<LinearLayout> dot_operand_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                          const SourcePosition& where);

}  // namespace xpusim::kernel
