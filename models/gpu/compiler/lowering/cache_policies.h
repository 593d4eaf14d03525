#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "models/gpu/compiler/lowering/builder.h"

namespace xpusim::gpu {

/// The descriptors of accesses that say how L2 shall keep what they move (evict_first, evict_last):
/// PTX's createpolicy is computed on the uniform datapath, and takes the place of the memory
/// descriptor. Loads that run always share one policy; of those with a mask, two in a row do (so
/// count 45 of 45 listings of torch.compile's pointwise kernels that have such loads). Policies of
/// stores are left out.
class CachePolicies {
 public:
  explicit CachePolicies(Builder& builder) : b_(builder) {}

  /// The two uniform registers of a load's policy; `evict`: the op's attribute.
  std::pair<VReg, VReg> descriptor(std::int64_t evict, bool guarded);

 private:
  struct Policy {
    std::pair<VReg, VReg> registers{kNoVReg, kNoVReg};
    std::size_t block = 0;  // where it was computed
    int readers = 0;
  };
  std::pair<VReg, VReg> create(std::int64_t evict);

  Builder& b_;
  std::map<std::pair<std::int64_t, bool>, Policy> current_;
  std::uint32_t number_ = 0;
};

}  // namespace xpusim::gpu
