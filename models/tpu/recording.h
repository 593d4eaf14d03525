#pragma once

#include <string>

#include "models/tpu/core/product_capture.h"
#include "models/tpu/core/recorder.h"
#include "models/tpu/launch.h"
#include "models/tpu/params.h"
#include "sim/kernel/ir.h"

namespace xpusim::tpu {

/// What a recording is of.
struct Recorded {
  const PreparedLaunch& launch;
  const TpuParams& params;
  const kernel::Module& module;
  const ProductCapture& product;
  bool values = true;
  std::uint32_t core = 0;
};

/// A recording as JSON (schema xpusim.tpu_recording/1), for the page of `view`: the bundles that
/// issued and their source lines, the core's cycles as [cycles, state, bundle, ...], the grid's
/// steps, the DMAs, what the copies of the windows held as [cycle, state, block, ...], and how rows
/// went through a matrix unit.
std::string to_json(const CoreRecorder& recorder, const Recorded& of);

}  // namespace xpusim::tpu
