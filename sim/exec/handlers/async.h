#pragma once

// Copies that go on while the block does: what they read and write is not to be touched before the
// wait.

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// Notes a copy that reads or writes a view until `group` (a group number, a semaphore) is waited
/// for.
void begin_copy(Frame& f, const Instruction& in, const View& view, std::int64_t group, bool writes);
/// Whether a view may be read (or written) now. False: the frame's error names the copy.
bool check_finished(Frame& f, const Instruction& in, const View& view, bool writes = false);

}  // namespace xpusim::exec
