#pragma once

// `expect` on a system: references in which chips take part together.

#include <span>
#include <vector>

#include "sim/run/machine.h"
#include "sim/run/reference.h"

namespace xpusim::run {

/// The same as Checker, for each chip's own tensor. A reference may call the collectives by name,
/// `all_reduce(g)`: over the axes, root and shift of the workload's collective of that name, which
/// must be the only one, or over all chips where kernels do it themselves. `device` is the chip's
/// number. References take the tensors as they are before the run.
class SystemChecker {
 public:
  Expected<void> prepare(const Workload& workload, const Machine& machine,
                         std::span<exec::DeviceMemory* const> memories);
  /// One result a tensor: that of the chip that is furthest off.
  std::vector<CheckResult> compare(std::span<exec::DeviceMemory* const> memories) const;

 private:
  struct Prepared {
    ExpectSpec spec;
    std::vector<Array> want;  ///< [chip]
  };
  std::vector<Prepared> references_;
};

}  // namespace xpusim::run
