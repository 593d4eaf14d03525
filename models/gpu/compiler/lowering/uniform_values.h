#pragma once

#include <unordered_set>

#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// Which integers of a kernel the vendor's compiler keeps on the uniform datapath because what
/// reads them at last can take nothing else: the numbers of buffers in shared memory, whose
/// addresses become descriptors of matrix units and TMA, coordinates of TMA copies, and the phases
/// that waits on mbarriers take; with all that they are computed from, through loops too. A loop
/// that chooses buffers counts there as well.
class UniformValues {
 public:
  explicit UniformValues(const kernel::Function& function);
  bool contains(const kernel::Value& value) const { return values_.contains(value.id); }

 private:
  void find(const kernel::Region& region);
  void mark(const kernel::Value& value);

  std::unordered_set<std::uint32_t> values_;
};

}  // namespace xpusim::gpu
