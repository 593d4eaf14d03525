#include "models/network/collectives/region.h"

#include <algorithm>

namespace xpusim::network {
namespace {

/// Makes one run of `times` of them, a stride apart; false if that is none.
bool grow(Run& run, std::uint32_t times, std::uint64_t stride) {
  if (run.contiguous() && run.row == stride) {
    run.row *= times;
  } else if (run.contiguous()) {
    run.rows = times;
    run.pitch = stride;
  } else if (run.planes == 1 && run.rows * run.pitch == stride) {
    run.rows *= times;
  } else if (run.planes == 1) {
    run.planes = times;
    run.plane_pitch = stride;
  } else if (run.planes * run.plane_pitch == stride) {
    run.planes *= times;
  } else {
    return false;
  }
  return true;
}

void repeat(Region& region, std::uint32_t times, std::uint64_t stride) {
  const Region before = region;
  for (std::uint32_t i = 1; i < times; ++i)
    for (Run run : before) {
      run.begin += i * stride;
      region.push_back(run);
    }
}

}  // namespace

Run shard(const Run& run, std::uint32_t i, std::uint32_t n, std::uint32_t element) {
  const std::uint64_t count = run.row / element, each = count / n, more = count % n;
  const auto begin_of = [&](std::uint64_t k) { return (k * each + std::min(k, more)) * element; };
  // Bytes that are no whole element belong to the last shard.
  const std::uint64_t end = i + 1 == n ? run.row : begin_of(i + 1);
  return {run.begin + begin_of(i), end - begin_of(i), 1, 0};
}

Region blocks(std::span<const GridAxis> axes, std::uint64_t block_bytes, const Run& slice) {
  Region out = {{slice.begin, slice.row, 1, 0}};
  std::uint64_t stride = block_bytes;
  for (const GridAxis& axis : axes) {
    if (!axis.all) {
      for (Run& run : out) run.begin += axis.at * stride;
    } else if (axis.size > 1 && (out.size() > 1 || !grow(out[0], axis.size, stride))) {
      repeat(out, axis.size, stride);
    }
    stride *= axis.size;
  }
  return out;
}

}  // namespace xpusim::network
