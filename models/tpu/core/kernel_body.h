#pragma once

// The functional side of a grid step.

#include <string>

#include "models/tpu/core/windows.h"
#include "sim/exec/interpreter.h"

namespace xpusim::tpu {

/// Executes the kernel's body on the windows' current copies when the step's computation begins,
/// and keeps the decisions of its control flow for the timing of that step.
class KernelBody {
 public:
  virtual ~KernelBody() = default;
  /// Runs the current step; false when the kernel fails (`error` says why).
  virtual bool run(WindowSet& windows) = 0;
  virtual const exec::BlockTrace& trace() const = 0;
  virtual const exec::ExecError& error() const = 0;
  virtual const exec::WorkCounts& counts() const = 0;
};

}  // namespace xpusim::tpu
