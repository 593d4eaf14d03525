#pragma once

// Kernels whose chips have nothing to do with each other.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/run/machine.h"

namespace xpusim::system {

/// Whether the chips that run a kernel may have to do with each other, or differ by their device
/// ids: it copies or signals to others, waits for signals, or asks who it is.
bool talks(const kernel::Module& module);

/// Whether what a kernel does depends on what is in memory: an address, a mask, a branch or an
/// integer result that comes from a load. Of a kernel that neither talks nor does so every chip
/// does the same, cycle by cycle, but for the values.
bool follows_data(const kernel::Module& module);

/// The report of a launch that each chip ran alone. Work, bytes, energy and cycles by reason are
/// those of all chips; a chip that is through waits for the others ("other_chips"). Counters, clock
/// and use of memory are those of the chip that took longest. `chips`: how many there are; where
/// there is one report only, all of them did that. Left out: the standing power of chips that are
/// through.
run::LaunchReport together(const std::vector<run::LaunchReport>& apart, std::uint32_t chips,
                           const std::string& family);

}  // namespace xpusim::system
