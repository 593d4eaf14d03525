#pragma once

// A launch made ready for the chip: compiled, its operands bound to windows, its body to an
// executor.

#include <memory>
#include <span>
#include <vector>

#include "models/tpu/core/kernel_body.h"
#include "models/tpu/core/windows.h"
#include "models/tpu/params.h"
#include "models/tpu/program/program.h"
#include "sim/exec/interpreter.h"

namespace xpusim::tpu {

struct PreparedLaunch {
  struct Core {
    std::unique_ptr<WindowSet> windows;
    std::unique_ptr<KernelBody> body;
    std::uint32_t device = 0;
  };
  Program program;
  std::vector<Core> cores;  ///< those that have steps of the grid to run
};

/// `memories`: a chip's each, by device; tensors lie at the same addresses in all of them.
Expected<PreparedLaunch> prepare_mosaic(const exec::Launch& launch,
                                        std::span<exec::DeviceMemory* const> memories,
                                        const TpuParams& params, bool values);
Expected<PreparedLaunch> prepare_triton(const exec::Launch& launch,
                                        std::span<exec::DeviceMemory* const> memories,
                                        const TpuParams& params, bool values);

/// Fails when the buffers do not fit VMEM, naming the largest of them.
Expected<void> check_vmem(const Program& program, const TpuParams& params,
                          const SourcePosition& where);

}  // namespace xpusim::tpu
