#include "sim/run/shard.h"

#include <fmt/format.h>

#include "sim/exec/generator.h"

namespace xpusim::run {
namespace {

/// The elements of one device's part of a dimension, taken from the whole tensor.
std::shared_ptr<const std::vector<std::byte>> part_of(const TensorSpec& t, std::size_t axis,
                                                      const Place& place) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(t.dtype));
  std::size_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(t.shape[d]);
  for (std::size_t d = axis + 1; d < t.shape.size(); ++d)
    inner *= static_cast<std::size_t>(t.shape[d]);
  const auto whole = static_cast<std::size_t>(t.shape[axis]);
  const std::size_t run = whole / place.devices * inner;  // elements that lie side by side
  auto data = std::make_shared<std::vector<std::byte>>(outer * run * size);
  for (std::size_t o = 0; o < outer; ++o)
    exec::generate(t.init, t.dtype, o * whole * inner + place.device * run, run,
                   data->data() + o * run * size);
  return data;
}

bool is_uniform(exec::Init::Kind kind) {
  using K = exec::Init::Kind;
  return kind == K::kZeros || kind == K::kOnes || kind == K::kFull || kind == K::kUnwritten;
}

}  // namespace

Expected<DeviceTensor> on_device(const TensorSpec& t, const Place& place) {
  DeviceTensor out{t.shape, t.init};
  if (!t.shard) {
    if (!t.replicated) out.init.seed += kSeedStep * place.device;
    return out;
  }
  const auto axis = static_cast<std::size_t>(*t.shard);
  if (t.shape[axis] % place.devices != 0)
    return fail(t.shard_where,
                fmt::format("tensor '{}': {} chips cannot share its dimension {} of {} evenly",
                            t.name, place.devices, axis, t.shape[axis]));
  out.shape[axis] /= place.devices;
  if (place.devices == 1 || is_uniform(t.init.kind)) return out;
  if (axis == 0) {
    std::uint64_t count = 1;
    for (auto d : out.shape) count *= static_cast<std::uint64_t>(d);
    out.init.first += count * place.device;
    return out;
  }
  out.init.data = part_of(t, axis, place);
  out.init.kind = exec::Init::Kind::kData;
  return out;
}

}  // namespace xpusim::run
