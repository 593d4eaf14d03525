#pragma once

#include <string>

#include "models/gpu/core/chip.h"
#include "models/gpu/core/occupancy.h"
#include "models/gpu/core/recorder.h"
#include "sim/exec/memory.h"

namespace xpusim::gpu {

/// What a recording is of.
struct Recorded {
  const Program& program;
  const KernelImage& image;
  const LaunchProfile& profile;
  const Occupancy& fit;
  const exec::DeviceMemory& memory;
  const kernel::Module& module;
  std::uint32_t sm = 0;
  std::size_t sms = 1;
};

/// A recording as JSON (schema xpusim.gpu_recording/1), for the page of `view`: the program with
/// its source lines, the spans of the warp slots as [cycles, state, instruction, ...], the lanes'
/// addresses in global memory of some executions, and which bank of shared memory gives a word to
/// which lanes in which wavefront.
std::string to_json(const SmRecorder& recorder, const Recorded& of);

}  // namespace xpusim::gpu
