#pragma once

// What of a tensor each of several devices holds.

#include <cstdint>
#include <vector>

#include "sim/exec/memory.h"
#include "sim/run/workload.h"

namespace xpusim::run {

/// One of the devices that run a workload together.
struct Place {
  std::uint32_t device = 0, devices = 1;
};

/// Random tensors of a device's own draw from the seed and so many times the device id.
inline constexpr std::uint64_t kSeedStep = std::uint64_t{1} << 32;

/// The shape and the first elements of a tensor on a device: one of its own (the default: the seed
/// moves on by kSeedStep times the device id), the same on all (`replicated`), or an equal part of
/// one dimension (`shard`). Fails where the devices cannot share a dimension evenly.
struct DeviceTensor {
  std::vector<std::int64_t> shape;
  exec::Init init;
};
Expected<DeviceTensor> on_device(const TensorSpec& tensor, const Place& place);

}  // namespace xpusim::run
