#pragma once

// `--dump tensor=file.npy`: what a tensor holds after a run, as a file that NumPy reads.

#include <string>
#include <vector>

#include "sim/exec/memory.h"

namespace xpusim::run {

struct Dump {
  std::string tensor, file;
};

/// Takes "tensor=file.npy" apart.
Expected<Dump> parse_dump(const std::string& text);

/// Whether every tensor is there, and can be dumped: with --values off, floats hold nothing.
Expected<void> check_dumps(const std::vector<Dump>& dumps, const exec::DeviceMemory& memory,
                           bool values);
/// Writes them; each file appears complete or not at all.
Expected<void> write_dumps(const std::vector<Dump>& dumps, const exec::DeviceMemory& memory);

}  // namespace xpusim::run
