#pragma once

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// An operand that is a tile, or a part of shared memory read into `held`. Null: it reads what an
/// asynchronous copy has not finished; the frame's error says so.
const Tile* read_operand(Frame& f, const Instruction& in, std::size_t k, Tile& held);

}  // namespace xpusim::exec
