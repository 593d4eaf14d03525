#pragma once

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// Whether a part of shared memory may be read now: something has written it, and no asynchronous
/// copy still does. False: the frame's error says why not.
bool check_readable(Frame& f, const Instruction& in, const View& view);
/// Notes that a part of shared memory has a value.
void mark_written(Frame& f, const View& view);

/// An operand that is a tile, or a part of shared memory read into `held`. Null: it reads what an
/// asynchronous copy has not finished; the frame's error says so.
const Tile* read_operand(Frame& f, const Instruction& in, std::size_t k, Tile& held);

}  // namespace xpusim::exec
