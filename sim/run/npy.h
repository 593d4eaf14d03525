#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/exec/memory.h"
#include "sim/kernel/ir.h"

namespace xpusim::run {

/// Reads a NumPy .npy file (format 1.0 or 2.0, little-endian, C order) that must have this dtype's
/// NumPy counterpart and this shape; bf16 and f8 are read from u2 and u1 bit patterns. The bytes
/// come as stored.
Expected<std::shared_ptr<const std::vector<std::byte>>> read_npy(
    const std::string& path, kernel::DType dtype, const std::vector<std::int64_t>& shape,
    const SourcePosition& where);

/// Writes what a tensor holds as a .npy file of format 1.0, complete or not at all; bf16 and f8 as
/// their bit patterns, u2 and u1.
Expected<void> write_npy(const std::string& path, const exec::DeviceMemory& memory,
                         const exec::Allocation& tensor);

}  // namespace xpusim::run
