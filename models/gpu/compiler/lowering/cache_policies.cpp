#include "models/gpu/compiler/lowering/cache_policies.h"

#include <limits>

namespace xpusim::gpu {
namespace {

constexpr int kGuardedReaders = 2;

}  // namespace

std::pair<VReg, VReg> CachePolicies::create(std::int64_t evict) {
  const std::uint32_t own = ++number_ << 16;  // no policy is taken for another
  auto uniform = [&](std::string_view mnemonic, VReg from, std::uint32_t immediate) {
    const VReg to = b_.uniform();
    b_.emit(Opcode::kUniform, mnemonic, {to}, {from}, immediate);
    return to;
  };
  const VReg fraction = uniform("USHF.R", uniform("UMOV", kNoVReg, 0xf0), 4 | own);
  const VReg kind =
      uniform("UMOV", kNoVReg, (0x100 + 0x20 * static_cast<std::uint32_t>(evict - 1)) | own);
  const VReg both = b_.uniform();
  b_.emit(Opcode::kUniform, "ULOP3", {both}, {kind, fraction}, 0xf);
  return {uniform("UMOV", kNoVReg, own), uniform("USHF.L", both, 0x14)};
}

std::pair<VReg, VReg> CachePolicies::descriptor(std::int64_t evict, bool guarded) {
  Policy& policy = current_[{evict, guarded}];
  const std::size_t block = b_.code().blocks.size() - 1;
  const int most = guarded ? kGuardedReaders : std::numeric_limits<int>::max();
  if (policy.readers == 0 || policy.readers == most || policy.block != block) {
    policy = {create(evict), block, 0};
  }
  ++policy.readers;
  return policy.registers;
}

}  // namespace xpusim::gpu
